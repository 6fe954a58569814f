//! Proof that an original is stored.

use crate::{Metadata, Ref};

/// What a store hands out once an original can be read back.
///
/// A stub that promises a ref is made from a receipt and from nothing else: store first, promise
/// later. Only a store's write path calls [`Receipt::committed`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    reference: Ref,
    metadata: Metadata,
    existed: bool,
}

impl Receipt {
    /// States that `metadata` and its output are durable under `reference`.
    ///
    /// `existed` tells that an earlier write of the same content holds, whose record this is.
    pub fn committed(reference: Ref, metadata: Metadata, existed: bool) -> Self {
        Self { reference, metadata, existed }
    }

    /// The ref by which the original is read.
    pub fn reference(&self) -> &Ref {
        &self.reference
    }

    /// The record as it is stored.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Whether the same content was stored before.
    pub fn existed(&self) -> bool {
        self.existed
    }
}
