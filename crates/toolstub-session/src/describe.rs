//! From a content to its stub: the one place where detection, synopsis and rendering meet.

use bytes::Bytes;
use toolstub_core::{
    Kind, Reason, Receipt, Ref, RefForm, SessionId, Sha256, Synopsis, ToolResultId,
};
use toolstub_detect::Detection;
use toolstub_render::{Body, Head, Header, Options, ReadBack, chars_once_stored, render};
use toolstub_store::Original;
use toolstub_summarize::{describe, summarize};

use crate::config::{Config, Style};

/// How stubs look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look<'a> {
    pub(crate) config: &'a Config,
    pub(crate) refs: &'a RefForm,
}

impl<'a> Look<'a> {
    fn options(self) -> Options<'a> {
        Options { tool_prefix: &self.config.tool_prefix, refs: self.refs }
    }
}

/// A content with what is to be said of it: measured and detected once.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) original: Original,
    detection: Detection,
    /// The synopsis at the configured `preview_chars`.
    synopsis: Synopsis,
}

impl Draft {
    pub(crate) fn new(content: &Bytes, mime: Option<&str>, config: &Config) -> Self {
        let original = Original::new(content.clone(), config.hard_cap_bytes);
        let kept = content.slice(..original.size() as usize);
        let Ok((detection, synopsis)) = describe(&mut &kept[..], mime, config.preview_chars);
        Self { original, detection, synopsis }
    }

    /// The synopsis with a sample of at most `preview_chars`, which is no more than is configured.
    pub(crate) fn synopsis(&self, preview_chars: i64) -> Synopsis {
        if self.synopsis.sample.is_empty() {
            return self.synopsis.clone();
        }
        summarize(&self.detection, &toolstub_summarize::Options { preview_chars })
    }

    /// How long the stub will be once the original is stored, at the configured `preview_chars`.
    pub(crate) fn stub_chars(&self, tool_name: &str, reference: &Ref, look: Look<'_>) -> u64 {
        let preview_chars = look.config.preview_chars;
        let header = self
            .unstored(tool_name, preview_chars)
            .with_not_stored_bytes(self.original.not_stored_bytes());
        let head = self.head(preview_chars, look.config);
        let body = head.as_ref().map_or(Body::Synopsis(&self.synopsis), Body::Head);
        // The longest reason: the stub is not longer than this, whatever the reason is.
        chars_once_stored(&header, reference, Reason::SingleThreshold, &body, &look.options())
    }

    /// The stub of the original, which is stored.
    pub(crate) fn stored_stub(&self, receipt: &Receipt, reason: Reason, look: Look<'_>) -> String {
        let header = Header::stored(receipt, reason);
        let metadata = receipt.metadata();
        let preview_chars = i64::try_from(metadata.preview_chars).unwrap_or(i64::MAX);
        let head = self.head(preview_chars, look.config);
        let body = head.as_ref().map_or(Body::Synopsis(&metadata.synopsis), Body::Head);
        render(&header, &body, &look.options())
    }

    /// The stub of the original, which could not be stored.
    pub(crate) fn failed_stub(
        &self,
        tool_name: &str,
        reason: Reason,
        preview_chars: i64,
        look: Look<'_>,
    ) -> String {
        let header = self.unstored(tool_name, preview_chars).with_sha256(self.original.sha256());
        let synopsis = self.synopsis(preview_chars);
        let head = self.head(preview_chars, look.config);
        let body = head.as_ref().map_or(Body::Synopsis(&synopsis), Body::Head);
        render(&header.failed(reason), &body, &look.options())
    }

    fn unstored(&self, tool_name: &str, preview_chars: i64) -> Header {
        Header::unstored(tool_name, self.detection.kind(), self.original.chars(), preview_chars)
    }

    fn head(&self, preview_chars: i64, config: &Config) -> Option<Head> {
        let census = &self.detection.census;
        (config.style == Style::Head).then(|| {
            let (bytes, lines) = (census.bytes, census.lines);
            Head::new(&census.head, config.head_lines, preview_chars, bytes, lines)
        })
    }
}

