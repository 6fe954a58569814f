//! What is tried: the crates, behind the few calls that the operations need.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use tokio::runtime::{Builder, Runtime};
use toolstub_core::{Kind, Metadata, Reason, Receipt, Ref, SessionId, Synopsis};
use toolstub_render::{Body, Header, render};
use toolstub_session::{Config, Context, Session, Shape};
use toolstub_store::{
    DEFAULT_HARD_CAP, ListRequest, MemoryBackend, Piece, ReadRequest, ResultStore, SearchRequest,
    Searched, StoreError, WriteRequest,
};
use toolstub_store_object::{OpenOptions, open};

const PREVIEW_CHARS: i64 = 2000;
/// Records tell a time; no expectation looks at it.
const TIME: &str = "2026-01-01T00:00:00Z";

/// The crates, with a store.
pub(super) struct Subject {
    runtime: Runtime,
    store: ResultStore,
}

/// One content with what its tool says of it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Told<'a> {
    pub(super) content: &'a [u8],
    pub(super) mime: Option<&'a str>,
    pub(super) tool_name: &'a str,
    pub(super) tool_id: &'a str,
    pub(super) session: &'a str,
    pub(super) hard_cap: Option<u64>,
    pub(super) preview_chars: Option<i64>,
}

/// What was said of a content, and where it is.
#[derive(Debug, Clone)]
pub(super) struct Said {
    pub(super) kind: Kind,
    pub(super) synopsis: Synopsis,
    pub(super) stub: String,
    pub(super) receipt: Option<Receipt>,
}

impl Said {
    pub(super) fn reference(&self) -> Option<String> {
        self.receipt.as_ref().map(|receipt| receipt.reference().to_string())
    }
}

impl Subject {
    /// Opens the store in a folder.
    pub(super) fn open(root: &Path) -> anyhow::Result<Self> {
        let location = root.to_str().context("the store's folder has a name that is not text")?;
        let backend = open(location, &OpenOptions { fsync: false, ..OpenOptions::default() })?;
        Ok(Self { runtime: runtime()?, store: ResultStore::new(backend) })
    }

    /// A store that ends with the process.
    pub(super) fn in_memory() -> anyhow::Result<Self> {
        let store = ResultStore::new(Arc::new(MemoryBackend::new()));
        Ok(Self { runtime: runtime()?, store })
    }

    /// Describes a content and stores nothing.
    pub(super) fn summarize(told: &Told<'_>) -> Said {
        let (kind, chars, synopsis) = describe(told, told.content);
        let header = Header::unstored(told.tool_name, kind, chars, preview(told));
        let stub =
            render(&header, &Body::Synopsis(&synopsis), &toolstub_render::Options::default());
        Said { kind, synopsis, stub, receipt: None }
    }

    /// Stores a content, whatever its size.
    pub(super) fn put(&self, told: &Told<'_>) -> Result<Said, StoreError> {
        let hard_cap = told.hard_cap.unwrap_or(DEFAULT_HARD_CAP);
        let original = self.runtime.block_on(self.store.take_in(told.content, hard_cap))?;
        let kept = self.runtime.block_on(original.body().bytes())?;
        let (kind, _, synopsis) = describe(told, &kept);
        let request = WriteRequest {
            tool_id: told.tool_id.to_owned(),
            tool_name: told.tool_name.to_owned(),
            mime_type: told.mime.map(str::to_owned),
            preview_chars: preview(told).max(0).unsigned_abs(),
            ..WriteRequest::new(SessionId::new(told.session)?, synopsis, TIME)
        };
        let receipt = self.runtime.block_on(self.store.write(&original, request))?;
        let header = Header::stored(&receipt, Reason::Requested);
        let synopsis = receipt.metadata().synopsis.clone();
        let stub =
            render(&header, &Body::Synopsis(&synopsis), &toolstub_render::Options::default());
        Ok(Said { kind, synopsis, stub, receipt: Some(receipt) })
    }

