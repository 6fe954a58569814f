//! A content that is not at hand as a whole.

use std::convert::Infallible;
use std::ops::ControlFlow;

use toolstub_core::utf8;

/// A content that is read piece by piece, as often as it takes.
///
/// Where its pieces end makes no difference to what is detected. Every pass begins at its start or
/// near it and goes forward; some kinds look at a few places in between.
pub trait Content {
    /// What reading may fail with.
    type Error;

    /// The bytes from `at` on: as many as are at hand, none only at the end or beyond.
    ///
    /// # Errors
    /// Whatever the source of the content fails with; detection ends with it.
    fn piece(&mut self, at: u64) -> Result<&[u8], Self::Error>;
}

/// A content at hand: one piece.
impl Content for &[u8] {
    type Error = Infallible;

    fn piece(&mut self, at: u64) -> Result<&[u8], Infallible> {
        Ok(usize::try_from(at).ok().and_then(|at| self.get(at..)).unwrap_or_default())
    }
}

impl<C: Content + ?Sized> Content for &mut C {
    type Error = C::Error;

    fn piece(&mut self, at: u64) -> Result<&[u8], C::Error> {
        (**self).piece(at)
    }
}

/// How much of a piece is taken at a time by what goes over it more than once, in bytes: it stays
/// in the cache meanwhile.
pub(crate) const BLOCK: usize = 32 << 10;

/// Hands the pieces from `at` on to `take`, until it has enough: what it broke off with comes back.
pub(crate) fn each_piece<C: Content, B>(
    content: &mut C,
    mut at: u64,
    mut take: impl FnMut(&[u8]) -> ControlFlow<B>,
) -> Result<Option<B>, C::Error> {
    loop {
        let piece = content.piece(at)?;
        if piece.is_empty() {
            return Ok(None);
        }
        at += piece.len() as u64;
        if let ControlFlow::Break(enough) = take(piece) {
            return Ok(Some(enough));
        }
    }
}

/// [`each_piece`] to the end, in blocks of at most 32 KiB that cut no character.
pub(crate) fn each_block<C: Content>(
    content: &mut C,
    at: u64,
    mut take: impl FnMut(&[u8]),
) -> Result<(), C::Error> {
    let mut uncut = Uncut::default();
    each_piece(content, at, |piece| {
        uncut.feed(piece, &mut take);
        ControlFlow::<()>::Continue(())
    })?;
    uncut.finish(&mut take);
    Ok(())
}

/// At most `length` bytes from `at` on, in one.
pub(crate) fn window<C: Content>(
    content: &mut C,
    at: u64,
    length: usize,
) -> Result<Vec<u8>, C::Error> {
    let mut bytes = Vec::new();
    while bytes.len() < length {
        let piece = content.piece(at + bytes.len() as u64)?;
        if piece.is_empty() {
            break;
        }
        bytes.extend_from_slice(&piece[..piece.len().min(length - bytes.len())]);
    }
    Ok(bytes)
}

/// Where the first character stands, from `at` on, that `skips` does not hold of.
pub(crate) fn skip_chars<C: Content>(
    content: &mut C,
    at: u64,
    skips: impl Fn(char) -> bool,
) -> Result<u64, C::Error> {
    let mut place = at;
    let mut stopped = false;
    let mut count = |block: &[u8]| {
        for c in utf8::chars(block) {
            stopped |= !skips(c);
            if stopped {
                return ControlFlow::Break(());
            }
            place += c.len_utf8() as u64;
        }
        ControlFlow::Continue(())
    };
    let mut uncut = Uncut::default();
    let enough = each_piece(content, at, |piece| {
        let mut flow = ControlFlow::Continue(());
        uncut.feed(piece, &mut |block| {
            if flow.is_continue() {
                flow = count(block);
            }
        });
        flow
    })?;
    if enough.is_none() {
        uncut.finish(&mut |block| {
            let _ = count(block);
        });
    }
    Ok(place)
}

/// Where what is left ends once the white space at the end of `content` is taken away.
///
/// `tail` is the end of the content, which is `length` long.
pub(crate) fn end_of_text<C: Content>(
    content: &mut C,
    length: u64,
    tail: &[u8],
) -> Result<u64, C::Error> {
    let spaces = tail.len() - trimmed_len(tail);
    // What stands near the start of the tail may be cut.
    if tail.len() as u64 == length || spaces + 4 < tail.len() {
        return Ok(length - spaces as u64);
    }
    let (mut at, mut end) = (0, 0);
    each_block(content, 0, |block| {
        let kept = trimmed_len(block);
        if kept > 0 {
            end = at + kept as u64;
        }
        at += block.len() as u64;
    })?;
    Ok(end)
}

