//! What the store's tests on object storage stand on.
//!
//! [`FakeS3`] is a small S3 on loopback, in the process of the test: it keeps objects in memory, counts
//! every request and its bytes, and fails where it is told to. [`RealServer`] finds the real ones that
//! `cargo xtask servers start` leaves running.
//!
//! Neither checks what it is not asked to: the fake takes any signature, and only real servers prove
//! that requests are signed as they should be.

mod fake;
mod servers;

pub use fake::{Count, FakeS3, Fault, Operation, Options, Recorded, Rule};
pub use servers::RealServer;
