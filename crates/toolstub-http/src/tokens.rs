//! An estimate of how many tokens a text takes.

use std::num::FpCategory;
use std::str::Chars;

/// The weight of texts, in quarters of a token.
///
/// Four letters make a token; a character of Chinese, Japanese or Korean makes one and a half, and
/// an emoji two. It is the estimate that clients of the interface know; no tokenizer is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Weight(u64);

const LETTER: u64 = 1;
const WIDE: u64 = 6;
const ASTRAL: u64 = 8;

impl Weight {
    /// Adds a text.
    pub(crate) fn add(&mut self, text: &str) {
        self.0 += text.chars().map(quarters).sum::<u64>();
    }

    /// Adds a JSON text as it is commonly written out: a space behind each `,` and `:`, and nothing
    /// escaped that need not be.
    ///
    /// An empty value counts for nothing.
    pub(crate) fn add_json(&mut self, json: &str) {
        let mut weight = 0;
        let mut chars = json.chars();
        let mut in_string = false;
        while let Some(c) = chars.next() {
            if in_string {
                in_string = c != '"';
                weight += if c == '\\' { escape(&mut chars) } else { quarters(c) };
            } else if !c.is_ascii_whitespace() {
                in_string = c == '"';
                weight += LETTER + if matches!(c, ',' | ':') { LETTER } else { 0 };
            }
        }
        self.0 += if is_empty(json.trim()) { 0 } else { weight };
    }

    /// The tokens, a part of one counted as one.
    pub(crate) fn tokens(self) -> u64 {
        self.0.div_ceil(4)
    }
}

/// What stands behind a backslash, as it weighs written out.
fn escape(chars: &mut Chars<'_>) -> u64 {
    match chars.next() {
        Some('u') => {}
        Some('/') => return LETTER,
        _ => return 2 * LETTER,
    }
    let Some(unit) = code_unit(chars) else { return 0 };
    let mut after = chars.clone();
    let next = match (after.next(), after.next()) {
        (Some('\\'), Some('u')) if (0xD800..0xDC00).contains(&unit) => code_unit(&mut after),
        _ => None,
    };
    let units = [Some(unit), next].into_iter().flatten();
    match char::decode_utf16(units).next() {
        Some(Ok('"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}')) => 2 * LETTER,
        Some(Ok(c)) if c < ' ' => 6 * LETTER,
        Some(Ok(c)) => {
            if c > '\u{ffff}' {
                *chars = after;
            }
            quarters(c)
        }
        _ => LETTER,
    }
}

/// The four digits of a `\u` escape.
fn code_unit(chars: &mut Chars<'_>) -> Option<u16> {
    let (digits, rest) = chars.as_str().split_at_checked(4)?;
    *chars = rest.chars();
    u16::from_str_radix(digits, 16).ok()
}

/// Whether a value is one that says nothing.
fn is_empty(json: &str) -> bool {
    matches!(json, "" | "{}" | "[]" | "\"\"" | "false" | "null")
        || json.parse::<f64>().is_ok_and(|number| number.classify() == FpCategory::Zero)
}

fn quarters(c: char) -> u64 {
    match u32::from(c) {
        0x1100..=0x11FF
        | 0x3000..=0x30FF
        | 0x3130..=0x318F
        | 0x31F0..=0x31FF
        | 0x3400..=0x4DBF
        | 0x4E00..=0x9FFF
        | 0xAC00..=0xD7AF
        | 0xF900..=0xFAFF
        | 0xFF00..=0xFFEF
        | 0x2_0000..=0x2_EBEF => WIDE,
        0x1_0000.. => ASTRAL,
        _ => LETTER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_weigh_what_clients_expect() {
        for (text, tokens) in [
            ("", 0),
            ("a", 1),
            ("abcd", 1),
            ("abcde", 2),
            ("hello world", 3),
            ("你", 2),
            ("你好", 3),
            ("a你", 2),
            ("aaaa你你", 4),
            ("日本語テキスト", 11),
            ("한국어", 5),
            ("Привет мир", 3),
            ("ａｂｃ", 5),
            ("。，！", 5),
            ("éééééééééé", 3),
            ("😀😀😀😀😀😀😀😀😀😀", 20),
            ("𠀀𠀀𠀀𠀀𠀀𠀀𠀀𠀀𠀀𠀀", 15),
            ("€€€€€€€€€€", 3),
        ] {
            let mut weight = Weight::default();
            weight.add(text);
            assert_eq!(weight.tokens(), tokens, "{text}");
        }
    }

    #[test]
    fn json_weighs_what_it_does_written_out() {
        for (json, tokens) in [
            (r#"{"a":1}"#, 2),
            (r#"{ "a" : 1 , "b":[ 1,2 ] }"#, 6),
            (r#"{"a:":"x,\"y:"}"#, 4),
            // However it is escaped.
            (r#"{"k":"你é😀"}"#, 6),
            (r#"{"k":"\u4f60\u00e9\ud83d\ude00"}"#, 6),
            (r#"{"k":"\u4F60\u00E9\uD83D\uDE00"}"#, 6),
            (r#""\u0022\u000a\/""#, 2),
            (r#""\"\n/""#, 2),
            (r#""\u0001\u0041""#, 3),
            (r#""\ud83d\u4f60""#, 3),
            (r#""\ud83d""#, 1),
            ("[]", 0),
            ("{}", 0),
            ("0", 0),
            ("-0.0", 0),
            ("0e5", 0),
            ("-1", 1),
        ] {
            let mut weight = Weight::default();
            weight.add_json(json);
            assert_eq!(weight.tokens(), tokens, "{json}");
        }
    }
}
