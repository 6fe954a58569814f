//! C, C++ and what Objective-C adds.

use super::blocks::Opens;
use super::braces::{C_LIKE, Dialect, End, Hash, Statement};
use super::heads::{Head, callable, is_control};
use super::outline::{Outline, Rank};
use super::words::{after_group, after_word, is_word, uncommented, upto, word, word_len};

pub(super) const C: Dialect = Dialect { hash: Hash::Directive, statement: c, directive, ..C_LIKE };
pub(super) const CPP: Dialect =
    Dialect { hash: Hash::Directive, statement: cpp, directive, ..C_LIKE };

fn c(statement: &Statement<'_>, outline: &mut Outline) -> Option<Opens> {
    declaration(statement, outline, Opens::Body)
}

fn cpp(statement: &Statement<'_>, outline: &mut Outline) -> Option<Opens> {
    declaration(statement, outline, Opens::Type)
}

fn directive(line: &[u8], at: usize, outline: &mut Outline) {
    let text = line[1..].trim_ascii_start();
    if let Some(rest) = after_word(text, b"include")
        .or(after_word(text, b"include_next"))
        .or(after_word(text, b"import"))
    {
        let close = match rest.first() {
            Some(b'<') => b'>',
            Some(b'"') => b'"',
            _ => return,
        };
        if let Some(end) = rest[1..].iter().position(|&b| b == close) {
            outline.import(&rest[1..=end]);
        }
    } else if let Some(rest) = after_word(text, b"define") {
        let name = word_len(rest);
        let value = rest[name..].trim_ascii();
        // A name without a value is a guard or a switch.
        if name > 0 && !value.is_empty() && !value.starts_with(b"//") && !value.starts_with(b"/*") {
            let head = [b"#define ", &rest[..name]].concat();
            outline.symbol(Rank::Minor, at, &head);
        }
    }
}

fn declaration(statement: &Statement<'_>, outline: &mut Outline, members: Opens) -> Option<Opens> {
    let text = uncommented(statement.text);
    let text = prefix_removed(text.trim_ascii(), statement, outline);
    let rank = if statement.inside { Rank::Member } else { Rank::Top };
    let open = statement.end == End::Open;
    let at = statement.at;
    if statement.names {
        for name in text.split(|&b| b == b',') {
            let name = name.trim_ascii().trim_ascii_start();
            let stars = name.iter().take_while(|b| matches!(b, b'*' | b' ')).count();
            let name = word(&name[stars..]);
            if !name.is_empty() && name[0] != b'_' || name.len() > 1 {
                outline.symbol(rank, at, &[b"typedef ", name].concat());
            }
        }
        return None;
    }
    if text.is_empty() {
        return None;
    }
    if let Some(rest) = after_word(text, b"namespace")
        .or_else(|| after_word(text, b"inline").and_then(|rest| after_word(rest, b"namespace")))
    {
        return (open && !rest.contains(&b'=')).then_some(Opens::Through);
    }
    if let Some(rest) = after_word(text, b"extern") {
        let linkage = rest.strip_prefix(b"\"C\"").or(rest.strip_prefix(b"\"C++\""));
        if linkage.is_some_and(|rest| rest.trim_ascii().is_empty()) {
            return open.then_some(Opens::Through);
        }
    }
    if let Some(rest) = after_word(text, b"typedef") {
        return typedef(rest, statement, outline, rank);
    }
    if let Some(rest) = after_word(text, b"using") {
        let name = word_len(rest);
        if rest[name..].trim_ascii_start().starts_with(b"=") && !statement.inside {
            outline.symbol(Rank::Minor, at, &[b"using ", &rest[..name]].concat());
        }
        return None;
    }
    if let Some(head) = type_head(text) {
        if open {
            outline.symbol(rank, at, head);
            return Some(if head.starts_with(b"enum") { Opens::Body } else { members });
        }
        return None;
    }
    if let Some(head) = test_head(text).filter(|_| open && !statement.inside) {
        outline.symbol(rank, at, head);
        return Some(Opens::Body);
    }
    if let Some(head) = function_head(text, statement.inside) {
        match statement.end {
            End::Open => {
                outline.symbol(rank, at, head.text);
                return Some(Opens::Body);
            }
            End::Semicolon if !statement.inside && is_prototype(&head) => {
                let rank = if has_old_parameters(&head) { rank } else { Rank::Prototype };
                outline.symbol(rank, at, head.text);
            }
            _ => {}
        }
    }
    None
}

/// Whether a macro stands alone on the line before a declaration, as `__BEGIN_DECLS` does.
fn is_lone_macro(text: &[u8]) -> bool {
    const DECLARATIONS: [&[u8]; 10] = [
        b"struct",
        b"union",
        b"enum",
        b"typedef",
        b"extern",
        b"static",
        b"inline",
        b"class",
        b"namespace",
        b"template",
    ];
    let length = word_len(text);
    let (name, rest) = text.split_at(length);
    let alone = rest.iter().take_while(|b| b.is_ascii_whitespace()).any(|&b| b == b'\n');
    let is_macro = length > 2 && !name.iter().any(u8::is_ascii_lowercase);
    alone && is_macro && DECLARATIONS.contains(&word(rest.trim_ascii_start()))
}

