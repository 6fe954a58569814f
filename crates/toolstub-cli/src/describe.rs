//! From bytes to a stub: detection, synopsis, rendering, under one set of options.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;
use toolstub_core::{Kind, Receipt, Sha256, Synopsis};
use toolstub_detect::{Content, Detection};
use toolstub_render::{Body, Head, Header, render};
use toolstub_store::{Body as Held, Original};
use toolstub_summarize::describe;

use crate::args::{Described, Style};
use crate::config::Config;
use crate::failure::Failure;
use crate::interrupt;

/// How much of a spool is read at once, in bytes.
const PIECE: usize = 256 << 10;

/// How a stub is written: what was asked for, else what is configured, else the defaults.
#[derive(Debug)]
pub(crate) struct Describe<'a> {
    pub(crate) mime: Option<&'a str>,
    pub(crate) preview_chars: i64,
    style: Style,
    head_lines: i64,
    tool_prefix: &'a str,
}

impl<'a> Describe<'a> {
    pub(crate) fn new(described: &'a Described, config: &'a Config) -> Self {
        Self {
            mime: described.mime.as_deref(),
            preview_chars: described.preview_chars.or(config.preview_chars).unwrap_or(2000),
            style: described.style.or(config.style).unwrap_or(Style::Typed),
            head_lines: described.head_lines.or(config.head_lines).unwrap_or(40),
            tool_prefix: match (&described.tool_prefix, &config.tool_prefix) {
                (Some(prefix), _) | (None, Some(prefix)) => prefix,
                (None, None) => toolstub_render::Options::default().tool_prefix,
            },
        }
    }

    /// Detects what an original is, and phrases it.
    pub(crate) fn original(&self, original: &Original) -> Result<(Detection, Synopsis), Failure> {
        let mut pieces = Pieces { body: original.body(), at: 0, buffer: Vec::new() };
        describe(&mut pieces, self.mime, self.preview_chars)
    }

    /// Writes the stub of a content that was detected.
    pub(crate) fn stub(
        &self,
        header: &Header,
        detection: &Detection,
        synopsis: &Synopsis,
    ) -> String {
        let census = &detection.census;
        let options = toolstub_render::Options {
            tool_prefix: self.tool_prefix,
            ..toolstub_render::Options::default()
        };
        match self.style {
            Style::Typed => render(header, &Body::Synopsis(synopsis), &options),
            Style::Head => {
                let head = Head::new(
                    &census.head,
                    self.head_lines,
                    self.preview_chars,
                    census.bytes,
                    census.lines,
                );
                render(header, &Body::Head(&head), &options)
            }
        }
    }
}

/// An original, read back as it was taken in.
struct Pieces<'a> {
    body: &'a Held,
    /// Where the buffer stands in the original.
    at: u64,
    buffer: Vec<u8>,
}

impl Content for Pieces<'_> {
    type Error = Failure;

    fn piece(&mut self, at: u64) -> Result<&[u8], Failure> {
        if let Held::Bytes(bytes) = self.body {
            return Ok(usize::try_from(at).ok().and_then(|at| bytes.get(at..)).unwrap_or_default());
        }
        if !(self.at..self.at + self.buffer.len() as u64).contains(&at) {
            interrupt::check()?;
            self.buffer.resize(PIECE, 0);
            let length = self.body.read_at(at, &mut self.buffer).map_err(Failure::storage)?;
            self.buffer.truncate(length);
            self.at = at;
        }
        Ok(&self.buffer[(at - self.at) as usize..])
    }
}

/// The answer to `stub` and `put`.
#[derive(Debug, Serialize)]
pub(crate) struct Answer<'a> {
    pub(crate) externalized: bool,
    #[serde(rename = "ref")]
    pub(crate) reference: Option<String>,
    pub(crate) tool_result_id: Option<String>,
    pub(crate) kind: Kind,
    pub(crate) original_chars: u64,
    pub(crate) original_bytes: u64,
    pub(crate) sha256: Sha256,
    pub(crate) not_stored_bytes: u64,
    pub(crate) synopsis: &'a Synopsis,
    pub(crate) stub: Option<&'a str>,
    /// What was passed through: there is no other place where it would be kept.
    #[serde(flatten)]
    pub(crate) passed: Option<Passed<'a>>,
}

/// A content that was passed through, in an answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Passed<'a> {
    Content(&'a str),
    ContentBase64(String),
}

impl<'a> Passed<'a> {
    pub(crate) fn new(content: &'a [u8]) -> Self {
        match std::str::from_utf8(content) {
            Ok(text) => Self::Content(text),
            Err(_) => Self::ContentBase64(BASE64_STANDARD.encode(content)),
        }
    }
}

impl<'a> Answer<'a> {
    /// The answer where nothing is stored.
    pub(crate) fn unstored(
        original: &Original,
        synopsis: &'a Synopsis,
        stub: Option<&'a str>,
    ) -> Self {
        Self {
            externalized: false,
            reference: None,
            tool_result_id: None,
            kind: synopsis.kind,
            original_chars: original.chars(),
            original_bytes: original.size(),
            sha256: original.sha256(),
            not_stored_bytes: 0,
            synopsis,
            stub,
            passed: None,
        }
    }

    /// The answer where the original is stored.
    pub(crate) fn stored(receipt: &'a Receipt, stub: &'a str) -> Self {
        let metadata = receipt.metadata();
        Self {
            externalized: true,
            reference: Some(receipt.reference().to_string()),
            tool_result_id: Some(metadata.tool_result_id.clone()),
            kind: metadata.synopsis_kind,
            original_chars: metadata.original_chars,
            original_bytes: metadata.original_bytes,
            sha256: metadata.sha256,
            not_stored_bytes: metadata.not_stored_bytes,
            synopsis: &metadata.synopsis,
            stub: Some(stub),
            passed: None,
        }
    }
}
