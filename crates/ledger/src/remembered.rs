//! Answers that are remembered so that a duplicate is answered and not executed again: the window of an open session,
//! tombstones of closed sessions, transactions. Each kind is packed in one run of bytes, because there are many
//! records, they are rarely read, and their size is bounded: a stored answer to one item takes 48 bytes or less, a
//! tombstone 96 or less.

mod answers;
mod gaps;
mod pack;
mod records;
mod tombstones;
mod transactions;

pub use answers::{Answers, PackedAnswer, StoredAnswer, WindowEntry};
pub(crate) use records::RECEIPT;
pub use records::{PackedRecord, RecordKind, Records};
pub use tombstones::{LateAnswer, Tombstone, TombstoneKind, Tombstones};
pub use transactions::{DebitPart, DebitedItem, Transaction, Transactions};