/// The statement behind access labels, `template <…>`, attributes and Objective-C's marks.
fn prefix_removed<'a>(
    mut text: &'a [u8],
    statement: &Statement<'_>,
    outline: &mut Outline,
) -> &'a [u8] {
    loop {
        let first = word_len(text);
        let rest = text[first..].trim_ascii_start();
        if rest.starts_with(b":") && !rest.starts_with(b"::") && first > 0 && statement.inside {
            let label = &text[..first];
            if matches!(label, b"public" | b"private" | b"protected" | b"signals") {
                text = rest[1..].trim_ascii_start();
                continue;
            }
        }
        if let Some(rest) = after_word(text, b"template") {
            text = after_group(rest).trim_ascii_start();
            if let Some(rest) = after_word(text, b"requires") {
                text = after_group(rest).trim_ascii_start();
            }
            continue;
        }
        if text.starts_with(b"[[") {
            text = after_group(text).trim_ascii_start();
            continue;
        }
        if is_lone_macro(text) {
            text = rest;
            continue;
        }
        if let Some(rest) = after_word(text, b"__attribute__").or(after_word(text, b"__declspec")) {
            text = after_group(rest).trim_ascii_start();
            continue;
        }
        if let Some(rest) = after_macro_line(text) {
            text = rest;
            continue;
        }
        if text.starts_with(b"@") {
            let keyword = 1 + word_len(&text[1..]);
            let rest = text[keyword..].trim_ascii_start();
            let name = word_len(rest);
            let known = matches!(&text[1..keyword], b"interface" | b"implementation" | b"protocol");
            if known && name > 0 {
                outline.symbol(Rank::Top, statement.at, upto(text, &rest[name..]));
            }
            let line = memchr::memchr(b'\n', text).unwrap_or(text.len());
            text = text[line..].trim_ascii_start();
            continue;
        }
        return text;
    }
}

fn typedef(
    rest: &[u8],
    statement: &Statement<'_>,
    outline: &mut Outline,
    rank: Rank,
) -> Option<Opens> {
    if statement.end == End::Open {
        if let Some(head) = type_head(rest) {
            outline.symbol(rank, statement.at, head);
        }
        return Some(Opens::Named);
    }
    // `typedef int (*name)(int)` names what stands behind the star, all others their last word.
    let starred = memchr::memmem::find(rest, b"(*").map(|open| rest[open + 2..].trim_ascii_start());
    let name = if let Some(starred) = starred {
        word(starred)
    } else {
        let plain = rest.split(|&b| b == b'[').next()?.trim_ascii_end();
        let length = plain.iter().rev().take_while(|b| is_word(**b)).count();
        &plain[plain.len() - length..]
    };
    if !name.is_empty() {
        outline.symbol(Rank::Minor, statement.at, &[b"typedef ", name].concat());
    }
    None
}

/// The head of a type: `struct name`, `enum class name`, past macros and attributes.
fn type_head(text: &[u8]) -> Option<&[u8]> {
    let text = ["static", "const", "inline"]
        .iter()
        .fold(text, |text, modifier| after_word(text, modifier.as_bytes()).unwrap_or(text));
    let keyword = word(text);
    if !matches!(keyword, b"struct" | b"class" | b"union" | b"enum") {
        return None;
    }
    let mut rest = after_word(text, keyword)?;
    if keyword == b"enum" {
        rest = after_word(rest, b"class").or(after_word(rest, b"struct")).unwrap_or(rest);
    }
    let mut name: &[u8] = b"";
    let mut end = rest;
    loop {
        let length = word_len(rest);
        if length == 0 {
            if rest.starts_with(b"[[") {
                rest = after_group(rest).trim_ascii_start();
                continue;
            }
            if rest.starts_with(b"::") {
                rest = &rest[2..];
                continue;
            }
            break;
        }
        let (next, after) = rest.split_at(length);
        if next == b"final" {
            break;
        }
        let spaced = after.trim_ascii_start();
        if spaced.starts_with(b"(") {
            // `__attribute__((x))` and `EXPORT(x)` stand before the name; `struct a f(…)` is a function.
            let attribute = next.starts_with(b"__") || next.iter().all(|b| !b.is_ascii_lowercase());
            if !name.is_empty() || !attribute {
                return None;
            }
            rest = after_group(spaced).trim_ascii_start();
            continue;
        }
        (name, end, rest) = (next, after, spaced);
    }
    let tail = rest.trim_ascii_start();
    let ends = tail.is_empty() || matches!(tail[0], b':' | b'<') || tail.starts_with(b"final");
    (!name.is_empty() && ends).then(|| upto(text, end))
}

