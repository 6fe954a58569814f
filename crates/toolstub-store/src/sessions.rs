//! The sessions of a store.

use toolstub_core::SessionId;

use crate::{ResultStore, StoreError, layout};

impl ResultStore {
    /// The sessions that have a folder, in its order: at most so many, and whether there are more.
    ///
    /// What interrupted writes left may be all that one has.
    pub async fn sessions(&self, limit: usize) -> Result<(Vec<SessionId>, bool), StoreError> {
        let (mut sessions, mut after) = (Vec::new(), None);
        loop {
            let (names, more) = self.folders(layout::sessions(), &mut after).await?;
            sessions.extend(names.iter().filter_map(|name| SessionId::from_encoded(name)));
            if sessions.len() > limit {
                sessions.truncate(limit);
                return Ok((sessions, true));
            }
            if !more {
                return Ok((sessions, false));
            }
        }
    }
}