    /// Runs the session's policy over messages.
    pub(super) fn converse(
        &self,
        session: &str,
        config: &Config,
        messages: &str,
        shape: Shape,
        context: &Context,
    ) -> Result<String, String> {
        let id = SessionId::new(session).map_err(|error| error.to_string())?;
        let session = Session::new(self.store.clone(), id, config.clone());
        let done = session.externalize_json(shape, messages, context);
        let done = self.runtime.block_on(done).map_err(anyhow::Error::new);
        done.map(|done| done.messages).map_err(|error| format!("{error:#}"))
    }

    /// What was said of something stored, in the stub that stands for it, and the whole of it.
    pub(super) fn said(&self, reference: &str, stub: &str) -> Result<(Said, Vec<u8>), StoreError> {
        let reference: Ref = reference.parse()?;
        let receipt = self.runtime.block_on(self.store.receipt(&reference))?;
        let whole = self.runtime.block_on(self.store.read(&reference, &whole()))?;
        let synopsis = receipt.metadata().synopsis.clone();
        let kind = synopsis.kind;
        let said = Said { kind, synopsis, stub: stub.to_owned(), receipt: Some(receipt) };
        Ok((said, whole.bytes.to_vec()))
    }

    pub(super) fn read(&self, place: &Place, request: &ReadRequest) -> Result<Piece, StoreError> {
        let reference = self.resolve(place)?;
        self.runtime.block_on(self.store.session(reference.0).read(&reference.1, request))
    }

    pub(super) fn search(
        &self,
        place: &Place,
        request: &SearchRequest,
    ) -> Result<Searched, StoreError> {
        let reference = self.resolve(place)?;
        self.runtime.block_on(self.store.session(reference.0).search(&reference.1, request))
    }

    /// Every record of a session.
    pub(super) fn list(&self, session: &str) -> Result<Vec<Metadata>, StoreError> {
        let session = self.store.session(SessionId::new(session)?);
        let mut records = Vec::new();
        let mut request = ListRequest { limit: 1000, ..ListRequest::default() };
        loop {
            let page = self.runtime.block_on(session.list(&request))?;
            records.extend(page.records);
            if page.next_cursor.is_none() {
                return Ok(records);
            }
            request.cursor = page.next_cursor;
        }
    }

    pub(super) fn delete_session(&self, session: &str) -> Result<(), StoreError> {
        let session = SessionId::new(session)?;
        self.runtime.block_on(self.store.purge(&session)).map(drop)
    }

    /// The session that a call is bound to, and the ref as it sees it.
    fn resolve(&self, place: &Place) -> Result<(SessionId, Ref), StoreError> {
        let session = match (&place.session, place.reference.parse::<Ref>()) {
            (Some(session), _) => SessionId::new(session)?,
            (None, Ok(reference)) => reference.session().clone(),
            (None, Err(_)) => SessionId::new("default")?,
        };
        let reference = self.store.session(session.clone()).resolve(&place.reference)?;
        Ok((session, reference))
    }
}

/// Where to read: a ref as somebody gives it, and the session that the call is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) reference: String,
    pub(super) session: Option<String>,
}

impl Place {
    /// The ref with another session in it.
    pub(super) fn in_session(reference: &str, session: &str) -> Result<String, String> {
        let reference: Ref = reference.parse().map_err(|_| format!("{reference} is no ref"))?;
        let session = SessionId::new(session).map_err(|error| error.to_string())?;
        Ok(Ref::in_event(session, reference.event().cloned(), reference.id().clone()).to_string())
    }
}

/// The folder of a session below a store's root.
pub(super) fn session_folder(root: &Path, session: &str) -> Result<std::path::PathBuf, String> {
    let session = SessionId::new(session).map_err(|error| error.to_string())?;
    Ok(root.join("sessions").join(session.encoded()))
}

/// The whole original, as one read.
pub(super) fn whole() -> ReadRequest {
    ReadRequest { offset: 0, limit: -1, ..ReadRequest::default() }
}

fn preview(told: &Told<'_>) -> i64 {
    told.preview_chars.unwrap_or(PREVIEW_CHARS)
}

fn describe(told: &Told<'_>, mut content: &[u8]) -> (Kind, u64, Synopsis) {
    let described = toolstub_summarize::describe(&mut content, told.mime, preview(told));
    let Ok((detection, synopsis)) = described;
    (detection.kind(), detection.census.chars, synopsis)
}

fn runtime() -> anyhow::Result<Runtime> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}
