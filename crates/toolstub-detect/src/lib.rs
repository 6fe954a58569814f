//! What a tool result is: bytes and a declared media type in, a [`Detection`] out.
//!
//! A detection is the kind together with what was learnt while confirming it: the scanner that
//! accepts a content also gathers the keys, rows, tags or symbols that a synopsis names, so that
//! nothing is parsed again for the synopsis. Contents are scanned, never turned into a tree.
//!
//! This crate never phrases a line of a synopsis, never keeps more of a content than a synopsis can
//! show, never recurses over its input, and cannot fail: malformed input is data.
//!
//! ```
//! use toolstub_core::Kind;
//! use toolstub_detect::{Options, detect};
//!
//! let detection = detect(br#"{"id": 7, "tags": ["a", "b"]}"#, &Options::default());
//! assert_eq!(detection.kind(), Kind::Json);
//! ```
//!
//! Next: `toolstub-summarize` phrases a detection as a synopsis.

pub mod census;
pub mod code;
mod content;
mod detection;
mod distinct;
pub mod json;
mod media_type;
pub mod table;
pub mod text;
pub mod unknown;
pub mod xml;
pub mod yaml;

/// The start of `raw` in at most `cap` bytes, ending in `...` if that is not all: what is shown of
/// it may be short once white space is folded, and must not look whole.
fn excerpt(raw: &[u8], cap: usize) -> String {
    let mut text = String::from_utf8_lossy(&raw[..raw.len().min(cap)]).into_owned();
    if raw.len() > cap {
        text.push_str(toolstub_core::text::ELLIPSIS);
    }
    text
}

pub use content::Content;
pub use detection::{Detection, Finding, Options, detect, detect_in_pieces};
pub use distinct::Count;
pub use media_type::MediaType;
