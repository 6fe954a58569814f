//! A session: its store, its configuration and its host.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, Weak};

use futures::lock::Mutex;
use toolstub_core::{Ref, RefForm, SessionId};
use toolstub_store::{ResultStore, SessionStore};

use crate::describe::Look;
use crate::host::{Host, SystemHost};
use crate::{Config, SessionError};

/// A conversation whose oversized tool results are kept outside of it.
///
/// A clone is the same session; so is, for the numbers of an event's results, every other of the same
/// id on the same backend in this process. Where two processes register results for one event at
/// once, both are kept and readable, and a number may change hands.
#[derive(Debug, Clone)]
pub struct Session {
    store: ResultStore,
    id: SessionId,
    config: Arc<Config>,
    refs: Arc<RefForm>,
    host: Arc<dyn Host>,
    identity: Identity,
    pub(crate) numbering: Arc<Mutex<()>>,
}

/// On whose behalf the tools run, as it is recorded with what is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// The agent.
    pub agent_id: Option<String>,
    /// The user.
    pub user_id: Option<String>,
    /// The peer in a conversation of several.
    pub peer_id: Option<String>,
}

impl Session {
    /// A session in a store.
    pub fn new(store: ResultStore, id: SessionId, config: Config) -> Self {
        let numbering = numbering(&store, &id);
        Self {
            store,
            id,
            config: Arc::new(config),
            refs: Arc::default(),
            host: Arc::new(SystemHost::default()),
            identity: Identity::default(),
            numbering,
        }
    }

    /// Takes times and ids from a host.
    #[must_use]
    pub fn with_host(mut self, host: Arc<dyn Host>) -> Self {
        self.host = host;
        self
    }

    /// Records on whose behalf the tools run.
    #[must_use]
    pub fn with_identity(mut self, identity: Identity) -> Self {
        self.identity = identity;
        self
    }

    /// Writes refs in a host's form, in stubs and parts. Reading takes every form.
    #[must_use]
    pub fn with_refs(mut self, refs: RefForm) -> Self {
        self.refs = Arc::new(refs);
        self
    }

    /// The session's id.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// How refs are written.
    pub fn refs(&self) -> &RefForm {
        &self.refs
    }

    /// A ref as this session writes it.
    pub fn uri(&self, reference: &Ref) -> String {
        self.refs.uri(reference)
    }

    /// The results of this session: read, search, list, delete, purge.
    pub fn results(&self) -> SessionStore {
        self.store.session(self.id.clone())
    }

    /// Whether there is anything to read back: a host offers the retrieval tools only then.
    pub async fn has_stored_results(&self) -> Result<bool, SessionError> {
        Ok(self.store.has_results(&self.id).await?)
    }

    pub(crate) fn store(&self) -> &ResultStore {
        &self.store
    }

    pub(crate) fn look(&self) -> Look<'_> {
        Look { config: &self.config, refs: &self.refs }
    }

    pub(crate) fn host(&self) -> &dyn Host {
        self.host.as_ref()
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }
}

/// The locks of the sessions at hand, by backend and id.
type Numberings = BTreeMap<(usize, SessionId), Weak<Mutex<()>>>;

/// The lock under which a session's results get their numbers: one for all its objects.
fn numbering(store: &ResultStore, id: &SessionId) -> Arc<Mutex<()>> {
    static NUMBERINGS: std::sync::Mutex<Numberings> = std::sync::Mutex::new(BTreeMap::new());
    // A session keeps its backend, so no other can have its address while the lock is in use.
    let backend = Arc::as_ptr(store.backend()).cast::<()>().addr();
    let mut numberings = NUMBERINGS.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (backend, id.clone());
    if let Some(numbering) = numberings.get(&key).and_then(Weak::upgrade) {
        return numbering;
    }
    numberings.retain(|_, numbering| numbering.strong_count() > 0);
    let numbering = Arc::default();
    numberings.insert(key, Arc::downgrade(&numbering));
    numbering
}
