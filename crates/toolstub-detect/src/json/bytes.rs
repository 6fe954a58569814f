//! Passing over plain bytes, eight at a time.

const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);

/// What ends a run of plain string bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plain {
    Quote,
    Backslash,
    Control,
    End,
}

/// The next byte at or after `i` that is not plain inside a string.
#[inline]
pub(super) fn skip_plain(bytes: &[u8], mut i: usize) -> (usize, Plain) {
    while let Some(block) = bytes.get(i..).and_then(<[u8]>::first_chunk::<8>) {
        let special = special(u64::from_le_bytes(*block));
        if special != 0 {
            i += special.trailing_zeros() as usize / 8;
            return (i, kind(bytes[i]));
        }
        i += 8;
    }
    while let Some(&byte) = bytes.get(i) {
        if byte == b'"' || byte == b'\\' || byte < 0x20 {
            return (i, kind(byte));
        }
        i += 1;
    }
    (i, Plain::End)
}

fn kind(byte: u8) -> Plain {
    match byte {
        b'"' => Plain::Quote,
        b'\\' => Plain::Backslash,
        _ => Plain::Control,
    }
}

/// Marks the high bit of each byte that is a quote, a backslash or below 0x20. Bytes above the
/// first marked one may be marked falsely: a borrow runs upwards.
fn special(word: u64) -> u64 {
    let zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let control = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
    zero(word ^ (ONES * u64::from(b'"'))) | zero(word ^ (ONES * u64::from(b'\\'))) | control
}

/// The next byte at or after `i` that is not JSON white space.
#[inline]
pub(super) fn skip_white_space(bytes: &[u8], mut i: usize) -> usize {
    if bytes.get(i).is_some_and(|&byte| byte > b' ') {
        return i;
    }
    loop {
        match bytes.get(i) {
            Some(b' ') => {
                // Indentation comes in long runs.
                i += 1;
                while let Some(block) = bytes.get(i..).and_then(<[u8]>::first_chunk::<8>) {
                    let other = u64::from_le_bytes(*block) ^ (ONES * u64::from(b' '));
                    if other != 0 {
                        i += other.trailing_zeros() as usize / 8;
                        break;
                    }
                    i += 8;
                }
            }
            Some(b'\n' | b'\r' | b'\t') => i += 1,
            _ => return i,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_runs_end_at_every_special_byte() {
        for special in [b'"', b'\\', 0x00, 0x1f, b'\n'] {
            for before in 0..20 {
                let mut bytes = vec![b'~'; before];
                bytes.push(special);
                bytes.extend([0xff, 0x7f, 0x21, 0x23, b'[', b']', 0x20, 0x80, 0xa2]);
                assert_eq!(skip_plain(&bytes, 0), (before, kind(special)));
            }
        }
        let plain = [0x20, 0x21, 0x23, 0x5b, 0x5d, 0x7f, 0x80, 0xa2, 0xdc, 0x9f, 0xff];
        assert_eq!(skip_plain(&plain.repeat(3), 0), (33, Plain::End));
    }

    #[test]
    fn white_space_runs_end_at_every_other_byte() {
        for length in 0..40 {
            let space = b" \n\t\r   ".iter().copied().cycle().take(length);
            for other in [b'x', 0x0b, 0x00, 0xa0] {
                let bytes: Vec<u8> = space.clone().chain([other]).collect();
                assert_eq!(skip_white_space(&bytes, 0), length);
            }
            let bytes: Vec<u8> = space.collect();
            assert_eq!(skip_white_space(&bytes, 0), length);
        }
    }
}
