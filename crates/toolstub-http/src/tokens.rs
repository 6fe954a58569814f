//! An estimate of how many tokens a text takes.

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

    /// Adds a JSON text as it is commonly written out: a space behind each `,` and `:`.
    ///
    /// An empty value counts for nothing.
    pub(crate) fn add_json(&mut self, json: &str) {
        let (mut in_string, mut escaped) = (false, false);
        let mut weight = 0;
        for c in json.chars() {
            if in_string {
                weight += quarters(c);
                (in_string, escaped) = match c {
                    _ if escaped => (true, false),
                    '\\' => (true, true),
                    '"' => (false, false),
                    _ => (true, false),
                };
            } else if !c.is_ascii_whitespace() {
                in_string = c == '"';
                weight += LETTER + if matches!(c, ',' | ':') { LETTER } else { 0 };
            }
        }
        let is_empty = matches!(json.trim(), "" | "{}" | "[]" | "\"\"" | "0" | "false" | "null");
        self.0 += if is_empty { 0 } else { weight };
    }

    /// The tokens, a part of one counted as one.
    pub(crate) fn tokens(self) -> u64 {
        self.0.div_ceil(4)
    }
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
            ("[]", 0),
            ("{}", 0),
        ] {
            let mut weight = Weight::default();
            weight.add_json(json);
            assert_eq!(weight.tokens(), tokens, "{json}");
        }
    }
}