/// No stub of anything that is stored is shorter.
pub(crate) fn least_stub_chars(session: &SessionId, look: Look<'_>) -> u64 {
    let nothing = Synopsis {
        kind: Kind::Csv,
        title: String::new(),
        summary: Vec::new(),
        structure: Vec::new(),
        notable_items: Vec::new(),
        sample: String::new(),
    };
    let head = Head::new(b"", 1, 0, 0, 0);
    let body = match look.config.style {
        Style::Typed => Body::Synopsis(&nothing),
        Style::Head => Body::Head(&head),
    };
    let header = Header::unstored("t", nothing.kind, 0, 0);
    let reference = ToolResultId::for_content(None, &Sha256::from_bytes([0; 32]));
    let reference = Ref::new(session.clone(), reference);
    chars_once_stored(&header, &reference, Reason::TurnBudget, &body, &look.options())
}

/// The stub of something that a retrieval tool read from what `receipt` stands for.
pub(crate) fn read_back_stub(receipt: &Receipt, part: ReadBack, look: Look<'_>) -> String {
    let header = Header::stored(receipt, Reason::SourceRead);
    render(&header, &Body::ReadBack(&receipt.metadata().synopsis, part), &look.options())
}

/// The stub of something stored, for a start of it that is read back where the style needs one.
pub(crate) fn stub_again(
    receipt: &Receipt,
    reason: Reason,
    start: Option<&[u8]>,
    look: Look<'_>,
) -> String {
    let metadata = receipt.metadata();
    let head = start.map(|start| {
        let preview_chars = i64::try_from(metadata.preview_chars).unwrap_or(i64::MAX);
        let (bytes, lines) = (metadata.original_bytes, metadata.line_count);
        Head::new(start, look.config.head_lines, preview_chars, bytes, lines)
    });
    let body = head.as_ref().map_or(Body::Synopsis(&metadata.synopsis), Body::Head);
    render(&Header::stored(receipt, reason), &body, &look.options())
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolstub_core::UserId;

    #[test]
    fn synopsis_of_less_preview_is_the_one_of_that_configuration() {
        let content: Bytes = (0..60_000_u32).map(|n| (n % 251) as u8).collect();
        let config = Config::default();
        let draft = Draft::new(&content, None, &config);
        assert_eq!(draft.detection.kind(), Kind::Unknown);
        for preview_chars in [2000, 1250, 1, 0, -5] {
            let other = Config { preview_chars, ..Config::default() };
            let direct = Draft::new(&content, None, &other).synopsis;
            assert_eq!(draft.synopsis(preview_chars), direct, "{preview_chars}");
        }
    }

    #[test]
    fn measured_stub_is_as_long_as_the_real_one_may_get() {
        let content = Bytes::from("steady lines of plain output\n".repeat(1000));
        let draft = Draft::new(&content, None, &Config::default());
        let session = SessionId::new("s").unwrap();
        let id = |sha256: Sha256| ToolResultId::for_content(Some("call_1"), &sha256);
        let reference = Ref::new(session.clone(), id(draft.original.sha256()));
        let placeholder = Ref::new(session, id(Sha256::from_bytes([0; 32])));
        let config = Config::default();
        let look = Look { config: &config, refs: &RefForm::Toolstub };
        let chars = |reference| draft.stub_chars("bash", reference, look);
        assert_eq!(chars(&reference), chars(&placeholder));
        assert!(chars(&reference) > 500);
        // The ref stands in the stub twice.
        let refs = RefForm::Viking { user: UserId::new("somebody").unwrap() };
        let longer = refs.uri(&reference).len() - reference.to_string().len();
        let look = Look { refs: &refs, ..look };
        let viking = draft.stub_chars("bash", &reference, look);
        assert_eq!(viking, chars(&reference) + 2 * longer as u64);
    }
}
