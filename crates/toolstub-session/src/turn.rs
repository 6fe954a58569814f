//! The results of one turn, and what becomes of each.

use bytes::Bytes;
use toolstub_core::{EventId, Reason, Ref, Sha256};

use crate::ToolResultHandle;

/// The call that a tool result answers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Call {
    /// The call's id; empty if the host gives none.
    pub id: String,
    /// The tool's name; empty if it is not known.
    pub name: String,
    /// What the tool was asked, as JSON: an object, or a string that holds one.
    pub input: Option<String>,
}

/// What one tool call returned, where it stands in the messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolResult {
    /// The call that it answers.
    pub call: Call,
    /// What stands in the message.
    pub content: Bytes,
    /// The media type that the tool declared.
    pub mime_type: Option<String>,
    /// What it is already.
    pub standing: Standing,
}

/// What a result is already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Standing {
    /// As the tool returned it: the message has fields that tell stubs, and they say so.
    #[default]
    Raw,
    /// The message has no field that tells. A text is taken for a stub of this session only if it is,
    /// character for character, the stub of something that the store holds.
    Untold,
    /// Of an earlier step: it counts, and stays as it is.
    Settled,
    /// A stub, as the message's fields say.
    Externalized {
        /// The length of its original, in characters.
        original_chars: u64,
    },
}

/// The results that answer one assistant message; they share one budget.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Turn {
    /// The turn's id, or its message's; empty if the host gives none.
    pub id: String,
    /// The message that holds the results; empty if the host gives none.
    pub message_id: String,
    /// What the results belong to.
    pub owner: Owner,
    /// The results, in order.
    pub results: Vec<ToolResult>,
}

/// What a result lives and dies with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Owner {
    /// The session.
    #[default]
    Session,
    /// An event of the session.
    Event(EventId),
    /// An event whose id is made.
    NewEvent,
}

/// What became of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Externalized {
    /// What became of each result, in order.
    pub outcomes: Vec<Outcome>,
    /// The event that the results belong to, if they belong to one.
    pub event: Option<EventId>,
    /// The turn's id.
    pub group_id: String,
    /// The length of all originals of the turn, in characters.
    pub group_original_chars: u64,
    /// What the turn may take, in characters.
    pub group_budget_chars: u64,
}

/// What became of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It stays as it is.
    Kept {
        /// Why it stays although a rule chose it, where storing it failed.
        error: Option<String>,
    },
    /// A stub takes its place.
    Replaced(Box<Replacement>),
}

impl Outcome {
    /// The stub, if there is one.
    pub fn replacement(&self) -> Option<&Replacement> {
        match self {
            Self::Kept { .. } => None,
            Self::Replaced(replacement) => Some(replacement),
        }
    }

    /// What went wrong, if anything did.
    pub fn error(&self) -> Option<&str> {
        match self {
            Self::Kept { error } => error.as_deref(),
            Self::Replaced(replacement) => replacement.error.as_deref(),
        }
    }
}

/// A stub in place of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replacement {
    /// The stub's text. It is shorter than what it replaces.
    pub stub: String,
    /// Why the result went out.
    pub reason: Reason,
    /// The ref that leads back, unless storing failed.
    pub reference: Option<Ref>,
    /// The handle that leads back, where the result belongs to an event.
    pub handle: Option<ToolResultHandle>,
    /// The length of what is replaced, in characters.
    pub original_chars: u64,
    /// The digest of what is stored; that of a read-back is its source's, and not told here.
    pub sha256: Option<Sha256>,
    /// What a read-back was read from.
    pub source: Option<Source>,
    /// What went wrong, where storing failed.
    pub error: Option<String>,
}

/// What a retrieval tool read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The original that it read.
    pub reference: Ref,
    /// What of it.
    pub part: toolstub_render::ReadBack,
}
