//! A content, measured once.

use bytes::Bytes;
use sha2::Digest as _;
use toolstub_core::{Sha256, ToolResultId};

use crate::chars;
use crate::index::{BLOCK, BlockIndex, IndexBuilder};

/// The most bytes of a result that are kept where nobody says otherwise: 1 GiB.
pub const DEFAULT_HARD_CAP: u64 = 1 << 30;

/// The content of a tool result as it will be kept: cut at the hard cap, hashed, counted, indexed.
///
/// Make it before the synopsis, which must describe what is kept; then write it. The content is
/// gone over once.
///
/// ```
/// use toolstub_store::Original;
///
/// let original = Original::new("naïve", 4);
/// assert_eq!(original.bytes(), "naï".as_bytes());
/// assert_eq!((original.chars(), original.not_stored_bytes()), (3, 2));
/// // A character is never cut.
/// assert_eq!(Original::new("naïve", 3).bytes(), "na".as_bytes());
/// ```
#[derive(Debug, Clone)]
pub struct Original {
    bytes: Bytes,
    not_stored_bytes: u64,
    sha256: Sha256,
    lines: u64,
    index: BlockIndex,
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
        // Block by block, so that each measure after the first finds its bytes in the cache.
        let mut hasher = sha2::Sha256::new();
        let mut builder = IndexBuilder::default();
        for block in bytes.chunks(BLOCK) {
            hasher.update(block);
            builder.update(block);
        }
        let index = builder.finish();
        let open_line = bytes.last().is_some_and(|&byte| byte != b'\n');
        Self {
            not_stored_bytes: given - bytes.len() as u64,
            sha256: Sha256::from_bytes(hasher.finalize().into()),
            lines: index.line_feeds() + u64::from(open_line),
            index,
            bytes,
        }
    }

    /// States that `unread` further bytes followed the content, too far over the hard cap to be
    /// worth holding.
    #[must_use]
    pub fn followed_by(mut self, unread: u64) -> Self {
        self.not_stored_bytes += unread;
        self
    }

    /// The bytes that are kept.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// How many bytes are over the hard cap and not kept.
    pub fn not_stored_bytes(&self) -> u64 {
        self.not_stored_bytes
    }

    /// The SHA-256 of what is kept.
    pub fn sha256(&self) -> Sha256 {
        self.sha256
    }

    /// The characters of what is kept.
    pub fn chars(&self) -> u64 {
        self.index.chars()
    }

    /// The lines of what is kept.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// The id under which a tool call's result with this content is kept.
    pub fn id(&self, tool_id: &str) -> ToolResultId {
        ToolResultId::for_content(Some(tool_id), &self.sha256)
    }

    pub(crate) fn index(&self) -> &BlockIndex {
        &self.index
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
            assert_eq!(original.bytes().len(), kept, "{cap}");
            assert_eq!(original.not_stored_bytes(), (all.len() - kept) as u64);
        }
        // Stray continuation bytes are characters of their own.
        assert_eq!(Original::new(&b"\x80\x80\x80\x80\x80"[..], 4).bytes().len(), 4);
    }
}
