//! Errors with what caused them.

use std::error::Error;
use std::fmt::Write as _;

/// An error and its sources, as one line.
///
/// ```
/// use std::io;
/// use toolstub_core::error_chain;
///
/// #[derive(Debug, thiserror::Error)]
/// #[error("cannot write the record")]
/// struct Unwritten(#[source] io::Error);
///
/// let error = Unwritten(io::Error::other("no space left"));
/// assert_eq!(error_chain(&error), "cannot write the record: no space left");
/// ```
pub fn error_chain(error: &dyn Error) -> String {
    let mut told = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let _ = write!(told, ": {error}");
        source = error.source();
    }
    told
}
