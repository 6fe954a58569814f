//! The block index: what leads from a character or a line to the bytes that hold it.
//!
//! For each 64 KiB of an original it keeps the characters that begin there, the line feeds and a
//! CRC-32C. Packed it is little-endian in base64: a u16 (65,536 less the characters), a u32 (the
//! line feeds), a u32 (the checksum). Where every byte is a character, the u16 is left out.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::chars::{self, CharCounter};
use toolstub_core::utf8;

/// The size of a block, in bytes.
pub(crate) const BLOCK: usize = 65_536;

/// What is known of one block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Block {
    /// The characters that begin in it.
    pub(crate) chars: u32,
    /// Its line feeds.
    pub(crate) line_feeds: u32,
    /// Its CRC-32C.
    pub(crate) crc: u32,
}

/// The blocks of an original, with the sums up to each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BlockIndex {
    blocks: Vec<Block>,
    bytes: u64,
    /// The characters before each block, and in all.
    chars_before: Vec<u64>,
    /// The line feeds before each block, and in all.
    line_feeds_before: Vec<u64>,
}

impl BlockIndex {
    fn new(blocks: Vec<Block>, bytes: u64) -> Self {
        let sums = |count: fn(&Block) -> u32| {
            let mut sum = 0;
            let before = blocks.iter().map(|block| {
                sum += u64::from(count(block));
                sum
            });
            std::iter::once(0).chain(before).collect::<Vec<u64>>()
        };
        let chars_before = sums(|block| block.chars);
        let line_feeds_before = sums(|block| block.line_feeds);
        Self { blocks, bytes, chars_before, line_feeds_before }
    }

    /// The original's size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The original's characters.
    pub(crate) fn chars(&self) -> u64 {
        self.chars_before.last().copied().unwrap_or(0)
    }

    /// The original's line feeds.
    pub(crate) fn line_feeds(&self) -> u64 {
        self.line_feeds_before.last().copied().unwrap_or(0)
    }

    /// How many blocks there are.
    pub(crate) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// What is known of a block that is there.
    pub(crate) fn block(&self, block: usize) -> Block {
        self.blocks[block]
    }

    /// The characters that begin before a block.
    pub(crate) fn chars_before(&self, block: usize) -> u64 {
        self.chars_before[block]
    }

    /// The line feeds before a block.
    pub(crate) fn line_feeds_before(&self, block: usize) -> u64 {
        self.line_feeds_before[block]
    }

    /// The block in which the character of this number begins; there is one.
    pub(crate) fn block_of_char(&self, number: u64) -> usize {
        self.chars_before.partition_point(|&before| before <= number) - 1
    }

    /// The block that holds the line feed of this number, counted from 1; there is one.
    pub(crate) fn block_of_line_feed(&self, number: u64) -> usize {
        self.line_feeds_before.partition_point(|&before| before < number) - 1
    }

    /// Whether every byte is a character of its own.
    pub(crate) fn is_byte_per_char(&self) -> bool {
        self.chars() == self.bytes
    }

    /// How many bytes at the start of a block belong to a character that begins before it.
    ///
    /// Taken by itself, each of them counts as a character; so the surplus over the index is their
    /// number. `None` if the bytes cannot be those that the index was made of.
    pub(crate) fn spill(&self, block: usize, bytes: &[u8]) -> Option<usize> {
        if self.is_byte_per_char() {
            return Some(0);
        }
        let alone = utf8::count_chars(bytes);
        let spill = alone.checked_sub(u64::from(self.blocks[block].chars))? as usize;
        let continues = spill < chars::MAX_CHAR
            && bytes.iter().take(spill).all(|&byte| utf8::is_continuation(byte));
        continues.then_some(spill)
    }

    /// The index as it stands in a record.
    pub(crate) fn pack(&self) -> String {
        let lean = self.is_byte_per_char();
        let mut packed = Vec::with_capacity(self.blocks.len() * entry_len(lean));
        for block in &self.blocks {
            if !lean {
                // A short last block may hold no start; it wraps to 0, which only a full block
                // can mean otherwise.
                let other_bytes = (BLOCK as u32).wrapping_sub(block.chars) as u16;
                packed.extend_from_slice(&other_bytes.to_le_bytes());
            }
            packed.extend_from_slice(&block.line_feeds.to_le_bytes());
            packed.extend_from_slice(&block.crc.to_le_bytes());
        }
        BASE64.encode(packed)
    }

    /// Reads an index back; `None` unless it fits the original's size and characters.
    pub(crate) fn unpack(packed: &str, bytes: u64, chars: u64) -> Option<Self> {
        let packed = BASE64.decode(packed).ok()?;
        let count = usize::try_from(bytes.div_ceil(BLOCK as u64)).ok()?;
        let lean = packed.len() == count.checked_mul(entry_len(true))?;
        if packed.len() != count.checked_mul(entry_len(lean))? || (lean && chars != bytes) {
            return None;
        }
        let entries = packed.chunks_exact(entry_len(lean)).enumerate();
        let blocks = entries.map(|(number, entry)| {
            let size = (bytes - number as u64 * BLOCK as u64).min(BLOCK as u64) as u32;
            let (chars, rest) = match entry {
                [low, high, rest @ ..] if !lean => {
                    let chars = BLOCK as u32 - u32::from(u16::from_le_bytes([*low, *high]));
                    (if chars > size { 0 } else { chars }, rest)
                }
                _ => (size, entry),
            };
            let word = |at: usize| {
                let bytes = rest.get(at..at + 4)?.try_into().ok()?;
                Some(u32::from_le_bytes(bytes))
            };
            Some(Block { chars, line_feeds: word(0)?, crc: word(4)? })
        });
        let index = Self::new(blocks.collect::<Option<_>>()?, bytes);
        (index.chars() == chars).then_some(index)
    }
}

