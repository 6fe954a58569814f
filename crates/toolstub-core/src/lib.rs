//! The vocabulary of toolstub: the words that every other crate speaks.
//!
//! Here live the closed set of [`Kind`]s, the [`Synopsis`], the ids and the [`Ref`] that leads back to
//! an original, the [`Metadata`] kept beside it, the [`OffsetUnit`]s it is read by, and the few rules
//! about text (what is white space, how a name is cleaned and cut) that must be the same everywhere.
//!
//! This crate never reads a file, a clock or the environment, never hashes, and never formats a stub.
//!
//! ```
//! use toolstub_core::{Ref, SessionId, Sha256, ToolResultId};
//!
//! let sha256 = Sha256::from_bytes([0xab; 32]);
//! let reference = Ref::new(
//!     SessionId::new("agent:main:7")?,
//!     ToolResultId::for_content(Some("call/1"), &sha256),
//! );
//! let uri = "toolstub://session/agent%3Amain%3A7/tool-results/tr_call_1_abababababababababababababababab";
//! assert_eq!(reference.to_string(), uri);
//! assert_eq!(uri.parse::<Ref>()?, reference);
//! # Ok::<(), toolstub_core::IdError>(())
//! ```
//!
//! Next: `toolstub-detect` finds a content's kind, `toolstub-render` writes the stub,
//! `toolstub-store` keeps the original.

mod error_chain;
mod id;
mod kind;
mod metadata;
mod reason;
mod receipt;
mod ref_form;
mod reference;
mod sha256;
mod synopsis;
pub mod text;
mod unit;
pub mod utf8;

pub use error_chain::error_chain;
pub use id::{EventId, IdError, SessionId, ToolResultId, UserId};
pub use kind::{Kind, UnknownKind};
pub use metadata::{Metadata, SCHEMA_VERSION};
pub use reason::Reason;
pub use receipt::Receipt;
pub use ref_form::RefForm;
pub use reference::Ref;
pub use sha256::Sha256;
pub use synopsis::Synopsis;
pub use unit::{OffsetUnit, UnknownUnit};
