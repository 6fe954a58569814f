//! What an object is to hold.

use std::ops::Range;

use bytes::Bytes;

use super::{BackendError, Spool};

/// What an object is to hold: bytes at hand, or a spool that a stream went into.
///
/// A clone shares the content.
#[derive(Debug, Clone)]
pub enum Body {
    /// Bytes at hand.
    Bytes(Bytes),
    /// A spool: read it in parts, or move it to where the object stands.
    Spool(Spool),
}

impl Body {
    /// The size in bytes.
    pub fn size(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Spool(spool) => spool.size(),
        }
    }

    /// A range, as much of it as there is.
    pub async fn read(&self, range: Range<u64>) -> Result<Bytes, BackendError> {
        match self {
            Self::Bytes(bytes) => Ok(part(bytes, range)),
            Self::Spool(spool) => spool.read(range).await,
        }
    }

    /// The whole, in memory.
    pub async fn bytes(&self) -> Result<Bytes, BackendError> {
        self.read(0..self.size()).await
    }

    /// Fills a buffer with the bytes from `at` on, as far as there are any, and says how many.
    ///
    /// This waits for the disk where the content is a file: call it where that stops nobody.
    pub fn read_at(&self, at: u64, buffer: &mut [u8]) -> Result<usize, BackendError> {
        match self {
            Self::Bytes(bytes) => {
                let rest = bytes.get(usize::try_from(at).unwrap_or(usize::MAX)..).unwrap_or(&[]);
                let length = rest.len().min(buffer.len());
                buffer[..length].copy_from_slice(&rest[..length]);
                Ok(length)
            }
            Self::Spool(spool) => spool.read_at(at, buffer),
        }
    }
}

/// A range of bytes at hand, as much of it as there is.
pub(super) fn part(bytes: &Bytes, range: Range<u64>) -> Bytes {
    let end = range.end.min(bytes.len() as u64);
    bytes.slice(range.start.min(end) as usize..end as usize)
}

impl<T: Into<Bytes>> From<T> for Body {
    fn from(bytes: T) -> Self {
        Self::Bytes(bytes.into())
    }
}
