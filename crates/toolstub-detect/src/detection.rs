//! The order in which kinds are tried; the first that accepts wins.

use toolstub_core::Kind;

use crate::census::Census;
use crate::code::{self, Code};
use crate::content::Content;
use crate::json::{self, Json};
use crate::media_type::MediaType;
use crate::table::{self, Delimiter, Table};
use crate::text::{self, Text};
use crate::unknown::{Unknown, Why};
use crate::xml::{self, Xml};
use crate::yaml::{self, Yaml};

/// What the caller knows about a content.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// The media type that the tool declared.
    pub mime: Option<&'a str>,
    /// How many characters of the content's head and tail are kept for a sample: at most 524,288.
    pub sample_chars: usize,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { mime: None, sample_chars: 2000 }
    }
}

/// A content's kind, with what was learnt while confirming it.
#[derive(Debug, Clone, PartialEq)]
pub struct Detection {
    /// What was counted, whatever the kind.
    pub census: Census,
    /// The kind's own evidence.
    pub finding: Finding,
}

impl Detection {
    /// The kind that was detected.
    pub fn kind(&self) -> Kind {
        match &self.finding {
            Finding::Json(_) => Kind::Json,
            Finding::Table(table) if table.delimiter == Delimiter::Tab => Kind::Tsv,
            Finding::Table(_) => Kind::Csv,
            Finding::Yaml(_) => Kind::Yaml,
            Finding::Xml(_) => Kind::Xml,
            Finding::Code(_) => Kind::Code,
            Finding::Text(_) => Kind::Text,
            Finding::Unknown(_) => Kind::Unknown,
        }
    }
}

/// The evidence of a kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    /// JSON.
    Json(Json),
    /// A table; tabs make it TSV, any other delimiter CSV.
    Table(Table),
    /// YAML.
    Yaml(Yaml),
    /// XML.
    Xml(Xml),
    /// Source code.
    Code(Code),
    /// Text.
    Text(Text),
    /// Unknown.
    Unknown(Unknown),
}

/// Detects what `content` is.
///
/// The same bytes, media type and options give the same detection, everywhere and always.
pub fn detect(mut content: &[u8], options: &Options<'_>) -> Detection {
    let Ok(detection) = detect_in_pieces(&mut content, options);
    detection
}

/// Detects what a content is that is not at hand as a whole, in bounded memory.
///
/// The detection is that of [`detect`] for the same bytes, wherever the pieces end.
///
/// # Errors
/// What reading `content` fails with.
pub fn detect_in_pieces<C: Content>(
    content: &mut C,
    options: &Options<'_>,
) -> Result<Detection, C::Error> {
    let census = Census::of(content, options.sample_chars)?;
    let finding = find(content, &census, MediaType::of(options.mime))?;
    Ok(Detection { census, finding })
}

fn find<C: Content>(
    content: &mut C,
    census: &Census,
    declared: MediaType,
) -> Result<Finding, C::Error> {
    if let Some(why) = Unknown::before_any_scan(census) {
        return Ok(Finding::Unknown(why));
    }
    if let Some(json) = json::scan(content, census, declared)? {
        return Ok(Finding::Json(json));
    }
    if declared == MediaType::Json {
        return Ok(Finding::Unknown(Unknown { why: Why::DeclaredJson }));
    }
    if let Some(xml) = xml::scan(content, census, declared)? {
        return Ok(Finding::Xml(xml));
    }
    if declared == MediaType::Xml {
        return Ok(Finding::Unknown(Unknown { why: Why::DeclaredXml }));
    }
    if let Some(table) = table::scan(content, census)? {
        return Ok(Finding::Table(table));
    }
    if let Some(yaml) = yaml::scan(content, census)? {
        return Ok(Finding::Yaml(yaml));
    }
    if let Some(code) = code::scan(content, census)? {
        return Ok(Finding::Code(code));
    }
    text::scan(content).map(Finding::Text)
}
