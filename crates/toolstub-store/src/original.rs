//! A content, measured once.

use bytes::Bytes;
use sha2::Digest as _;
use toolstub_core::{Sha256, ToolResultId};

use crate::index::{BLOCK, BlockIndex, IndexBuilder};
use crate::{Body, chars};

/// The most bytes of a result that are kept where nobody says otherwise: 1 GiB.
pub const DEFAULT_HARD_CAP: u64 = 1 << 30;

/// The content of a tool result as it will be kept: cut at the hard cap, hashed, counted, indexed.
///
/// Make it before the synopsis, which must describe what is kept; then write it. The content is
/// gone over once. Of a content that is not at hand whole,
/// [`ResultStore::intake`](crate::ResultStore::intake) makes one.
///
/// ```
/// use toolstub_store::Original;
///
/// let original = Original::new("naïve", 4);
/// assert_eq!(original.size(), 4);
/// assert_eq!((original.chars(), original.not_stored_bytes()), (3, 2));
/// // A character is never cut.
/// assert_eq!(Original::new("naïve", 3).size(), 2);
/// ```
#[derive(Debug, Clone)]
pub struct Original {
    body: Body,
    not_stored_bytes: u64,
    measured: Measured,
}

impl Original {
    /// Measures a content, of which at most `hard_cap` bytes are kept.
    pub fn new(content: impl Into<Bytes>, hard_cap: u64) -> Self {
        let mut bytes = content.into();
        let given = bytes.len() as u64;
        if given > hard_cap {
            let cut = chars::floor(&bytes, hard_cap as usize);
            bytes.truncate(cut);
        }
        let mut measure = Measure::default();
        measure.update(&bytes);
        let not_stored_bytes = given - bytes.len() as u64;
        Self::measured(bytes.into(), measure, not_stored_bytes)
    }

    pub(crate) fn measured(body: Body, measure: Measure, not_stored_bytes: u64) -> Self {
        Self { body, not_stored_bytes, measured: measure.finish() }
    }

    /// What is kept: bytes at hand, or a spool.
    ///
    /// Nothing here knows of detection. A program that takes `toolstub-summarize` as well has it read a
    /// body by an adapter of its own, to be copied, and calls
    /// `describe(&mut Pieces(original.body(), Vec::new()), mime, preview_chars)`:
    ///
    /// ```
    /// # trait Content {
    /// #     type Error;
    /// #     fn piece(&mut self, at: u64) -> Result<&[u8], Self::Error>;
    /// # }
    /// // use toolstub_detect::Content;
    /// use toolstub_store::{BackendError, Body};
    ///
    /// struct Pieces<'a>(&'a Body, Vec<u8>);
    ///
    /// impl Content for Pieces<'_> {
    ///     type Error = BackendError;
    ///
    ///     fn piece(&mut self, at: u64) -> Result<&[u8], BackendError> {
    ///         let Self(body, buffer) = self;
    ///         buffer.resize(256 << 10, 0);
    ///         let length = body.read_at(at, buffer)?;
    ///         Ok(&buffer[..length])
    ///     }
    /// }
    /// # let original = toolstub_store::Original::new("one\ntwo\n", 5);
    /// # assert_eq!(Pieces(original.body(), Vec::new()).piece(4)?, b"t");
    /// # Ok::<(), BackendError>(())
    /// ```
    ///
    /// It waits for the disk where the body is a file.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// The bytes that are kept.
    pub fn size(&self) -> u64 {
        self.body.size()
    }

    /// How many bytes are over the hard cap and not kept.
    pub fn not_stored_bytes(&self) -> u64 {
        self.not_stored_bytes
    }

    /// The SHA-256 of what is kept.
    pub fn sha256(&self) -> Sha256 {
        self.measured.sha256
    }

    /// The characters of what is kept.
    pub fn chars(&self) -> u64 {
        self.measured.index.chars()
    }

    /// The lines of what is kept.
    pub fn lines(&self) -> u64 {
        self.measured.lines
    }

    /// The id under which a tool call's result with this content is kept.
    pub fn id(&self, tool_id: &str) -> ToolResultId {
        ToolResultId::for_content(Some(tool_id), &self.measured.sha256)
    }

    pub(crate) fn index(&self) -> &BlockIndex {
        &self.measured.index
    }
}

/// What is measured while a content goes by.
#[derive(Debug, Default)]
pub(crate) struct Measure {
    hasher: sha2::Sha256,
    index: IndexBuilder,
    last: Option<u8>,
}

#[derive(Debug, Clone)]
struct Measured {
    sha256: Sha256,
    lines: u64,
    index: BlockIndex,
}

impl Measure {
    /// Takes the next piece.
    pub(crate) fn update(&mut self, piece: &[u8]) {
        // Block by block, so that each measure after the first finds its bytes in the cache.
        for block in piece.chunks(BLOCK) {
            self.hasher.update(block);
            self.index.update(block);
        }
        self.last = piece.last().copied().or(self.last);
    }

    fn finish(self) -> Measured {
        let index = self.index.finish();
        let open_line = self.last.is_some_and(|byte| byte != b'\n');
        Measured {
            sha256: Sha256::from_bytes(self.hasher.finalize().into()),
            lines: index.line_feeds() + u64::from(open_line),
            index,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_describe_what_is_kept() {
        let original = Original::new("a\nb\r\nc", DEFAULT_HARD_CAP);
        assert_eq!((original.chars(), original.lines(), original.not_stored_bytes()), (6, 3, 0));
        assert_eq!(
            original.sha256().to_string(),
            "fb129fc5b78b4080d40235bfb262c2d82b390e034a0c58adbc06e61ce1e717b9"
        );
        assert_eq!(Original::new("a\n", 1).lines(), 1);
        assert_eq!(Original::new("", DEFAULT_HARD_CAP).lines(), 0);
    }

    #[test]
    fn the_cut_falls_between_characters() {
        let all = "a漢\u{80}".as_bytes();
        for (cap, kept) in [(0, 0), (1, 1), (2, 1), (3, 1), (4, 4), (5, 4), (6, 6), (9, 6)] {
            let original = Original::new(all, cap);
            assert_eq!(original.size(), kept, "{cap}");
            assert_eq!(original.not_stored_bytes(), all.len() as u64 - kept);
        }
        // Stray continuation bytes are characters of their own.
        assert_eq!(Original::new(&b"\x80\x80\x80\x80\x80"[..], 4).size(), 4);
    }
}
