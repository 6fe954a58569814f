//! The store: one semantics over any backend.

use std::collections::VecDeque;
use std::ops::{Range, RangeInclusive};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use toolstub_core::{Metadata, Receipt, Ref, SessionId};

use crate::index::{BLOCK, BlockIndex};
use crate::record::{MAX_RECORD, Record, Unreadable};
use crate::{Backend, BackendError, Key, StoreError, layout};

/// A window of at most so many bytes is kept while one call is served.
pub(crate) const SMALL_WINDOW: usize = 4 * BLOCK;
/// How many windows are kept.
const KEPT_WINDOWS: usize = 2;

/// Keeps the originals of tool results, and reads, searches and lists them.
///
/// A clone shares the backend; nothing else is held, so any number of stores and processes can
/// work on one place.
#[derive(Debug, Clone)]
pub struct ResultStore {
    pub(crate) backend: Arc<dyn Backend>,
}

impl ResultStore {
    /// A store in a backend.
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self { backend }
    }

    /// The backend.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// The folder of all sessions; each has one of its own below it.
    ///
    /// Beside the results a session's folder may hold what a host keeps there: it is nothing to
    /// [`gc`](Self::gc), and goes with [`purge`](Self::purge).
    pub fn sessions_folder() -> Key {
        layout::sessions()
    }

    /// The folder of a session.
    pub fn session_folder(session: &SessionId) -> Key {
        layout::session(session)
    }

    /// The metadata of a result.
    pub async fn metadata(&self, reference: &Ref) -> Result<Metadata, StoreError> {
        let record = self.record(reference).await?;
        record.map(|record| record.metadata).ok_or_else(|| StoreError::not_found(reference))
    }

    /// The proof that a result can be read back, for one that was written earlier.
    pub async fn receipt(&self, reference: &Ref) -> Result<Receipt, StoreError> {
        let metadata = self.metadata(reference).await?;
        Ok(Receipt::committed(reference.clone(), metadata, true))
    }

    /// The record of a result; `None` where none is committed.
    pub(crate) async fn record(&self, reference: &Ref) -> Result<Option<Record>, StoreError> {
        match self.look_up(reference).await? {
            Found::Nothing => Ok(None),
            Found::Record(record) => Ok(Some(*record)),
            Found::Worthless(error) => Err(error),
        }
    }

    /// What stands in the place of a record.
    pub(crate) async fn look_up(&self, reference: &Ref) -> Result<Found, StoreError> {
        let key = layout::result(reference).child(layout::METADATA);
        match self.backend.get(&key, MAX_RECORD).await {
            Ok(json) => match Record::from_bytes(reference, &json) {
                Ok(record) => Ok(Found::Record(Box::new(record))),
                Err(Unreadable { error, is_worthless: true }) => Ok(Found::Worthless(error)),
                Err(Unreadable { error, is_worthless: false }) => Err(error),
            },
            Err(BackendError::NotFound { .. }) => Ok(Found::Nothing),
            Err(BackendError::TooLarge { size, .. }) => {
                let damage =
                    format!("metadata.json takes {size} bytes, over the {MAX_RECORD} of any");
                Ok(Found::Worthless(StoreError::corrupt(reference, damage)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a result for reading.
    pub(crate) async fn open<'a>(
        &'a self,
        reference: &'a Ref,
    ) -> Result<StoredOriginal<'a>, StoreError> {
        let record =
            self.record(reference).await?.ok_or_else(|| StoreError::not_found(reference))?;
        let index = record.index(reference)?;
        let kept = Mutex::default();
        Ok(StoredOriginal { store: self, reference, metadata: record.metadata, index, kept })
    }
}

/// What stands in the place of a record.
#[derive(Debug)]
pub(crate) enum Found {
    /// Nothing: no result is committed.
    Nothing,
    /// A record that can be read.
    Record(Box<Record>),
    /// What nobody can read, and why.
    Worthless(StoreError),
}

/// A committed original, with the index that leads to its bytes.
#[derive(Debug)]
pub(crate) struct StoredOriginal<'a> {
    store: &'a ResultStore,
    pub(crate) reference: &'a Ref,
    pub(crate) metadata: Metadata,
    pub(crate) index: BlockIndex,
    /// The last small windows: what is looked up around a place is not fetched again.
    kept: Mutex<VecDeque<Window>>,
}

/// Some whole blocks of an original, checked.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    /// Where the bytes begin in the original. A block begins there.
    pub(crate) base: u64,
    /// The bytes.
    pub(crate) bytes: Bytes,
}

impl Window {
    /// Where the bytes end in the original.
    pub(crate) fn end(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }

    /// The bytes of the window from a block's start on.
    pub(crate) fn block_onward(&self, block: usize) -> &[u8] {
        &self.bytes[(block as u64 * BLOCK as u64 - self.base) as usize..]
    }

