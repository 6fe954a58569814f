//! Trying out what a backend does, on an object of its own.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use serde::Serialize;
use toolstub_core::{Ref, SessionId, ToolResultId, error_chain};

use crate::{
    BackendError, Created, Depth, Entry, Key, ListOptions, ResultStore, StoreError, layout,
};

/// The session in whose folder the object stands; it is not one of the session's results.
const SESSION: &str = "probe";
/// How far the clock of whoever keeps the objects may be from the caller's.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(300);

/// What was tried and came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Check {
    /// What was tried.
    pub name: &'static str,
    /// What came of it.
    pub status: CheckStatus,
    /// What that means.
    pub detail: String,
}

/// What came of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CheckStatus {
    /// As it should be.
    Ok,
    /// Usable, with less than could be promised.
    Warning,
    /// Not usable.
    Failed,
}

impl ResultStore {
    /// Tries out the backend by writing, reading and removing an object.
    ///
    /// `name` keeps probes that run at once apart; letters, digits, `_` and `-`. `now` is the caller's
    /// time. The object stands where a clean-up finds it, should the probe not come to its end.
    /// A check that fails ends the probe.
    pub async fn probe(&self, name: &str, now: SystemTime) -> Result<Vec<Check>, StoreError> {
        let id = ToolResultId::new(&format!("tr_probe_{name}"))?;
        let folder = layout::result(&Ref::new(SessionId::new(SESSION)?, id));
        let mut checks = Vec::new();
        if let Err((name, error)) = self.try_out(&folder, now, &mut checks).await {
            let status = CheckStatus::Failed;
            checks.push(Check { name, status, detail: error_chain(&error) });
        }
        // Whatever came of it, nothing stays behind if that can be helped.
        let removed = self.backend.delete(&folder.child(layout::OUTPUT)).await;
        let pruned = self.backend.prune(&folder).await;
        if let (Err(error), _) | (_, Err(error)) = (removed, pruned) {
            let failed = checks.iter().any(|check| check.status == CheckStatus::Failed);
            if !failed {
                let status = CheckStatus::Failed;
                checks.push(Check { name: "delete", status, detail: error_chain(&error) });
            }
        }
        Ok(checks)
    }

    async fn try_out(
        &self,
        folder: &Key,
        now: SystemTime,
        checks: &mut Vec<Check>,
    ) -> Result<(), (&'static str, BackendError)> {
        let key = folder.child(layout::OUTPUT);
        let body = Bytes::from((0..=255).cycle().take(70_000).collect::<Vec<u8>>());
        let mut note = |name, right: bool, otherwise, says: &str, says_otherwise: &str| {
            let (status, detail) =
                if right { (CheckStatus::Ok, says) } else { (otherwise, says_otherwise) };
            checks.push(Check { name, status, detail: detail.to_owned() });
        };
        let (failed, warning) = (CheckStatus::Failed, CheckStatus::Warning);

        let write = |error| ("write", error);
        self.backend.put(&key, body.clone().into()).await.map_err(write)?;
        note("write", true, failed, "objects can be written", "");

        let read = |error| ("read", error);
        let (from, to) = (65_530, 65_600);
        let ranged = self.backend.get_range(&key, from..to).await.map_err(read)?;
        let whole = self.backend.get(&key, body.len() as u64).await.map_err(read)?;
        let same = whole == body
            && ranged.size == body.len() as u64
            && ranged.bytes == body[from as usize..to as usize];
        let says = "what is written is read back, whole and by range";
        note("read", same, failed, says, "what is read is not what was written");

        // A refusal is no answer: no record could be committed.
        let create = self.backend.create(&key, Bytes::from_static(b"other")).await;
        let created = create.map_err(|error| ("create-if-absent", error))?;
        let kept = self.backend.get(&key, body.len() as u64).await.map_err(read)? == body;
        let enforced = created == Created::Existed && kept;
        note(
            "create-if-absent",
            enforced,
            warning,
            "of writers that race for one id, all get the first one's record",
            "not enforced: of writers that race for one id, the last one's record stands, over the \
             same bytes",
        );

        let options =
            ListOptions { folder: Some(folder.clone()), depth: Depth::All, after: None, limit: 10 };
        let page = self.backend.list(options).await.map_err(|error| ("list", error))?;
        let listed =
            matches!(&page.entries[..], [Entry::Object { name, .. }] if name == layout::OUTPUT);
        note("list", listed, failed, "what is written is listed at once", "it is not listed");

        let head = self.backend.head(&key).await.map_err(|error| ("clock", error))?;
        let apart = now.duration_since(head.modified).unwrap_or_else(|error| error.duration());
        note(
            "clock",
            apart <= CLOCK_TOLERANCE,
            warning,
            "the store's clock agrees with this machine's",
            &format!(
                "the store's clock is {} s off: ages are wrong by that in gc",
                apart.as_secs()
            ),
        );

        let delete = |error| ("delete", error);
        self.backend.delete(&key).await.map_err(delete)?;
        let gone = match self.backend.head(&key).await {
            Err(BackendError::NotFound { .. }) => true,
            Ok(_) => false,
            Err(error) => return Err(delete(error)),
        };
        note(
            "delete",
            gone,
            failed,
            "what is removed is gone",
            "what is removed can still be seen",
        );
        Ok(())
    }
}
