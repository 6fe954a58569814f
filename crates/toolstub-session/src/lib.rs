//! Decides which tool results leave the context, puts stubs in their place, and brings them back.
//!
//! A [`Session`] takes the results that answer one assistant message as a [`Turn`] and says what becomes
//! of each: what is over the threshold goes out, then the largest until the turn fits its budget.
//! The decision is a pure function, [`plan`]; what it chooses is stored, and only then is there a stub
//! with a ref. Messages of hosts are understood as they are, in five [`Shape`]s, as JSON text or as
//! values: nothing but the texts that tools returned is touched.
//!
//! This crate never changes a message of an earlier step, never takes a text for a stub because it
//! reads like one, never lets a part grow, and never stores again what a retrieval tool read.
//!
//! ```
//! use std::sync::Arc;
//! use toolstub_core::SessionId;
//! use toolstub_session::{Call, Config, Context, Session, Shape};
//! use toolstub_store::{MemoryBackend, ResultStore};
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let store = ResultStore::new(Arc::new(MemoryBackend::new()));
//! let session = Session::new(store, SessionId::new("s1")?, Config::default());
//!
//! let log = "a steady line of output\\n".repeat(2000);
//! let messages = format!(
//!     r#"[{{"role":"assistant","tool_calls":[{{"id":"c1","function":{{"name":"bash","arguments":"{{}}"}}}}]}},
//!         {{"role":"tool","tool_call_id":"c1","content":"{log}"}}]"#
//! );
//! let short = session.externalize_json(Shape::OpenAiChat, &messages, &Context::default()).await?;
//! assert!(short.messages.len() < 2500);
//! assert!(session.has_stored_results().await?);
//!
//! let whole = session.hydrate_json(Shape::OpenAiChat, &short.messages, &Call::default()).await?;
//! assert_eq!(whole.messages, messages);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod config;
mod describe;
mod error;
mod events;
mod externalize;
mod host;
mod hydrate;
mod json;
mod messages;
mod part;
mod policy;
mod read_back;
mod session;
mod shape;
pub mod splice;
mod turn;
mod vouch;

pub use config::{Config, FailureMode, Strategy, Style};
pub use error::SessionError;
pub use events::{EventPiece, ToolResultHandle};
pub use host::{Host, SystemHost};
pub use hydrate::{Hydrated, Missing};
pub use messages::{Changed, Context, Place, Scope};
pub use part::{Part, ToolPart};
pub use policy::{Plan, Role, Size, plan};
pub use read_back::{is_retrieval, parse_ref};
pub use session::{Identity, Session};
pub use shape::Shape;
pub use toolstub_core::{
    EventId, IdError, Reason, Ref, RefForm, SessionId, Sha256, ToolResultId, UserId,
};
pub use toolstub_render::ReadBack;
pub use toolstub_store::{
    MemoryBackend, ReadRequest, Removed, ResultStore, SearchRequest, SessionStore, StoreError,
};
pub use turn::{
    Call, Externalized, Outcome, Owner, Replacement, Source, Standing, ToolResult, Turn,
};