/// The size of a packed entry, in bytes.
fn entry_len(lean: bool) -> usize {
    if lean { 8 } else { 10 }
}

/// Builds an index from pieces of any size, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct IndexBuilder {
    blocks: Vec<Block>,
    open: Block,
    open_len: usize,
    chars: CharCounter,
}

impl IndexBuilder {
    /// Takes the next piece.
    pub(crate) fn update(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() {
            let room = BLOCK - self.open_len;
            let (here, rest) = piece.split_at(piece.len().min(room));
            self.open.chars += self.chars.count(here) as u32;
            self.open.line_feeds += memchr::memchr_iter(b'\n', here).count() as u32;
            self.open.crc = crc32c::crc32c_append(self.open.crc, here);
            self.open_len += here.len();
            if self.open_len == BLOCK {
                self.blocks.push(std::mem::take(&mut self.open));
                self.open_len = 0;
            }
            piece = rest;
        }
    }

    /// The index of all that was taken.
    pub(crate) fn finish(mut self) -> BlockIndex {
        let bytes = self.blocks.len() as u64 * BLOCK as u64 + self.open_len as u64;
        if self.open_len > 0 {
            self.blocks.push(self.open);
        }
        BlockIndex::new(self.blocks, bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn index_of(bytes: &[u8], piece: usize) -> BlockIndex {
        let mut builder = IndexBuilder::default();
        bytes.chunks(piece).for_each(|piece| builder.update(piece));
        builder.finish()
    }

    #[track_caller]
    fn packs(bytes: &[u8], entry: usize) {
        let index = index_of(bytes, 1000);
        let packed = index.pack();
        assert_eq!(BASE64.decode(&packed).unwrap().len(), index.len() * entry);
        let chars = String::from_utf8_lossy(bytes).chars().count() as u64;
        assert_eq!(BlockIndex::unpack(&packed, bytes.len() as u64, chars), Some(index));
    }

    #[test]
    fn characters_stand_in_the_index_only_where_they_differ_from_bytes() {
        packs(b"", 8);
        packs(&b"a".repeat(BLOCK), 8);
        packs(&b"a".repeat(BLOCK + 1), 8);
        packs(&[0xff; 10], 8);
        packs("é".repeat(BLOCK).as_bytes(), 10);
    }

    #[test]
    fn a_last_block_may_hold_no_start() {
        let mut bytes = vec![b'a'; BLOCK - 1];
        bytes.extend_from_slice("🎯".as_bytes());
        packs(&bytes, 10);
        let index = index_of(&bytes, 7);
        assert_eq!(index.block(1).chars, 0);
        assert_eq!(index.spill(1, &bytes[BLOCK..]), Some(3));
    }

    #[test]
    fn an_index_that_does_not_fit_is_refused() {
        let packed = index_of("é".repeat(BLOCK).as_bytes(), BLOCK).pack();
        let bytes = 2 * BLOCK as u64;
        assert!(BlockIndex::unpack(&packed, bytes, BLOCK as u64).is_some());
        assert!(BlockIndex::unpack(&packed, bytes, BLOCK as u64 + 1).is_none());
        assert!(BlockIndex::unpack(&packed, bytes + 1, BLOCK as u64).is_none());
        assert!(BlockIndex::unpack(&packed, u64::MAX, BLOCK as u64).is_none());
        assert!(BlockIndex::unpack("*", bytes, BLOCK as u64).is_none());
        assert!(BlockIndex::unpack("", 0, 0).is_some());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_index_agrees_with_lossy_decoding(
            shift in BLOCK - 6..BLOCK + 2,
            tail in prop::collection::vec(prop::sample::select(vec![
                b'a', b'\n', 0x80, 0xbf, 0xc3, 0xe2, 0x82, 0xf0, 0x9f, 0x8e, 0xed, 0xa0, 0xff,
            ]), 0..40),
            piece in 1_usize..9,
        ) {
            let mut bytes = vec![b'x'; shift];
            bytes.extend_from_slice(&tail);
            let index = index_of(&bytes, piece * 1021);
            prop_assert_eq!(index.chars(), String::from_utf8_lossy(&bytes).chars().count() as u64);
            let line_feeds = String::from_utf8_lossy(&bytes).matches('\n').count();
            prop_assert_eq!(index.line_feeds(), line_feeds as u64);
            for (number, block) in bytes.chunks(BLOCK).enumerate() {
                prop_assert_eq!(index.block(number).crc, crc32c::crc32c(block));
                let spill = index.spill(number, block).unwrap();
                let before = number * BLOCK + spill;
                prop_assert_eq!(utf8::count_chars(&bytes[..before]), index.chars_before(number));
            }
        }
    }
}
