//! Words and other small pieces of a line.

/// Whether a byte may stand in a name; bytes beyond ASCII may.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

/// The length of the word at the start.
pub(super) fn word_len(text: &[u8]) -> usize {
    text.iter().take_while(|b| is_word(**b)).count()
}

/// The word at the start; empty where none is.
pub(super) fn word(text: &[u8]) -> &[u8] {
    &text[..word_len(text)]
}

/// What follows `word` and white space, if `text` begins with that whole word.
pub(super) fn after_word<'a>(text: &'a [u8], word: &[u8]) -> Option<&'a [u8]> {
    let rest = text.strip_prefix(word)?;
    let ends = !rest.first().is_some_and(|b| is_word(*b));
    ends.then(|| rest.trim_ascii_start())
}

/// The part of `text` up to where `rest`, its suffix, begins.
pub(super) fn upto<'a>(text: &'a [u8], rest: &[u8]) -> &'a [u8] {
    &text[..text.len().saturating_sub(rest.len())]
}

/// What stands between the first pair of quotation marks.
pub(super) fn quoted(text: &[u8]) -> Option<&[u8]> {
    let open = text.iter().position(|b| matches!(b, b'"' | b'\'' | b'`'))?;
    let body = &text[open + 1..];
    let close = body.iter().position(|&b| b == text[open])?;
    Some(&body[..close])
}

/// What follows a bracketed group at the start of `text`, whatever brackets and strings stand
/// inside.
pub(super) fn after_group(text: &[u8]) -> &[u8] {
    let mut depth = 0usize;
    let mut quoted = false;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'"' if depth > 0 && (at == 0 || text[at - 1] != b'\\') => quoted = !quoted,
            _ if quoted => {}
            b'(' | b'[' | b'<' | b'{' => depth += 1,
            // An arrow is not a bracket.
            b'>' if at > 0 && matches!(text[at - 1], b'-' | b'=') => {}
            b')' | b']' | b'>' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return &text[at + 1..];
                }
            }
            _ if depth == 0 => return &text[at..],
            _ => {}
        }
    }
    &[]
}

/// `text` without comments; strings are left alone.
pub(super) fn uncommented(text: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    if memchr::memmem::find(text, b"/*").is_none() && memchr::memmem::find(text, b"//").is_none() {
        return text.into();
    }
    let mut kept = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let rest = &text[at..];
        let skip = if rest.starts_with(b"//") {
            memchr::memchr(b'\n', rest).unwrap_or(rest.len())
        } else if rest.starts_with(b"/*") {
            kept.push(b' ');
            memchr::memmem::find(rest, b"*/").map_or(rest.len(), |end| end + 2)
        } else if byte == b'"' {
            let body = rest[1..].iter().position(|b| matches!(b, b'"' | b'\n'));
            let length = body.map_or(rest.len(), |end| end + 2);
            kept.extend_from_slice(&rest[..length]);
            length
        } else {
            kept.push(byte);
            1
        };
        at += skip;
    }
    kept.into()
}
