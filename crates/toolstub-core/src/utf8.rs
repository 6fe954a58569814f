//! Characters in bytes that may not be UTF-8.
//!
//! A character is a code point; where bytes are not UTF-8, each maximal ill-formed sequence is one
//! character and reads as U+FFFD, as in the Unicode standard's recommended practice.

/// Counts the characters of `bytes`.
///
/// ```
/// assert_eq!(toolstub_core::utf8::count_chars("é€".as_bytes()), 2);
/// assert_eq!(toolstub_core::utf8::count_chars(b"a\xff\xe2\x82z"), 4);
/// ```
pub fn count_chars(bytes: &[u8]) -> u64 {
    // Far faster than to go from chunk to chunk, and most bytes are text.
    if let Ok(text) = std::str::from_utf8(bytes) {
        return count_starts(text.as_bytes());
    }
    let count = |chunk: std::str::Utf8Chunk<'_>| {
        count_starts(chunk.valid().as_bytes()) + u64::from(!chunk.invalid().is_empty())
    };
    bytes.utf8_chunks().map(count).sum()
}

/// Counts the bytes that are not UTF-8 continuation bytes: the code points of valid UTF-8.
pub fn count_starts(bytes: &[u8]) -> u64 {
    // Lanes of u8 keep the loop vectorized; 255 steps are the most that they can count.
    let mut total = 0;
    for block in bytes.chunks(255 * 32) {
        let mut lanes = [0u8; 32];
        let mut pieces = block.chunks_exact(32);
        for piece in &mut pieces {
            for (lane, &byte) in lanes.iter_mut().zip(piece) {
                *lane += u8::from(!is_continuation(byte));
            }
        }
        total += lanes.iter().map(|&lane| u64::from(lane)).sum::<u64>();
        total += pieces.remainder().iter().filter(|&&byte| !is_continuation(byte)).count() as u64;
    }
    total
}

/// Whether a byte continues a UTF-8 sequence.
pub fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// The characters of `bytes`, each ill-formed sequence as U+FFFD.
pub fn chars(bytes: &[u8]) -> impl Iterator<Item = char> + '_ {
    bytes.utf8_chunks().flat_map(|chunk| {
        let bad = (!chunk.invalid().is_empty()).then_some(char::REPLACEMENT_CHARACTER);
        chunk.valid().chars().chain(bad)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_agree_with_lossy_decoding() {
        let mut bytes = Vec::new();
        for i in 0..70_000_u32 {
            bytes.extend_from_slice("añ漢🎯".as_bytes());
            if i % 7 == 0 {
                bytes.extend_from_slice(&[0xf0, 0x9f, 0x8e, b'x', 0xff, 0xc3]);
            }
        }
        let lossy = String::from_utf8_lossy(&bytes);
        assert_eq!(count_chars(&bytes), lossy.chars().count() as u64);
        assert!(chars(&bytes).eq(lossy.chars()));
    }
}
