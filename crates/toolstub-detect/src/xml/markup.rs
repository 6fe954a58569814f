//! What stands inside a tag, a declaration or a reference.

use std::ops::Range;

use super::dtd::Entities;

/// Up to how many attributes names are compared pair by pair; more are sorted.
const FEW_ATTRIBUTES: usize = 16;

/// White space as markup has it.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Splits leading white space off.
pub(super) fn skip_space(bytes: &[u8]) -> &[u8] {
    let spaces = bytes.iter().take_while(|&&byte| is_space(byte)).count();
    &bytes[spaces..]
}

/// Whether the whole of `bytes` is a name.
pub(super) fn is_name(bytes: &[u8]) -> bool {
    !bytes.is_empty() && name_len(bytes) == bytes.len()
}

/// The length of the name at the start of `bytes`, 0 if there is none.
pub(super) fn name_len(bytes: &[u8]) -> usize {
    let mut length = 0;
    while let Some(&byte) = bytes.get(length) {
        let class = CLASSES[usize::from(byte)];
        if class == BEYOND_ASCII {
            return length + long_name_len(&bytes[length..], length == 0);
        }
        if class == NO_NAME || (length == 0 && class == NAME_INSIDE) {
            break;
        }
        length += 1;
    }
    length
}

/// [`name_len`] from a character on that is not ASCII; `first` if the name begins there.
#[cold]
fn long_name_len(bytes: &[u8], mut first: bool) -> usize {
    let mut length = 0;
    // The bytes come from a string, so that this is only ever cut short in tests.
    let text = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    for c in text.chars() {
        let fits = if c.is_ascii() {
            let class = CLASSES[c as usize];
            class == NAME_START || (class == NAME_INSIDE && !first)
        } else {
            starts_name(c) || (!first && continues_name(c))
        };
        if !fits {
            break;
        }
        first = false;
        length += c.len_utf8();
    }
    length
}

const NO_NAME: u8 = 0;
const NAME_INSIDE: u8 = 1;
const NAME_START: u8 = 2;
const BEYOND_ASCII: u8 = 3;

const CLASSES: [u8; 256] = {
    let mut classes = [NO_NAME; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b':' => NAME_START,
            b'0'..=b'9' | b'-' | b'.' => NAME_INSIDE,
            0x80..=0xff => BEYOND_ASCII,
            _ => NO_NAME,
        };
        byte += 1;
    }
    classes
};

fn starts_name(c: char) -> bool {
    matches!(c,
        '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}' | '\u{370}'..='\u{37d}'
        | '\u{37f}'..='\u{1fff}' | '\u{200c}'..='\u{200d}' | '\u{2070}'..='\u{218f}'
        | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}'
        | '\u{fdf0}'..='\u{fffd}' | '\u{10000}'..='\u{effff}')
}

fn continues_name(c: char) -> bool {
    matches!(c, '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
}

/// Reads what follows a tag's name, and notes where the attributes' names stand in it.
///
/// None if the attributes are not well-formed, or one stands twice.
pub(super) fn attributes(
    raw: &[u8],
    entities: &Entities,
    names: &mut Vec<Range<u32>>,
) -> Option<()> {
    let mut at = 0;
    loop {
        let rest = skip_space(&raw[at..]);
        if rest.is_empty() {
            break;
        }
        let start = raw.len() - rest.len();
        if start == at {
            return None;
        }
        let (name, value, after) = attribute(rest)?;
        entities.fit(value)?;
        names.push(start as u32..(start + name.len()) as u32);
        at = raw.len() - after.len();
    }
    is_each_once(raw, names).then_some(())
}

/// Splits `bytes` after its first attribute: its name, its value, the rest.
fn attribute(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (name, rest) = bytes.split_at(name_len(bytes));
    let rest = skip_space(rest).strip_prefix(b"=")?;
    let (value, rest) = quoted(skip_space(rest))?;
    (!name.is_empty()).then_some((name, value, rest))
}

/// Splits `bytes` after the quoted string at its start: what is inside the quotes, and the rest.
pub(super) fn quoted(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&quote, rest) = bytes.split_first()?;
    if !matches!(quote, b'"' | b'\'') {
        return None;
    }
    let end = memchr::memchr(quote, rest)?;
    Some((&rest[..end], &rest[end + 1..]))
}

fn is_each_once(raw: &[u8], names: &mut [Range<u32>]) -> bool {
    let name = |range: &Range<u32>| &raw[range.start as usize..range.end as usize];
    if names.len() <= FEW_ATTRIBUTES {
        let is_new = |(place, a)| names[..place].iter().all(|b| name(a) != name(b));
        names.iter().enumerate().all(is_new)
    } else {
        names.sort_unstable_by(|a, b| name(a).cmp(name(b)));
        names.windows(2).all(|pair| name(&pair[0]) != name(&pair[1]))
    }
}

/// Reads what stands between `<?` and `?>` of the XML declaration: whether it says standalone.
///
/// None if it is not well-formed. The encoding is not looked at.
pub(super) fn declaration(raw: &[u8]) -> Option<bool> {
    let mut rest = raw.strip_prefix(b"xml")?;
    let mut wanted: &[&[u8]] = &[b"version", b"encoding", b"standalone"];
    let mut standalone = false;
    while !skip_space(rest).is_empty() {
        let (name, value, after) = attribute(skip_space(rest))?;
        if !is_space(rest[0]) {
            return None;
        }
        let place = wanted.iter().position(|&each| each == name)?;
        if wanted.len() == 3 && place != 0 {
            return None;
        }
        match name {
            b"standalone" if value == b"yes" => standalone = true,
            b"standalone" if value != b"no" => return None,
            _ if value.is_empty() || !value.iter().all(|&byte| is_label_byte(byte)) => return None,
            _ => {}
        }
        wanted = &wanted[place + 1..];
        rest = after;
    }
    (wanted.len() < 3).then_some(standalone)
}

fn is_label_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b':')
}

/// Whether `number`, which stands between `&#` and `;`, is the number of a legal character.
pub(super) fn is_character(number: &[u8]) -> bool {
    let (digits, radix) = match number.strip_prefix(b"x") {
        Some(digits) => (digits, 16),
        None => (number, 10),
    };
    let value = digits.iter().try_fold(0_u32, |value, &digit| {
        let digit = char::from(digit).to_digit(radix)?;
        value.checked_mul(radix)?.checked_add(digit)
    });
    let legal = |c| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..);
    !digits.is_empty() && value.and_then(char::from_u32).is_some_and(legal)
}

/// Whether a character stands in `bytes` that no document may have.
pub(super) fn has_forbidden_character(bytes: &[u8]) -> bool {
    let is_control = |&byte: &u8| byte < b' ' && !is_space(byte);
    // Whole blocks without an early exit are what the compiler can vectorize.
    let any = |block: &[u8]| block.iter().fold(false, |found, byte| found | is_control(byte));
    bytes.chunks(4096).any(any)
        || memchr::memmem::find_iter(bytes, b"\xEF\xBF")
            .any(|at| matches!(bytes.get(at + 2), Some(0xBE | 0xBF)))
}
