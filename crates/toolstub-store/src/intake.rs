//! Taking in a stream: measured on the way, held in bounded memory.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::chars::{self, MAX_CHAR};
use crate::original::Measure;
use crate::{Backend, BackendError, Body, Original, ResultStore, SpoolWriter, StoreError};

/// What is larger goes into a spool.
const HELD: usize = 8 << 20;
/// How much is gathered before it is measured and written down.
const PIECE: usize = 256 << 10;
/// The last bytes of a content, among which the cut of the hard cap falls.
const TAIL: usize = 4 * MAX_CHAR;

/// A content on its way into a store, piece by piece.
///
/// Up to 8 MiB are held in memory; what is larger goes into a spool of the backend's. What was
/// taken in is gone when this is dropped unfinished. [`Original::body`] shows how it is read back to
/// be described.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// use std::sync::Arc;
/// use toolstub_store::{DEFAULT_HARD_CAP, MemoryBackend, ResultStore};
///
/// let store = ResultStore::new(Arc::new(MemoryBackend::new()));
/// let mut intake = store.intake(DEFAULT_HARD_CAP);
/// for piece in ["one\n", "two\n"] {
///     intake.push(piece.as_bytes()).await?;
/// }
/// let original = intake.finish().await?;
/// assert_eq!((original.size(), original.lines()), (8, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Intake {
    /// Whose spools are used; without one, a file in the folder for temporary files.
    backend: Option<Arc<dyn Backend>>,
    hard_cap: u64,
    measure: Measure,
    /// Measured, and not yet in the spool.
    held: BytesMut,
    spool: Option<SpoolWriter>,
    /// Not measured yet: at least the last bytes of what was taken so far.
    fresh: BytesMut,
    /// What was measured, in bytes.
    measured: u64,
    /// What was given and is certainly over the cap.
    dropped: u64,
    /// Whether a piece was measured and has not been kept: a failure, or a push that was given up.
    broken: bool,
}

impl ResultStore {
    /// Begins to take in a content, of which at most `hard_cap` bytes are kept.
    pub fn intake(&self, hard_cap: u64) -> Intake {
        Intake { backend: Some(Arc::clone(&self.backend)), ..Intake::unstored(hard_cap) }
    }

    /// Takes in all that a reader gives.
    ///
    /// An error of the reader is a [`StoreError::Input`].
    pub async fn take_in(
        &self,
        mut reader: impl AsyncRead + Unpin,
        hard_cap: u64,
    ) -> Result<Original, StoreError> {
        let mut intake = self.intake(hard_cap);
        let mut buffer = vec![0; PIECE];
        loop {
            match reader.read(&mut buffer).await.map_err(StoreError::Input)? {
                0 => return intake.finish().await,
                length => intake.push(&buffer[..length]).await?,
            }
        }
    }
}

impl Intake {
    /// Begins to take in a content that is only to be measured and described.
    ///
    /// It can be stored as well; a spool is then copied.
    pub fn unstored(hard_cap: u64) -> Self {
        Self {
            backend: None,
            hard_cap,
            measure: Measure::default(),
            held: BytesMut::new(),
            spool: None,
            fresh: BytesMut::new(),
            measured: 0,
            dropped: 0,
            broken: false,
        }
    }

    /// Takes the next piece. What is over the hard cap is only counted.
    ///
    /// After a failure, or where the future was dropped, nothing more is taken: begin again.
    pub async fn push(&mut self, mut piece: &[u8]) -> Result<(), StoreError> {
        // A character that the cap would cut must be seen to its end.
        let most = self.hard_cap.saturating_add(MAX_CHAR as u64);
        while !piece.is_empty() {
            let room = most - self.measured - self.fresh.len() as u64;
            let here = piece.len().min(PIECE).min(usize::try_from(room).unwrap_or(usize::MAX));
            if here == 0 {
                self.dropped += piece.len() as u64;
                return Ok(());
            }
            self.fresh.extend_from_slice(&piece[..here]);
            piece = &piece[here..];
            if self.fresh.len() >= PIECE + TAIL {
                let ready = self.fresh.len() - TAIL;
                self.keep(ready).await?;
            }
        }
        Ok(())
    }

    /// Ends the content.
    pub async fn finish(mut self) -> Result<Original, StoreError> {
        let room = self.hard_cap - self.measured;
        let last = chars::floor(&self.fresh, usize::try_from(room).unwrap_or(usize::MAX));
        self.dropped += (self.fresh.len() - last) as u64;
        self.keep(last).await?;
        let body = match self.spool {
            None => Body::Bytes(self.held.freeze()),
            Some(spool) => Body::Spool(spool.finish()?),
        };
        Ok(Original::measured(body, self.measure, self.dropped))
    }

