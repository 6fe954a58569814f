//! A detection phrased as a synopsis: a few typed lines that say what a tool result holds.
//!
//! One module per kind owns that kind's lines. Every name is cleaned and cut, every list is capped
//! and says how much it leaves out, so that a synopsis stays small whatever the content is.
//!
//! This crate never looks at a content: it phrases what detection learnt. It cannot fail, and the
//! same detection always gives the same synopsis.
//!
//! ```
//! use toolstub_summarize::describe;
//!
//! let mut content = &br#"{"id": 7, "tags": ["a", "b"]}"#[..];
//! let Ok((_, synopsis)) = describe(&mut content, None, 2000);
//! assert_eq!(synopsis.summary, ["top-level type: object", "top-level keys: id, tags"]);
//! ```
//!
//! Next: `toolstub-render` sets a synopsis into a stub.

mod code;
mod draft;
mod json;
mod table;
mod text;
mod unknown;
mod xml;
mod yaml;

use toolstub_core::Synopsis;
use toolstub_detect::{Content, Detection, Finding, detect_in_pieces};

/// How a synopsis is phrased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The cap of the sample, in shown characters; a negative one is 0.
    pub preview_chars: i64,
}

impl Default for Options {
    fn default() -> Self {
        Self { preview_chars: 2000 }
    }
}

/// Detects what a content is and phrases it, with samples of at most `preview_chars` (a negative
/// number is 0).
///
/// `mime` is the media type that the tool declared.
///
/// # Errors
/// What reading `content` fails with.
pub fn describe<C: Content>(
    content: &mut C,
    mime: Option<&str>,
    preview_chars: i64,
) -> Result<(Detection, Synopsis), C::Error> {
    let sample_chars = usize::try_from(preview_chars.max(0)).unwrap_or(usize::MAX);
    let options = toolstub_detect::Options { mime, sample_chars };
    let detection = detect_in_pieces(content, &options)?;
    let synopsis = summarize(&detection, &Options { preview_chars });
    Ok((detection, synopsis))
}

/// Phrases a detection, whose samples must be at least as long as those of `options`.
pub fn summarize(detection: &Detection, options: &Options) -> Synopsis {
    let census = &detection.census;
    let draft = match &detection.finding {
        Finding::Json(json) => json::draft(json),
        Finding::Table(table) => table::draft(table),
        Finding::Yaml(yaml) => yaml::draft(yaml),
        Finding::Xml(xml) => xml::draft(xml),
        Finding::Code(code) => code::draft(code, census),
        Finding::Text(text) => text::draft(text, census),
        Finding::Unknown(unknown) => unknown::draft(*unknown, census, options.preview_chars),
    };
    draft.finish(detection.kind())
}
