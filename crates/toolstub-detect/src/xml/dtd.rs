//! The document type declaration: which entities there are.

use std::collections::HashSet;

use super::markup::{is_character, is_name, is_space, name_len, quoted, skip_space};

/// The entities that a reference may name.
#[derive(Debug, Default)]
pub(super) struct Entities {
    declared: HashSet<Box<[u8]>>,
    /// Whether more may be declared where nothing is read: in an external subset or a parameter
    /// entity.
    open: bool,
    /// Whether the document says that nothing outside it matters.
    pub(super) standalone: bool,
}

impl Entities {
    /// Whether a reference may stand between `&` and `;`.
    pub(super) fn knows(&self, name: &[u8]) -> bool {
        if let Some(number) = name.strip_prefix(b"#") {
            return is_character(number);
        }
        matches!(name, b"lt" | b"gt" | b"amp" | b"quot" | b"apos")
            || self.declared.contains(name)
            || (self.open && !self.standalone && is_name(name))
    }

    /// Whether an attribute may have this value.
    pub(super) fn fit(&self, mut value: &[u8]) -> Option<()> {
        while let Some(at) = memchr::memchr2(b'<', b'&', value) {
            let reference = value[at..].strip_prefix(b"&")?;
            let end = memchr::memchr(b';', reference)?;
            if !self.knows(&reference[..end]) {
                return None;
            }
            value = &reference[end + 1..];
        }
        Some(())
    }

    /// Reads what stands between `<!DOCTYPE` and `>`; None if it is not well-formed.
    pub(super) fn declare(&mut self, doctype: &[u8]) -> Option<()> {
        let mut rest = after_name(skip_space(doctype))?;
        if let Some(after) = external_id(rest) {
            self.open = true;
            rest = after;
        }
        rest = skip_space(rest);
        if let Some(subset) = rest.strip_prefix(b"[") {
            rest = skip_space(self.internal_subset(subset)?);
        }
        rest.is_empty().then_some(())
    }

    /// Reads declarations up to the closing bracket; what follows it comes back.
    fn internal_subset<'a>(&mut self, mut rest: &'a [u8]) -> Option<&'a [u8]> {
        loop {
            rest = skip_space(rest);
            if let Some(after) = rest.strip_prefix(b"]") {
                return Some(after);
            } else if let Some(reference) = rest.strip_prefix(b"%") {
                self.open = true;
                rest = after_name(reference)?.strip_prefix(b";")?;
            } else if let Some(comment) = rest.strip_prefix(b"<!--") {
                let end = memchr::memmem::find(comment, b"--")?;
                rest = comment[end + 2..].strip_prefix(b">")?;
            } else if let Some(instruction) = rest.strip_prefix(b"<?") {
                let end = memchr::memmem::find(instruction, b"?>")?;
                let target = &instruction[..name_len(instruction)];
                if target.is_empty() || target.eq_ignore_ascii_case(b"xml") {
                    return None;
                }
                rest = &instruction[end + 2..];
            } else if let Some(entity) = rest.strip_prefix(b"<!ENTITY") {
                rest = self.entity(entity)?;
            } else {
                let declaration = [b"<!ELEMENT".as_slice(), b"<!ATTLIST", b"<!NOTATION"]
                    .iter()
                    .find_map(|keyword| rest.strip_prefix(*keyword))?;
                rest = after_declaration(after_name(space(declaration)?)?)?;
            }
        }
    }

    /// Reads an entity declaration after its keyword; what follows it comes back.
    fn entity<'a>(&mut self, declaration: &'a [u8]) -> Option<&'a [u8]> {
        let mut rest = space(declaration)?;
        let is_parameter = rest.starts_with(b"%");
        if is_parameter {
            rest = space(&rest[1..])?;
        }
        let (name, after) = rest.split_at(name_len(rest));
        rest = space(after)?;
        if let Some((value, after)) = quoted(rest) {
            is_replacement_text(value)?;
            rest = after;
        } else {
            rest = external_id(after)?;
            if let Some(notation) = space(rest).and_then(|rest| rest.strip_prefix(b"NDATA")) {
                rest = after_name(space(notation)?)?;
            }
        }
        if name.is_empty() {
            return None;
        }
        if !is_parameter {
            self.declared.insert(name.into());
        }
        skip_space(rest).strip_prefix(b">")
    }
}

/// What follows white space, which must be there.
fn space(bytes: &[u8]) -> Option<&[u8]> {
    bytes.first().is_some_and(|&byte| is_space(byte)).then(|| skip_space(bytes))
}

/// What follows a name, which must be there.
fn after_name(bytes: &[u8]) -> Option<&[u8]> {
    let length = name_len(bytes);
    (length > 0).then(|| &bytes[length..])
}

/// What follows white space and an external identifier.
fn external_id(bytes: &[u8]) -> Option<&[u8]> {
    let rest = space(bytes)?;
    let system = if let Some(public) = rest.strip_prefix(b"PUBLIC") {
        let (label, after) = quoted(space(public)?)?;
        if !label.iter().all(|&byte| is_public_id_byte(byte)) {
            return None;
        }
        after
    } else {
        rest.strip_prefix(b"SYSTEM")?
    };
    Some(quoted(space(system)?)?.1)
}

fn is_public_id_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b" \r\n-'()+,./:=?;!*#@$_%".contains(&byte)
}

/// Whether an entity may have this replacement text: its references are at least written rightly.
fn is_replacement_text(mut value: &[u8]) -> Option<()> {
    while let Some(at) = memchr::memchr2(b'%', b'&', value) {
        let reference = value[at..].strip_prefix(b"&")?;
        let end = memchr::memchr(b';', reference)?;
        let name = &reference[..end];
        let fits = name.strip_prefix(b"#").map_or_else(|| is_name(name), is_character);
        if !fits {
            return None;
        }
        value = &reference[end + 1..];
    }
    Some(())
}

/// What follows the end of a declaration that is not read closely; quotes hide what is in them.
fn after_declaration(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        let at = rest.iter().position(|byte| matches!(byte, b'>' | b'<' | b'"' | b'\''))?;
        match rest[at] {
            b'>' => return Some(&rest[at + 1..]),
            b'<' => return None,
            _ => rest = quoted(&rest[at..])?.1,
        }
    }
}
