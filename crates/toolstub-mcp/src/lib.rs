//! The retrieval tools for clients of the Model Context Protocol.

mod tools;

pub use tools::{Answer, PieceRange, Reach, Tool, Tools};
