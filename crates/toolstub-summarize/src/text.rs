//! What is said of text.

use toolstub_core::text::clean_bytes;
use toolstub_core::utf8;
use toolstub_detect::census::Census;
use toolstub_detect::text::Text;

use crate::draft::{Draft, Line, List};

/// The length of the opening and of the closing excerpt, in characters.
const EXCERPT: usize = 500;
/// The longest section header, in characters.
const MAX_HEADER: usize = 160;

pub(crate) fn draft(text: &Text, census: &Census) -> Draft {
    let headers: Line = if text.headers.is_empty() {
        "Detected section headers: none detected.".into()
    } else {
        let headers =
            text.headers.iter().map(|header| toolstub_core::text::clean(header, MAX_HEADER));
        let list = List::new("Detected section headers", headers.collect(), text.header_count);
        Line::List(list.separated(" | ", "."))
    };
    Draft {
        title: "Text".to_owned(),
        summary: vec![
            "plain text".into(),
            format!("Characters: {}.", census.chars).into(),
            format!("Words: {}.", text.words).into(),
            format!("Lines: {}.", census.lines).into(),
            headers,
            format!("Opening excerpt: {}.", opening(&census.head)).into(),
            format!("Closing excerpt: {}.", closing(&census.tail)).into(),
        ],
        ..Draft::default()
    }
}

/// The first characters, white space folded after the cut.
fn opening(head: &[u8]) -> String {
    let start: String = utf8::chars(head).take(EXCERPT).collect();
    clean_bytes(start.as_bytes(), EXCERPT)
}

/// The last characters, white space folded after the cut.
fn closing(tail: &[u8]) -> String {
    let chars: Vec<char> = utf8::chars(tail).collect();
    let end: String = chars[chars.len().saturating_sub(EXCERPT)..].iter().collect();
    clean_bytes(end.as_bytes(), EXCERPT)
}
