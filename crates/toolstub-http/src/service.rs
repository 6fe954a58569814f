//! The service: what its routes share.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use toolstub_core::{EventId, Metadata, Ref, SessionId, ToolResultId};
use toolstub_session::{Config, Identity, Session};
use toolstub_store::{ResultStore, SessionStore};

use crate::body::LARGE_BODIES;
use crate::journal::{Clock, Journal, SessionRecord, chance};
use crate::keys::Keys;
use crate::metrics::Metrics;
use crate::problem::{Code, Problem};

/// How a service behaves.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whom the sessions belong to, as it stands in their addresses.
    pub user: String,
    /// The account of that user.
    pub account: String,
    /// What leaves a message, and what its stub looks like.
    pub config: Config,
    /// Who may use the service; everybody, if there is no key.
    pub keys: Keys,
    /// The names by which clients may call the service beside `localhost` and addresses of this
    /// machine; where a key is needed, any name does.
    pub hosts: Vec<String>,
    /// The largest body of a request, in bytes, unpacked.
    pub body_limit: usize,
    /// How long a request may take until its answer begins.
    pub timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            user: "default".to_owned(),
            account: "default".to_owned(),
            config: Config::default(),
            keys: Keys::default(),
            hosts: Vec::new(),
            body_limit: 64 << 20,
            timeout: Duration::from_secs(120),
        }
    }
}

/// Sessions, messages and results over one store.
#[derive(Debug)]
pub struct Service {
    pub(crate) store: ResultStore,
    pub(crate) journal: Journal,
    pub(crate) options: Options,
    pub(crate) metrics: Metrics,
    pub(crate) large_bodies: Semaphore,
}

impl Service {
    /// A service over a store.
    pub fn new(store: ResultStore, options: Options) -> Self {
        let journal = Journal::new(store.clone(), Clock::of_system());
        let metrics = Metrics::default();
        let large_bodies = Semaphore::new(LARGE_BODIES);
        Self { store, journal, options, metrics, large_bodies }
    }

    /// The routes.
    pub fn into_router(self) -> axum::Router {
        crate::routes::router(Arc::new(self))
    }

    /// The id that stands in an address or a body.
    pub(crate) fn session_id(id: &str) -> Result<SessionId, Problem> {
        SessionId::new(id).map_err(|error| {
            let details = serde_json::json!({"field": "session_id", "value": id});
            Problem::whole(Code::InvalidArgument, error.to_string(), details)
        })
    }

    /// The result that an address names.
    pub(crate) fn reference(
        session: SessionId,
        result: &str,
        event: Option<&str>,
    ) -> Result<Ref, Problem> {
        let id = ToolResultId::new(result).map_err(|error| {
            let details = serde_json::json!({"tool_result_id": result});
            let message = format!("Invalid tool_result_id: {error}");
            Problem::whole(Code::InvalidArgument, message, details)
        })?;
        let event = event.map(EventId::new).transpose()?;
        Ok(Ref::in_event(session, event, id))
    }

    /// The results of a session.
    pub(crate) fn results(&self, id: &SessionId) -> SessionStore {
        self.store.session(id.clone())
    }

    /// The policy at work in a session.
    pub(crate) fn session(&self, id: &SessionId, peer: Option<String>) -> Session {
        let user_id = Some(self.options.user.clone());
        Session::new(self.store.clone(), id.clone(), self.options.config.clone())
            .with_identity(Identity { agent_id: None, user_id, peer_id: peer })
    }

    /// The address of a session.
    pub(crate) fn uri(&self, id: &SessionId) -> String {
        format!("viking://user/{}/sessions/{}", self.options.user, id.encoded())
    }

    /// A ref as clients know it: it begins with the address of the session.
    pub(crate) fn ref_of(&self, reference: &Ref) -> String {
        let session = self.uri(reference.session());
        let event = reference.event().map(|event| format!("/events/{}", event.encoded()));
        format!("{session}{}/tool-results/{}", event.unwrap_or_default(), reference.id())
    }

    /// The record of a result, with the refs that clients know.
    pub(crate) fn told(&self, reference: &Ref, mut metadata: Metadata) -> Metadata {
        metadata.storage_uri = self.ref_of(reference);
        metadata.output_uri = format!("{}/output.txt", metadata.storage_uri);
        metadata
    }

    /// What a new session is.
    pub(crate) fn record(&self, id: &SessionId) -> SessionRecord {
        SessionRecord {
            schema_version: 1,
            session_id: id.as_str().to_owned(),
            incarnation: chance(),
            created_micros: self.journal.clock().now(),
            account_id: self.options.account.clone(),
            user_id: self.options.user.clone(),
            memory_policy: None,
            auto_commit_policy: None,
            memory_extraction_config: None,
        }
    }
}
