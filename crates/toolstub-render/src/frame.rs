//! The wording of the frame: first lines, field names, headings, how to explore.
//!
//! A change of wording is a change of this file and of its snapshots, and of nothing else.

use std::fmt::Write as _;

use toolstub_core::OffsetUnit;

/// The start of every first line.
pub(crate) const OPENING: &str = "[tool result ";
const STORED: &str = "externalized";
const FAILED: &str = "not stored: the original could not be stored and cannot be retrieved";
const SYNOPSIS: &str = "this is a synopsis, not the full output";
const HEAD: &str = "this is its head, not the full output";
const WHOLE: &str = "this is its head, and all of it";

pub(crate) const TOOL_NAME: &str = "tool_name";
pub(crate) const KIND: &str = "kind";
pub(crate) const ORIGINAL_CHARS: &str = "original_chars";
pub(crate) const PREVIEW_CHARS: &str = "preview_chars";
pub(crate) const REF: &str = "ref";
pub(crate) const SHA256: &str = "sha256";
pub(crate) const REASON: &str = "reason";
pub(crate) const NOT_STORED_BYTES: &str = "not_stored_bytes";

/// What a reason is followed by where storing failed.
pub(crate) const FAILED_SUFFIX: &str = ":externalization_failed";
/// The name of a tool that has none.
pub(crate) const NAMELESS_TOOL: &str = "tool";

pub(crate) const SYNOPSIS_HEADING: &str = "Synopsis:";
pub(crate) const STRUCTURE_HEADING: &str = "Structure:";
pub(crate) const NOTABLE_HEADING: &str = "Notable items:";
pub(crate) const SAMPLE_HEADING: &str = "Sample:";
pub(crate) const READ_BACK_HEADING: &str = "Read back:";
pub(crate) const READ_BACK_PART: &str =
    "a part of the original at the ref; it was not stored again, go back to the ref for it";
const EXPLORE_HEADING: &str = "Explore:";

/// What the body of a stub is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Synopsis,
    Head,
    /// A head that leaves nothing out.
    Whole,
}

/// Whether a line can be the first of a stub.
pub(crate) fn is_first_line(line: &str) -> bool {
    let Some(rest) = line.strip_prefix(OPENING) else { return false };
    let Some(rest) = rest.strip_suffix(']') else { return false };
    let rest = [STORED, FAILED].iter().find_map(|state| rest.strip_prefix(*state));
    let body = rest
        .and_then(|rest| [": ", "; "].iter().find_map(|separator| rest.strip_prefix(*separator)));
    body.is_some_and(|body| [SYNOPSIS, HEAD, WHOLE].iter().any(|words| body.starts_with(words)))
}

pub(crate) fn first_line(style: Style, failed: bool, not_stored_bytes: u64) -> String {
    let (state, separator) = if failed { (FAILED, "; ") } else { (STORED, ": ") };
    let body = match style {
        Style::Synopsis => SYNOPSIS,
        Style::Head => HEAD,
        Style::Whole => WHOLE,
    };
    let cut = if not_stored_bytes > 0 {
        format!("; the last {not_stored_bytes} bytes were over the hard cap and not stored")
    } else {
        String::new()
    };
    format!("{OPENING}{state}{separator}{body}{cut}]\n")
}

pub(crate) fn head_heading(lines: u64, all_lines: u64, bytes: u64, all_bytes: u64) -> String {
    format!("Head (lines 1-{lines} of {all_lines}, bytes 0-{bytes} of {all_bytes}):")
}

pub(crate) fn read_back_range(offset: i128, limit: i128, unit: OffsetUnit) -> String {
    format!(
        "offset={offset} limit={limit} ({unit}) of the original at the ref; \
         it was not stored again, read it from there"
    )
}

pub(crate) fn write_explore(text: &mut String, reference: &str, chars: u64, prefix: &str) {
    let _ = write!(
        text,
        "\n{EXPLORE_HEADING}\n\
         - {prefix}tool_result_search tool_output_ref={reference} query=TEXT: find text in the original\n\
         - {prefix}tool_result_read (the same tool_output_ref) offset=0 limit=4000: read any range of its {chars} characters\n\
         - {prefix}tool_result_list: list the originals of this session\n"
    );
}
