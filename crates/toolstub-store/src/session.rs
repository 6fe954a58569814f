//! A store seen from one session.

use toolstub_core::{EventId, Metadata, Ref, SessionId, ToolResultId};

use crate::{
    ListRequest, Listed, Located, Piece, ReadRequest, Removed, ResultStore, SearchRequest,
    Searched, Selector, StoreError,
};

/// The results of one session, and of no other.
///
/// Ids of results are made from contents, so whoever knows a content can guess an id: a ref of
/// another session is answered as one that does not exist.
#[derive(Debug, Clone)]
pub struct SessionStore {
    store: ResultStore,
    session: SessionId,
}

impl ResultStore {
    /// The store seen from one session.
    pub fn session(&self, session: SessionId) -> SessionStore {
        SessionStore { store: self.clone(), session }
    }
}

impl SessionStore {
    /// The session.
    pub fn id(&self) -> &SessionId {
        &self.session
    }

    /// Takes what somebody gives for a ref: a whole one of this session, or a bare result id.
    pub fn resolve(&self, given: &str) -> Result<Ref, StoreError> {
        if given.contains('/') {
            let reference = given.parse::<Ref>()?;
            self.check(&reference)?;
            return Ok(reference);
        }
        let id = ToolResultId::new(given)?;
        Ok(Ref::new(self.session.clone(), id))
    }

    fn check(&self, reference: &Ref) -> Result<(), StoreError> {
        if *reference.session() == self.session {
            Ok(())
        } else {
            Err(StoreError::not_found(reference))
        }
    }

    /// [`ResultStore::metadata`], within the session.
    pub async fn metadata(&self, reference: &Ref) -> Result<Metadata, StoreError> {
        self.check(reference)?;
        self.store.metadata(reference).await
    }

    /// [`ResultStore::read`], within the session.
    pub async fn read(&self, reference: &Ref, request: &ReadRequest) -> Result<Piece, StoreError> {
        self.check(reference)?;
        self.store.read(reference, request).await
    }

    /// [`ResultStore::read_selected`], within the session.
    pub async fn read_selected(
        &self,
        reference: &Ref,
        selector: &Selector,
        request: &ReadRequest,
    ) -> Result<Piece, StoreError> {
        self.check(reference)?;
        self.store.read_selected(reference, selector, request).await
    }

    /// [`ResultStore::locate`], within the session.
    pub async fn locate(
        &self,
        reference: &Ref,
        selector: Option<&Selector>,
        request: &ReadRequest,
    ) -> Result<Located, StoreError> {
        self.check(reference)?;
        self.store.locate(reference, selector, request).await
    }

    /// [`ResultStore::search`], within the session.
    pub async fn search(
        &self,
        reference: &Ref,
        request: &SearchRequest,
    ) -> Result<Searched, StoreError> {
        self.check(reference)?;
        self.store.search(reference, request).await
    }

    /// [`ResultStore::delete`], within the session.
    pub async fn delete(&self, reference: &Ref) -> Result<(), StoreError> {
        self.check(reference)?;
        self.store.delete(reference).await
    }

    /// [`ResultStore::list`] of the session.
    pub async fn list(&self, request: &ListRequest) -> Result<Listed, StoreError> {
        self.store.list(&self.session, request).await
    }

    /// [`ResultStore::has_results`] of the session.
    pub async fn has_results(&self) -> Result<bool, StoreError> {
        self.store.has_results(&self.session).await
    }

    /// [`ResultStore::purge`] of the session.
    pub async fn purge(&self) -> Result<Removed, StoreError> {
        self.store.purge(&self.session).await
    }

    /// [`ResultStore::purge_event`] of one of the session's events.
    pub async fn purge_event(&self, event: &EventId) -> Result<Removed, StoreError> {
        self.store.purge_event(&self.session, event).await
    }
}
