//! A detection phrased as a synopsis: a few typed lines that say what a tool result holds.
//!
//! One module per kind owns that kind's lines. Every name is cleaned and cut, every list is capped
//! and says how much it leaves out, so that a synopsis stays small whatever the content is.
//!
//! This crate never looks at a content: it phrases what detection learnt. It cannot fail, and the
//! same detection always gives the same synopsis.
//!
//! ```
//! use toolstub_detect::detect;
//! use toolstub_summarize::{Options, summarize};
//!
//! let detection = detect(br#"{"id": 7, "tags": ["a", "b"]}"#, &Default::default());
//! let synopsis = summarize(&detection, &Options::default());
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
use toolstub_detect::{Detection, Finding};

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

/// Phrases a detection.
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
