//! The bytes of an object.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

/// The bytes of an object, at hand or by the way they are made.
#[derive(Debug, Clone)]
pub(super) enum Content {
    /// At hand.
    Plain(Bytes),
    /// A unit so many times, then a tail: a gigabyte that takes no memory.
    Repeated {
        /// What is repeated; not empty.
        unit: Bytes,
        /// How often.
        times: usize,
        /// What comes at the end.
        tail: Bytes,
    },
}

impl Content {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Plain(bytes) => bytes.len(),
            Self::Repeated { unit, times, tail } => unit.len() * times + tail.len(),
        }
    }

    /// The bytes of a range within the content.
    pub(super) fn slice(&self, range: Range<usize>) -> Bytes {
        let (unit, times, tail) = match self {
            Self::Plain(bytes) => return bytes.slice(range),
            Self::Repeated { unit, times, tail } => (unit, *times, tail),
        };
        let tail_at = unit.len() * times;
        if range.start >= tail_at {
            return tail.slice(range.start - tail_at..range.end - tail_at);
        }
        let mut bytes = BytesMut::with_capacity(range.len());
        let mut at = range.start;
        while at < range.end {
            let left = range.end - at;
            let piece = if at < tail_at { &unit[at % unit.len()..] } else { &tail[at - tail_at..] };
            let piece = &piece[..piece.len().min(left)];
            bytes.extend_from_slice(piece);
            at += piece.len();
        }
        bytes.freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_content_is_as_if_it_were_written_out() {
        let (unit, tail) = (Bytes::from("abc"), Bytes::from("xy"));
        let content = Content::Repeated { unit, times: 3, tail };
        let written_out = b"abcabcabcxy";
        assert_eq!(content.len(), written_out.len());
        for start in 0..=written_out.len() {
            for end in start..=written_out.len() {
                assert_eq!(content.slice(start..end), written_out[start..end], "{start}..{end}");
            }
        }
    }
}
