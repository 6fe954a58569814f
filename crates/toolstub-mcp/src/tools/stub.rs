//! The stub of a result, once more.

use toolstub_session::{Session, SessionError};

use super::arguments::Arguments;
use super::{Answer, Problem, Tools, cut};

pub(super) async fn stub(tools: &Tools, arguments: &Arguments) -> Result<Answer, Problem> {
    let (_, reference) = tools.reference(arguments)?;
    let config = tools.stubs.clone().unwrap_or_default();
    let session = Session::new(tools.store.clone(), reference.session().clone(), config)
        .with_refs(tools.refs.clone());
    match session.stub(&reference).await {
        Ok(stub) => Ok(Answer::new(cut(&stub, tools.max_chars).to_owned())),
        Err(SessionError::Store(error)) => Err(tools.problem(&error)),
        Err(error) => Err(Problem(error.to_string())),
    }
}
