//! What a store holds, and what it spares the contexts.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use serde::Serialize;
use toolstub_core::{Kind, Receipt, SessionId};

use crate::list::{CONCURRENCY, concerns_one_result};
use crate::walk::Walk;
use crate::{ResultStore, StoreError, layout};

/// How many tools are told apart; what comes from others is counted under [`OTHER_TOOLS`].
const MAX_TOOLS: usize = 1000;
/// Where the results of further tools are counted.
const OTHER_TOOLS: &str = "(other tools)";

/// Counts over results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Tally {
    /// The results.
    pub results: u64,
    /// The bytes of their originals.
    pub bytes: u64,
    /// Those bytes less the bytes of the stubs that stand for them.
    pub kept_out_bytes: u64,
}

impl Tally {
    fn add(&mut self, bytes: u64, stub_bytes: u64) {
        self.results += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.kept_out_bytes = self.kept_out_bytes.saturating_add(bytes.saturating_sub(stub_bytes));
    }
}

/// What a store holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// The sessions that were gone over.
    pub sessions: u64,
    /// Everything.
    #[serde(flatten)]
    pub all: Tally,
    /// The same by kind.
    pub by_kind: BTreeMap<Kind, Tally>,
    /// The same by the tool's name, of which 1,000 are told apart.
    pub by_tool: BTreeMap<String, Tally>,
    /// The folders left out because their record could not be read.
    pub unreadable: u64,
}

impl ResultStore {
    /// Counts what a session holds, or with `None` every session.
    ///
    /// `stub_bytes` says how large the stub of a result is. Records are read, originals are not.
    pub async fn stats(
        &self,
        session: Option<&SessionId>,
        mut stub_bytes: impl FnMut(&Receipt) -> u64 + Send,
    ) -> Result<Stats, StoreError> {
        let mut stats = Stats::default();
        if let Some(session) = session {
            self.count_session(session.clone(), &mut stats, &mut stub_bytes).await?;
            return Ok(stats);
        }
        let mut after = None;
        loop {
            let (names, more) = self.folders(layout::sessions(), &mut after).await?;
            for session in names.iter().filter_map(|name| SessionId::from_encoded(name)) {
                self.count_session(session, &mut stats, &mut stub_bytes).await?;
            }
            if !more {
                return Ok(stats);
            }
        }
    }

    async fn count_session(
        &self,
        session: SessionId,
        stats: &mut Stats,
        stub_bytes: &mut (impl FnMut(&Receipt) -> u64 + Send),
    ) -> Result<(), StoreError> {
        stats.sessions += 1;
        let mut walk = Walk::session(self, session);
        while let Some(page) = walk.next().await? {
            let mut records = futures::stream::iter(page)
                .map(|reference| self.record_of(reference))
                .buffered(CONCURRENCY);
            while let Some((reference, record)) = records.next().await {
                let record = match record {
                    Ok(Some(record)) => record,
                    Ok(None) => continue,
                    Err(error) if concerns_one_result(&error) => {
                        stats.unreadable += 1;
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                let receipt = Receipt::committed(reference, record.metadata, true);
                let (stub, metadata) = (stub_bytes(&receipt), receipt.metadata());
                let bytes = metadata.original_bytes;
                stats.all.add(bytes, stub);
                stats.by_kind.entry(metadata.synopsis_kind).or_default().add(bytes, stub);
                let known = stats.by_tool.len() < MAX_TOOLS
                    || stats.by_tool.contains_key(&metadata.tool_name);
                let tool = if known { &metadata.tool_name } else { OTHER_TOOLS };
                stats.by_tool.entry(tool.to_owned()).or_default().add(bytes, stub);
            }
        }
        Ok(())
    }
}
