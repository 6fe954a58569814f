//! Checking what is kept against its records.

use sha2::Digest as _;
use toolstub_core::{Ref, SessionId, Sha256};

use crate::index::IndexBuilder;
use crate::list::concerns_one_result;
use crate::walk::Walk;
use crate::{ResultStore, StoreError, layout};

/// How many blocks are checked from one request.
const STEP: usize = 64;

/// What a check of the whole store found.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Verified {
    /// The results that are whole.
    pub whole: u64,
    /// The bytes of their outputs.
    pub bytes: u64,
    /// The results that are not.
    pub damaged: Vec<Damaged>,
}

/// A result that is damaged.
#[derive(Debug)]
#[non_exhaustive]
pub struct Damaged {
    /// The result.
    pub reference: Ref,
    /// What is wrong with it.
    pub error: StoreError,
}

impl ResultStore {
    /// Reads a result whole and checks it against its record; returns its size in bytes.
    ///
    /// [`StoreError::Corrupt`] says what does not agree.
    pub async fn verify(&self, reference: &Ref) -> Result<u64, StoreError> {
        let original = self.open(reference).await?;
        original.check_presence().await?;
        let mut hasher = sha2::Sha256::new();
        let mut builder = IndexBuilder::default();
        let mut first = 0;
        let mut open_line = false;
        while first < original.index.len() {
            let last = (first + STEP).min(original.index.len()) - 1;
            let window = original.blocks(first..=last).await?;
            hasher.update(&window.bytes);
            builder.update(&window.bytes);
            open_line = !window.bytes.ends_with(b"\n");
            first = last + 1;
        }
        if Sha256::from_bytes(hasher.finalize().into()) != original.metadata.sha256 {
            return Err(original.corrupt("the sha256 of output.txt is wrong"));
        }
        let lines = original.index.line_feeds() + u64::from(open_line);
        if builder.finish() != original.index || original.metadata.line_count != lines {
            return Err(original.corrupt("the blocks of metadata.json do not fit output.txt"));
        }
        Ok(original.index.bytes())
    }

    /// Checks every result of every session.
    pub async fn verify_all(&self) -> Result<Verified, StoreError> {
        let mut verified = Verified::default();
        let mut after = None;
        loop {
            let (names, more) = self.folders(layout::sessions(), &mut after).await?;
            for session in names.iter().filter_map(|name| SessionId::from_encoded(name)) {
                self.verify_into(session, &mut verified).await?;
            }
            if !more {
                return Ok(verified);
            }
        }
    }

    /// Checks every result of a session, those of its events included.
    pub async fn verify_session(&self, session: &SessionId) -> Result<Verified, StoreError> {
        let mut verified = Verified::default();
        self.verify_into(session.clone(), &mut verified).await?;
        Ok(verified)
    }

    async fn verify_into(
        &self,
        session: SessionId,
        verified: &mut Verified,
    ) -> Result<(), StoreError> {
        let mut walk = Walk::session(self, session);
        while let Some(page) = walk.next().await? {
            for reference in page {
                match self.verify(&reference).await {
                    Ok(bytes) => {
                        verified.whole += 1;
                        verified.bytes += bytes;
                    }
                    // A leftover, or removed since it was listed.
                    Err(StoreError::NotFound { .. }) => {}
                    Err(error) if concerns_one_result(&error) => {
                        verified.damaged.push(Damaged { reference, error });
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }
}
