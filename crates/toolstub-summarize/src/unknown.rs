//! What is said of content that cannot be told apart.

use toolstub_core::text::{sample_head, sample_tail};
use toolstub_detect::census::Census;
use toolstub_detect::unknown::{Unknown, Why};

use crate::draft::Draft;

pub(crate) fn draft(unknown: Unknown, census: &Census, preview_chars: i64) -> Draft {
    let why = match unknown.why {
        Why::Empty => "empty: there is no content",
        Why::Nul => "binary: it contains NUL bytes",
        Why::ControlCharacters => "binary: it contains many control characters",
        Why::NotUtf8 => "binary: more than 10 % of its bytes are not UTF-8",
        Why::DeclaredJson => "declared as JSON, but does not parse as JSON",
        Why::DeclaredXml => "declared as XML, but is not a well-formed XML document",
    };
    Draft {
        title: "Unknown content".to_owned(),
        summary: vec![
            format!("unknown content: {why}").into(),
            format!("bytes: {}", census.bytes).into(),
        ],
        sample: sample(census, preview_chars),
        ..Draft::default()
    }
}

/// The longest sample, in shown characters: a sample is stored with its original's record.
const MAX_SAMPLE: usize = 1 << 16;

/// The whole content if it fits, else its two ends.
fn sample(census: &Census, preview_chars: i64) -> String {
    let cap = usize::try_from(preview_chars.max(0)).unwrap_or(usize::MAX).min(MAX_SAMPLE);
    let whole = sample_head(&census.head, cap);
    if whole.bytes as u64 == census.bytes {
        return whole.shown;
    }
    let head = sample_head(&census.head, cap - cap / 2).shown;
    let tail = sample_tail(&census.tail, cap / 2).shown;
    if head.is_empty() && tail.is_empty() {
        return String::new();
    }
    format!("[head]\n{}\n[tail]\n{tail}", head.strip_suffix('\n').unwrap_or(&head))
}
