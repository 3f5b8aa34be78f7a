//! What the connections of a core lend each other: buffers, readers and bundles. Each has some of it for as
//! long as something is under way.

use crate::connection::reader::Reader;
use crate::kept::Kept;
use crate::mail::bundle::Bundle;
use crate::net::buffers::Buffers;

/// Bundles that are empty; they travel as pointers.
pub(crate) type Spare = Kept<Box<Bundle>>;

/// Buffers, readers and bundles that one core's connections share.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    pub(crate) buffers: Buffers,
    readers: Kept<Box<Reader>>,
    /// Empty; see [`crate::connection::gather::Gather::end`].
    pub(crate) bundles: Spare,
}

impl Pool {
    pub(crate) fn take_reader(&mut self) -> Box<Reader> {
        self.readers.take().unwrap_or_default()
    }

    /// The reader must be idle.
    pub(crate) fn give_reader(&mut self, mut reader: Box<Reader>) {
        reader.shrink();
        self.readers.give(reader);
    }

    /// Memory kept on behalf of connections that are in, bytes. Buffers and readers are kept for
    /// anybody who connects, few and bounded, and so they are not counted: nobody makes commands get
    /// OOM by that.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.bundles.bytes as u64
    }
}