    /// Measures the first of the fresh bytes, and holds them or writes them down.
    async fn keep(&mut self, count: usize) -> Result<(), StoreError> {
        if std::mem::replace(&mut self.broken, true) {
            let source = "an earlier piece of it was not kept; begin again".into();
            let key = "the content".to_owned();
            return Err(BackendError::Other { key, source }.into());
        }
        self.measure_and_keep(count).await?;
        self.broken = false;
        Ok(())
    }

    async fn measure_and_keep(&mut self, count: usize) -> Result<(), StoreError> {
        let piece = self.fresh.split_to(count);
        self.measure.update(&piece);
        self.measured += count as u64;
        if self.spool.is_none() && self.held.len() + count <= HELD {
            self.held.extend_from_slice(&piece);
            return Ok(());
        }
        let spool = match &mut self.spool {
            Some(spool) => spool,
            place @ None => {
                let spool = match &self.backend {
                    Some(backend) => backend.spool().await?,
                    None => SpoolWriter::in_temp_folder()?,
                };
                let spool = place.insert(spool);
                let held = std::mem::take(&mut self.held).freeze();
                spool.append(held).await?;
                spool
            }
        };
        spool.append(Bytes::from(piece)).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryBackend;

    async fn taken(content: &[u8], piece: usize, hard_cap: u64) -> Original {
        let store = ResultStore::new(Arc::new(MemoryBackend::new()));
        let mut intake = store.intake(hard_cap);
        for piece in content.chunks(piece) {
            intake.push(piece).await.unwrap();
        }
        intake.finish().await.unwrap()
    }

    #[track_caller]
    fn same(a: &Original, b: &Original) {
        assert_eq!(
            (a.sha256(), a.size(), a.chars(), a.lines(), a.not_stored_bytes()),
            (b.sha256(), b.size(), b.chars(), b.lines(), b.not_stored_bytes())
        );
        assert_eq!(a.index(), b.index());
    }

    #[tokio::test]
    async fn pieces_give_what_the_whole_gives() {
        let text = "aé漢🎯\n\u{80}".repeat(3);
        let mut content = text.into_bytes();
        content.extend_from_slice(b"\x80\x80\xf0\x9f\x8e");
        for hard_cap in (0..content.len() as u64 + 3).chain([u64::MAX]) {
            let whole = Original::new(content.clone(), hard_cap);
            for piece in [1, 3, 1000] {
                same(&taken(&content, piece, hard_cap).await, &whole);
            }
        }
    }

    #[tokio::test]
    async fn a_large_content_goes_into_a_spool() {
        let content = "0123456789é\n".repeat(800_000).into_bytes();
        for cap in [DEFAULT, 9_000_011, HELD as u64, HELD as u64 + 1] {
            let whole = Original::new(content.clone(), cap);
            let original = taken(&content, 70_001, cap).await;
            same(&original, &whole);
            let is_spooled = matches!(original.body(), Body::Spool(_));
            assert_eq!(is_spooled, original.size() > HELD as u64);
            let body = original.body().bytes().await.unwrap();
            assert!(body == whole.body().bytes().await.unwrap());
        }
    }

    const DEFAULT: u64 = crate::DEFAULT_HARD_CAP;

    #[tokio::test]
    async fn nothing_is_taken_after_a_failure() {
        use std::io::ErrorKind;

        use crate::fault::{Fault, FaultyBackend, Operation};

        let backend = FaultyBackend::new(Arc::new(MemoryBackend::new()));
        backend.fail_at(Fault::ErrorBefore(ErrorKind::ConnectionReset), Operation::Spool, 1);
        let store = ResultStore::new(Arc::new(backend));
        let mut intake = store.intake(DEFAULT);
        let half = vec![b'x'; HELD - 1];
        intake.push(&half).await.unwrap();
        assert!(intake.push(&half).await.is_err());
        assert!(intake.push(&half).await.is_err(), "it takes more, and leaves a hole");
        assert!(intake.finish().await.is_err());
    }

    #[tokio::test]
    async fn a_reader_is_taken_in() {
        let store = ResultStore::new(Arc::new(MemoryBackend::new()));
        let original = store.take_in(&b"one\ntwo"[..], DEFAULT).await.unwrap();
        same(&original, &Original::new("one\ntwo", DEFAULT));
    }
}