/// The head of a function: up to its name, which may be qualified or an operator.
fn function_head(text: &[u8], inside: bool) -> Option<Head<'_>> {
    if is_control(word(text)) || after_word(text, b"goto").is_some() {
        return None;
    }
    if let Some(operator) = memchr::memmem::find(text, b"operator") {
        let symbol = &text[operator + b"operator".len()..];
        let equals = memchr::memchr(b'=', &text[..operator]);
        if equals.is_none() && !symbol.first().is_some_and(|b| is_word(*b)) {
            let call = usize::from(symbol.trim_ascii_start().starts_with(b"()")) * 2;
            let open = symbol.iter().skip(call).position(|&b| b == b'(')? + call;
            let end = operator + b"operator".len() + open;
            let (head, rest) = text.split_at(end);
            let head = head.trim_ascii_end();
            return Some(Head { text: head, keyword: b"", name: &head[operator..], rest });
        }
    }
    let mut head = callable(text)?;
    loop {
        let before = upto(head.text, head.name).len();
        let before = &head.text[..before.min(head.text.len() - head.name.len())];
        let attribute = head.name.starts_with(b"__") && head.name != b"__init";
        if !attribute && !before.trim_ascii().is_empty() {
            break;
        }
        // Nothing before the name: a macro around what comes next, or a constructor.
        let behind = after_group(head.rest).trim_ascii_start();
        let more = word(behind);
        let suffix = matches!(
            more,
            b"" | b"const"
                | b"noexcept"
                | b"override"
                | b"final"
                | b"throw"
                | b"requires"
                | b"volatile"
        );
        match callable(behind).filter(|_| !suffix && !more.starts_with(b"__")) {
            Some(next) => head = Head { text: upto(text, next.rest).trim_ascii_end(), ..next },
            None if attribute => return None,
            None => break,
        }
    }
    let before = &head.text[..head.text.len() - head.name.len()];
    let bare = before.trim_ascii().is_empty();
    let shouted = !head.name.iter().any(u8::is_ascii_lowercase);
    let wrong = is_control(head.name)
        || (bare && (shouted || (!inside && head.name != b"main")))
        || before.iter().any(|b| matches!(b, b'=' | b'.' | b'{' | b'}' | b'?' | b'"' | b'#'))
        || before.ends_with(b"->");
    (!wrong).then_some(head)
}

/// What follows a first line that is one call of a macro, without a semicolon.
fn after_macro_line(text: &[u8]) -> Option<&[u8]> {
    let name = word_len(text);
    let shouted = name > 2 && !text[..name].iter().any(u8::is_ascii_lowercase);
    if !shouted || text.get(name) != Some(&b'(') {
        return None;
    }
    let behind = after_group(&text[name..]);
    let line = behind.iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\r')).count();
    let rest = behind[line..].trim_ascii_start();
    (behind.get(line) == Some(&b'\n') && !rest.is_empty()).then_some(rest)
}

/// A test that a macro defines: `TEST(Suite, name)`, whole.
fn test_head(text: &[u8]) -> Option<&[u8]> {
    let name = word_len(text);
    let shouted = name > 3
        && text[..name].iter().all(|b| b.is_ascii_uppercase() || matches!(b, b'_' | b'0'..=b'9'));
    let rest = text[name..].strip_prefix(b"(").filter(|_| shouted)?;
    let close = rest.iter().position(|&b| b == b')')?;
    let plain = rest[..close].iter().all(|b| is_word(*b) || matches!(b, b',' | b' ' | b'\n'));
    (plain && rest[close + 1..].trim_ascii().is_empty()).then(|| &text[..name + close + 2])
}

/// Whether what ends in a semicolon announces a function.
fn is_prototype(head: &Head<'_>) -> bool {
    let before = &head.text[..head.text.len() - head.name.len()];
    let first = word(before);
    let behind = after_group(head.rest).trim_ascii();
    !before.trim_ascii().is_empty()
        && !first.is_empty()
        && !matches!(first, b"friend" | b"else" | b"case" | b"goto")
        && !before.trim_ascii_end().ends_with(b"::")
        && !behind.starts_with(b"(")
}

/// Whether the types of the parameters stand behind their list, as they did before 1989.
fn has_old_parameters(head: &Head<'_>) -> bool {
    let behind = after_group(head.rest).trim_ascii();
    let first = word(behind);
    let plain =
        behind.iter().all(|b| is_word(*b) || matches!(b, b'*' | b',' | b' ' | b'\n' | b'[' | b']'));
    let suffix: [&[u8]; 4] = [b"const", b"volatile", b"override", b"final"];
    plain
        && first.first().is_some_and(u8::is_ascii_lowercase)
        && !suffix.contains(&first)
        && !behind[first.len()..].trim_ascii().is_empty()
}