/// The length of `bytes` without the white space at their end.
pub(crate) fn trimmed_len(bytes: &[u8]) -> usize {
    // White space takes at most three bytes; a block of it is looked at whole, from the end.
    let mut end = bytes.len();
    while end > 0 {
        let mut start = end - 1;
        while start > 0 && end - start < 4 && utf8::is_continuation(bytes[start]) {
            start -= 1;
        }
        let last = std::str::from_utf8(&bytes[start..end]).ok();
        if !last.is_some_and(|last| last.chars().all(toolstub_core::text::is_white_space)) {
            break;
        }
        end = start;
    }
    end
}

/// Cuts pieces into blocks that cut no character: what a piece ends with in the middle of a
/// character is held back and joined to what follows it.
#[derive(Debug, Default)]
pub(crate) struct Uncut {
    held: [u8; 4],
    length: usize,
}

impl Uncut {
    pub(crate) fn feed(&mut self, mut piece: &[u8], take: &mut impl FnMut(&[u8])) {
        while self.length > 0 {
            let Some((&byte, rest)) = piece.split_first() else { return };
            if self.length == self.held.len() || !utf8::is_continuation(byte) {
                self.release(take);
                break;
            }
            self.held[self.length] = byte;
            self.length += 1;
            piece = rest;
        }
        while !piece.is_empty() {
            let (block, rest) = piece.split_at(block_len(piece));
            if block.is_empty() {
                self.held[..rest.len()].copy_from_slice(rest);
                self.length = rest.len();
                return;
            }
            take(block);
            piece = rest;
        }
    }

    pub(crate) fn finish(mut self, take: &mut impl FnMut(&[u8])) {
        if self.length > 0 {
            self.release(take);
        }
    }

    fn release(&mut self, take: &mut impl FnMut(&[u8])) {
        take(&self.held[..self.length]);
        self.length = 0;
    }
}

/// The length of the next block, ending where no character can be cut; 0 if all that is left may
/// be the start of one.
fn block_len(rest: &[u8]) -> usize {
    let end = rest.len().min(BLOCK);
    // A sequence has at most four bytes: a lead byte among the last three may begin one that the
    // block would cut. Moving it to the next block is right whether it is well-formed or not.
    let lead = (end.saturating_sub(3)..end).rev().find(|&at| !utf8::is_continuation(rest[at]));
    lead.filter(|&at| rest[at] >= 0x80).unwrap_or(end)
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A content in pieces of given sizes, which come round again; zero counts as one.
    #[derive(Debug)]
    pub(crate) struct Pieces<'a> {
        bytes: &'a [u8],
        sizes: &'a [usize],
        next: usize,
    }

    impl<'a> Pieces<'a> {
        pub(crate) fn new(bytes: &'a [u8], sizes: &'a [usize]) -> Self {
            Self { bytes, sizes, next: 0 }
        }
    }

    impl Content for Pieces<'_> {
        type Error = Infallible;

        fn piece(&mut self, at: u64) -> Result<&[u8], Infallible> {
            let size = self.sizes[self.next % self.sizes.len()].max(1);
            self.next += 1;
            let rest = self.bytes.get(at as usize..).unwrap_or_default();
            Ok(&rest[..rest.len().min(size)])
        }
    }

    fn odd_text() -> impl Strategy<Value = Vec<u8>> {
        let part = prop_oneof![
            "[ \n\u{3000}\u{85}xé漢🎯]{0,4}".prop_map(String::into_bytes),
            prop::collection::vec(any::<u8>(), 0..4),
        ];
        prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn no_character_is_cut(bytes in odd_text(), sizes in prop::collection::vec(1_usize..6, 1..4)) {
            let mut chars = String::new();
            let mut joined = Vec::new();
            let Ok(()) = each_block(&mut Pieces::new(&bytes, &sizes), 0, |block| {
                chars.extend(utf8::chars(block));
                joined.extend_from_slice(block);
            });
            prop_assert_eq!(&joined, &bytes);
            prop_assert_eq!(chars, String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn white_space_at_both_ends_is_found(
            bytes in odd_text(),
            sizes in prop::collection::vec(1_usize..6, 1..4),
            kept in 0_usize..20,
        ) {
            let space = toolstub_core::text::is_white_space;
            let Ok(start) = skip_chars(&mut Pieces::new(&bytes, &sizes), 0, space);
            let expected: usize =
                utf8::chars(&bytes).take_while(|&c| space(c)).map(char::len_utf8).sum();
            prop_assert_eq!(start, expected as u64);
            let tail = &bytes[bytes.len().saturating_sub(kept)..];
            let length = bytes.len() as u64;
            let Ok(end) = end_of_text(&mut Pieces::new(&bytes, &sizes), length, tail);
            prop_assert_eq!(end, trimmed_len(&bytes) as u64);
        }
    }
}
