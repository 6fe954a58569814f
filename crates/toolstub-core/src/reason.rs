//! Why a stub stands where it stands.

use std::fmt;

/// Why a tool result was put out of the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Somebody asked for it, whatever the size.
    Requested,
    /// The result alone is over the threshold.
    SingleThreshold,
    /// The results of the turn are together over its budget.
    TurnBudget,
    /// The result is a read-back of an original that is stored already.
    SourceRead,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 4] =
        [Self::Requested, Self::SingleThreshold, Self::TurnBudget, Self::SourceRead];

    /// The reason's name as it stands in a stub.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::SingleThreshold => "single_threshold",
            Self::TurnBudget => "turn_budget",
            Self::SourceRead => "source_read",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