    /// The bytes of one block of the window.
    pub(crate) fn block(&self, block: usize) -> &[u8] {
        let bytes = self.block_onward(block);
        &bytes[..bytes.len().min(BLOCK)]
    }
}

impl StoredOriginal<'_> {
    pub(crate) fn corrupt(&self, damage: impl Into<String>) -> StoreError {
        StoreError::corrupt(self.reference, damage)
    }

    /// Checks that the output is there and as long as its record says.
    pub(crate) async fn check_presence(&self) -> Result<(), StoreError> {
        let key = layout::result(self.reference).child(layout::OUTPUT);
        let mut found = self.store.backend.head(&key).await;
        if let Err(BackendError::NotFound { .. }) = found {
            self.check_record().await?;
            found = self.store.backend.head(&key).await;
        }
        match found {
            Ok(head) => self.check_size(head.size),
            Err(BackendError::NotFound { .. }) => Err(self.corrupt("output.txt is missing")),
            Err(error) => Err(error.into()),
        }
    }

    /// Checks, where no output is found, that the result was not removed since its record was read.
    /// If there is a record, the output has to be looked for again: both may have been removed and
    /// written anew.
    async fn check_record(&self) -> Result<(), StoreError> {
        let key = layout::result(self.reference).child(layout::METADATA);
        match self.store.backend.head(&key).await {
            Ok(_) => Ok(()),
            Err(BackendError::NotFound { .. }) => Err(StoreError::not_found(self.reference)),
            Err(error) => Err(error.into()),
        }
    }

    fn check_size(&self, size: u64) -> Result<(), StoreError> {
        let expected = self.index.bytes();
        if size == expected {
            return Ok(());
        }
        Err(self.corrupt(format!("output.txt holds {size} bytes in place of {expected}")))
    }

    /// Fetches whole blocks in one request and checks each.
    pub(crate) async fn blocks(&self, blocks: RangeInclusive<usize>) -> Result<Window, StoreError> {
        let base = *blocks.start() as u64 * BLOCK as u64;
        let end = ((*blocks.end() as u64 + 1) * BLOCK as u64).min(self.index.bytes());
        if let Some(window) = self.kept(base..end) {
            return Ok(window);
        }
        let key = layout::result(self.reference).child(layout::OUTPUT);
        let mut found = self.store.backend.get_range(&key, base..end).await;
        if let Err(BackendError::NotFound { .. }) = found {
            self.check_record().await?;
            found = self.store.backend.get_range(&key, base..end).await;
        }
        let ranged = match found {
            Ok(ranged) => ranged,
            Err(BackendError::OutOfRange { size, .. }) => {
                self.check_size(size)?;
                return Err(self.corrupt("output.txt could not be read to its end"));
            }
            Err(BackendError::NotFound { .. }) => {
                return Err(self.corrupt("output.txt is missing"));
            }
            Err(error) => return Err(error.into()),
        };
        self.check_size(ranged.size)?;
        if ranged.bytes.len() as u64 != end - base {
            return Err(self.corrupt("output.txt could not be read to its end"));
        }
        for (number, bytes) in (*blocks.start()..).zip(ranged.bytes.chunks(BLOCK)) {
            if crc32c::crc32c(bytes) != self.index.block(number).crc {
                let at = number * BLOCK;
                return Err(self.corrupt(format!(
                    "the checksum of bytes {at} to {} of output.txt is wrong",
                    at + bytes.len()
                )));
            }
        }
        let window = Window { base, bytes: ranged.bytes };
        self.keep(&window);
        Ok(window)
    }

    fn kept(&self, bytes: Range<u64>) -> Option<Window> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let holds = |window: &&Window| window.base <= bytes.start && bytes.end <= window.end();
        let window = kept.iter().find(holds)?;
        let within = |at: u64| (at - window.base) as usize;
        let part = window.bytes.slice(within(bytes.start)..within(bytes.end));
        Some(Window { base: bytes.start, bytes: part })
    }

    fn keep(&self, window: &Window) {
        if window.bytes.len() <= SMALL_WINDOW {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.truncate(KEPT_WINDOWS - 1);
            kept.push_front(window.clone());
        }
    }

    /// Fetches the blocks that hold a range of bytes, which is not empty.
    pub(crate) async fn blocks_of(&self, bytes: Range<u64>) -> Result<Window, StoreError> {
        let first = bytes.start / BLOCK as u64;
        let last = (bytes.end.min(self.index.bytes()) - 1) / BLOCK as u64;
        self.blocks(first as usize..=last as usize).await
    }

    /// The bytes at the start of a block that belong to the character before.
    pub(crate) fn spill(&self, window: &Window, block: usize) -> Result<usize, StoreError> {
        self.index
            .spill(block, window.block(block))
            .ok_or_else(|| self.corrupt("the blocks of metadata.json do not fit output.txt"))
    }
}
