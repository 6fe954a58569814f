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

/// Longer cells are words, in bytes.
const MAX_VALUE: usize = 56;

impl Class {
    pub(super) fn of(cell: &[u8]) -> Self {
        let cell = cell.trim_ascii();
        // Where quotes are literal, they may enclose a value all the same.
        let inner = cell.strip_prefix(b"\"").and_then(|cell| cell.strip_suffix(b"\""));
        let cell = inner.unwrap_or(cell);
        if cell.is_empty() {
            return Self::Empty;
        }
        if cell.len() <= MAX_VALUE {
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
    is_time(cell) || is_address(cell)
}

/// Whether digits, with what stands between those of dates and times, are all of the cell.
fn is_time(cell: &[u8]) -> bool {
    let cell = without_zone(cell);
    let allowed = |b: &u8| {
        matches!(b, b'0'..=b'9' | b'-' | b'/' | b':' | b'.' | b' ' | b'+' | b',')
            || b.is_ascii_alphabetic()
    };
    if !cell.first().is_some_and(u8::is_ascii_alphanumeric) || !cell.iter().all(allowed) {
        return false;
    }
    let names = cell.split(|b| !b.is_ascii_alphabetic()).filter(|name| !name.is_empty());
    let (mut months, mut letters) = (0, 0);
    for name in names {
        months += usize::from(is_name_of(name, &MONTHS));
        letters += usize::from(!is_name_of(name, &MONTHS));
        if !is_in_time(name) {
            return false;
        }
    }
    let marks = cell.iter().filter(|b| matches!(b, b'-' | b'/' | b':' | b'.')).count();
    let digits = cell.iter().filter(|b| b.is_ascii_digit()).count();
    // `20240101T0300` has no other mark than its letter.
    let compact = digits >= 8 && letters > 0 && cell[0].is_ascii_digit();
    digits >= 3 && (marks + months > 0 || compact)
}

/// A time without the name of its zone in brackets, as in `10:00+02:00[Europe/Berlin]`.
fn without_zone(cell: &[u8]) -> &[u8] {
    let Some(open) = cell.strip_suffix(b"]").and_then(|cell| memchr::memrchr(b'[', cell)) else {
        return cell;
    };
    let plain = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'_' | b'-' | b'+');
    if cell[open + 1..cell.len() - 1].iter().all(plain) { &cell[..open] } else { cell }
}

/// Whether letters are a part of a date or a time.
fn is_in_time(name: &[u8]) -> bool {
    const MARKS: [&[u8]; 7] = [b"T", b"Z", b"W", b"Q", b"H", b"AM", b"PM"];
    let is_zone = (3..=4).contains(&name.len())
        && name.iter().all(u8::is_ascii_uppercase)
        && matches!(name[name.len() - 1], b'T' | b'C');
    is_zone
        || MARKS.iter().any(|mark| name.eq_ignore_ascii_case(mark))
        || is_name_of(name, &MONTHS)
        || is_name_of(name, &WEEKDAYS)
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const WEEKDAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Whether `name` is one of the names, written out or shortened to three letters.
fn is_name_of(name: &[u8], names: &[&str]) -> bool {
    names.iter().any(|full| {
        name.eq_ignore_ascii_case(full.as_bytes())
            || name.eq_ignore_ascii_case(&full.as_bytes()[..3])
    })
}

/// Whether the cell is an address of hexadecimal groups, of a network card or of IPv6.
fn is_address(cell: &[u8]) -> bool {
    let groups = cell.split(|&b| b == b':');
    let count = groups.clone().count();
    let is_group = |group: &[u8]| group.len() <= 4 && group.iter().all(u8::is_ascii_hexdigit);
    (3..=8).contains(&count) && groups.clone().all(is_group) && groups.flatten().count() >= 3
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
            ("2026-01-02T10:00:00.123+02:00[Europe/Berlin]", Class::Stamp),
            ("20260102T1000Z", Class::Stamp),
            ("02/Jan/2026:10:00:00 +0000", Class::Stamp),
            ("Fri, 2 January 2026 10:00:00 GMT", Class::Stamp),
            ("1/2/2026 10:00 PM", Class::Stamp),
            ("2026Q1", Class::Word),
            ("May 3", Class::Phrase),
            ("2026-01-02T10:00:00Z INFO started", Class::Phrase),
            ("192.168.0.1", Class::Stamp),
            ("aa:bb:cc:dd:ee:ff", Class::Stamp),
            ("fe80::1:12", Class::Stamp),
            ("main.c:12:5", Class::Word),
            ("\"2026-01-02\"", Class::Stamp),
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
