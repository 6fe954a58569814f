//! The stub: the text that stands in a conversation in place of an oversized tool result.
//!
//! A stub is a header, a body (the synopsis, or in head style the first lines of the original) and
//! a word on how to explore the original. [`render`] writes it, [`Stub::parse`] reads its header
//! back. All wording of the frame lives in one module; a kind's own lines come with its synopsis.
//!
//! This crate never looks at a content beyond the excerpt it is given, and never promises a ref
//! that no store has committed: a [`Header`] with a ref is made from a [`toolstub_core::Receipt`].
//! Whatever a tool returned stands only after `- ` or `| `, so it cannot forge a header.
//!
//! ```
//! use toolstub_core::{Kind, Synopsis};
//! use toolstub_render::{Body, Header, Options, Stub, render};
//!
//! let header = Header::unstored("read_file", Kind::Unknown, 5, 2000);
//! let synopsis = Synopsis {
//!     kind: Kind::Unknown,
//!     title: "Unknown content".to_owned(),
//!     summary: vec!["binary: NUL bytes".to_owned()],
//!     structure: vec![],
//!     notable_items: vec![],
//!     sample: "\\x00 ref: none".to_owned(),
//! };
//! let text = render(&header, &Body::Synopsis(&synopsis), &Options::default());
//! assert!(text.ends_with("Sample:\n| \\x00 ref: none\n"));
//! assert_eq!(Stub::parse(&text).unwrap().reference, None);
//! ```

mod body;
mod frame;
mod header;
mod stub;

pub use body::{Body, Head, ReadBack};
pub use header::Header;
pub use stub::{NotAStub, Stub};

use toolstub_core::{Reason, Ref, RefForm};

/// How the frame is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options<'a> {
    /// What stands before `tool_result_read`, `_search` and `_list` in the tools' names.
    pub tool_prefix: &'a str,
    /// How refs are written.
    pub refs: &'a RefForm,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { tool_prefix: "openviking_", refs: &RefForm::Toolstub }
    }
}

/// How many characters the stub of an original will have once that is stored.
///
/// `header` is [`Header::unstored`]. Only a number comes out: a stub that promises a ref is made from
/// a receipt. It is exact where the record that the receipt shows is made of the same values.
pub fn chars_once_stored(
    header: &Header,
    reference: &Ref,
    reason: Reason,
    body: &Body<'_>,
    options: &Options<'_>,
) -> u64 {
    let header = header.once_stored(reference, reason);
    render(&header, body, options).chars().count() as u64
}

/// Writes a stub. It ends in a line feed.
pub fn render(header: &Header, body: &Body<'_>, options: &Options<'_>) -> String {
    let mut text = String::new();
    let uri = header.reference().map(|reference| options.refs.uri(reference));
    header.write(&mut text, body.style(), uri.as_deref());
    body.write(&mut text);
    if let Some(uri) = uri {
        frame::write_explore(&mut text, &uri, header.original_chars(), options.tool_prefix);
    }
    text
}
