//! What kind of value stands in a cell.

/// The classes of cells that tell tables from prose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Empty,
    /// A number, with sign, grouping, exponent, percent sign, currency or size unit.
    Number,
    /// A date, a time, an address of digits and separators.
    Stamp,
    /// `true`, `false`, `null` and their like.
    Flag,
    /// One word.
    Word,
    /// Several words.
    Phrase,
}

impl Class {
    pub(super) fn of(cell: &[u8]) -> Self {
        let cell = cell.trim_ascii();
        if cell.is_empty() {
            return Self::Empty;
        }
        if cell.len() <= 40 {
            if is_number(cell) {
                return Self::Number;
            }
            if is_stamp(cell) {
                return Self::Stamp;
            }
            if is_flag(cell) {
                return Self::Flag;
            }
        }
        if cell.iter().any(u8::is_ascii_whitespace) { Self::Phrase } else { Self::Word }
    }

    /// Whether the cell holds a value of a type of its own: not words.
    pub(super) fn is_typed(self) -> bool {
        matches!(self, Self::Number | Self::Stamp | Self::Flag)
    }
}

fn is_number(cell: &[u8]) -> bool {
    let unsigned = cell.strip_prefix(b"-").or(cell.strip_prefix(b"+")).unwrap_or(cell);
    let unsigned = unsigned.strip_prefix(b"$").unwrap_or(unsigned);
    let unsigned = unsigned.strip_prefix("€".as_bytes()).unwrap_or(unsigned);
    if let Some(digits) = unsigned.strip_prefix(b"0x") {
        return !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    }
    let digits =
        unsigned.iter().take_while(|b| matches!(b, b'0'..=b'9' | b'.' | b',' | b'_')).count();
    let (number, suffix) = unsigned.split_at(digits);
    let count = |separator| memchr::memchr_iter(separator, number).count();
    let ends_well = number.last().is_some_and(|b| b.is_ascii_digit() || *b == b'.');
    if !number.iter().any(u8::is_ascii_digit) || !ends_well || count(b'.') > 1 && count(b',') != 1 {
        return false;
    }
    match suffix {
        b"" | b"%" | b" %" | b"K" | b"M" | b"G" | b"T" | b"B" | b"k" | b"KB" | b"MB" | b"GB"
        | b"TB" | b"KiB" | b"MiB" | b"GiB" | b"TiB" | b"kB" | b"ms" | b"s" | b"us" | b"ns"
        | b"h" | b"m" | b"d" => true,
        exponent => {
            let Some(rest) = exponent.strip_prefix(b"e").or(exponent.strip_prefix(b"E")) else {
                return false;
            };
            let rest = rest.strip_prefix(b"-").or(rest.strip_prefix(b"+")).unwrap_or(rest);
            !rest.is_empty() && rest.iter().all(u8::is_ascii_digit)
        }
    }
}

fn is_stamp(cell: &[u8]) -> bool {
    let allowed = |b: &u8| {
        matches!(b, b'0'..=b'9' | b'-' | b'/' | b':' | b'.' | b' ' | b'+' | b'T' | b'Z' | b',')
    };
    let separators = cell.iter().filter(|b| matches!(b, b'-' | b'/' | b':' | b'.')).count();
    let digits = cell.iter().filter(|b| b.is_ascii_digit()).count();
    cell[0].is_ascii_digit() && cell.iter().all(allowed) && separators >= 1 && digits >= 3
}

fn is_flag(cell: &[u8]) -> bool {
    const FLAGS: [&[u8]; 15] = [
        b"true", b"false", b"yes", b"no", b"null", b"none", b"na", b"n/a", b"-", b"\\n", b"t",
        b"f", b"nan", b"inf", b"-inf",
    ];
    FLAGS.iter().any(|flag| cell.eq_ignore_ascii_case(flag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_classed_by_their_look() {
        for (cell, class) in [
            ("", Class::Empty),
            ("  ", Class::Empty),
            ("12", Class::Number),
            ("-1.25", Class::Number),
            ("1,234.5", Class::Number),
            ("16,99", Class::Number),
            ("1e-7", Class::Number),
            ("4.0K", Class::Number),
            ("98 %", Class::Number),
            ("$5", Class::Number),
            ("0x7f", Class::Number),
            ("2026-01-02", Class::Stamp),
            ("2026-01-02T10:00:00Z", Class::Stamp),
            ("10:00:00,123", Class::Stamp),
            ("192.168.0.1", Class::Stamp),
            ("TRUE", Class::Flag),
            ("-", Class::Flag),
            ("alpha", Class::Word),
            ("123456789012x", Class::Word),
            ("two words", Class::Phrase),
        ] {
            assert_eq!(Class::of(cell.as_bytes()), class, "{cell:?}");
        }
    }
}
