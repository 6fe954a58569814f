//! The service: what its routes share.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::Semaphore;
use toolstub_core::{EventId, Metadata, Ref, RefForm, SessionId, ToolResultId, UserId};
use toolstub_session::{Config, Host, Identity, Session, SystemHost};
use toolstub_store::{ResultStore, SessionStore, StoreError};

use crate::body;
use crate::journal::{Clock, Journal, SessionRecord, chance};
use crate::keys::Keys;
use crate::metrics::Metrics;
use crate::problem::{Code, Problem};

/// How a service behaves.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whom the sessions belong to, as it stands in their addresses.
    pub user: UserId,
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
            user: UserId::new("default").expect("a plain name is an id"),
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
    /// Room for large bodies.
    pub(crate) bodies: Semaphore,
    /// Whether the store could be reached, and when that was tried.
    pub(crate) readiness: Mutex<Option<(Instant, bool)>>,
    /// How refs are written: each begins with the address of its session.
    pub(crate) refs: RefForm,
}

/// Results are recorded with the time of their message.
#[derive(Debug)]
struct Moment {
    time: String,
    system: SystemHost,
}

impl Host for Moment {
    fn now(&self) -> String {
        self.time.clone()
    }

    fn new_event_id(&self) -> EventId {
        self.system.new_event_id()
    }
}

impl Service {
    /// A service over a store.
    pub fn new(store: ResultStore, options: Options) -> Self {
        let journal = Journal::new(store.clone(), Clock::of_system());
        let metrics = Metrics::default();
        let bodies = Semaphore::new(body::room(options.body_limit));
        let refs = RefForm::Viking { user: options.user.clone() };
        Self { store, journal, options, metrics, bodies, refs, readiness: Mutex::default() }
    }

    /// The routes.
    pub fn into_router(self) -> axum::Router {
        self.into_router_with(axum::Router::new())
    }

    /// The routes, and others beside them: who may ask, for how long and by which name is the same.
    pub fn into_router_with(self, others: axum::Router) -> axum::Router {
        crate::routes::router(Arc::new(self), others)
    }

    /// The id that stands in an address or a body.
    pub(crate) fn session_id(id: &str) -> Result<SessionId, Problem> {
        if id.is_empty() {
            return Err(Problem::short(Code::NotFound, "Not Found"));
        }
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

    /// The policy at work on a message of a session.
    pub(crate) fn session(&self, id: &SessionId, peer: Option<String>, time: &str) -> Session {
        let user_id = Some(self.options.user.as_str().to_owned());
        let host = Moment { time: time.to_owned(), system: SystemHost::default() };
        Session::new(self.store.clone(), id.clone(), self.options.config.clone())
            .with_host(Arc::new(host))
            .with_refs(self.refs.clone())
            .with_identity(Identity { agent_id: None, user_id, peer_id: peer })
    }

    /// The record of a result, with the refs and all the fields that clients know.
    pub(crate) fn told(&self, metadata: Metadata) -> Value {
        let mut told = serde_json::to_value(metadata.with_refs(&self.refs)).unwrap_or_default();
        if let Value::Object(fields) = &mut told {
            let mut taken = ["peer_id", "user_id"].map(|name| (name, fields.shift_remove(name)));
            let place = fields.keys().position(|name| name == "created_at").unwrap_or_default();
            for (name, value) in &mut taken {
                let value = value.take().unwrap_or_default();
                fields.shift_insert(place, (*name).to_owned(), value);
            }
        }
        told
    }

    /// What a new session is.
    pub(crate) fn record(&self, id: &SessionId) -> SessionRecord {
        SessionRecord {
            schema_version: 1,
            session_id: id.as_str().to_owned(),
            incarnation: chance(),
            created_micros: self.journal.clock().now(),
            account_id: self.options.account.clone(),
            user_id: self.options.user.as_str().to_owned(),
            memory_policy: None,
            auto_commit_policy: None,
            memory_extraction_config: None,
        }
    }
}

/// Does what must not be broken off half-way, whether or not the client stays.
pub(crate) async fn to_its_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::spawn(work).await {
        Ok(done) => Ok(done?),
        Err(error) => {
            tracing::error!(%error, "what was begun did not come to its end");
            Err(Problem::short(Code::Internal, "the service could not go on"))
        }
    }
}
