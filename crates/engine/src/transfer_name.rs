//! Names of transfers, and those of a shard that wait for a step.

use std::collections::VecDeque;

/// The name of a transfer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TransferName {
    pub(crate) payer: Box<[u8]>,
    pub(crate) id: Box<[u8]>,
}

impl TransferName {
    pub(crate) fn new(payer: &[u8], id: &[u8]) -> TransferName {
        TransferName { payer: payer.into(), id: id.into() }
    }
}

/// Transfers of a shard that need a step.
pub(crate) type WaitingTransfers = VecDeque<TransferName>;
