//! What is remembered so that a duplicate is answered and not executed: the window of an open
//! session, tombstones of closed sessions, transactions. Each is kept packed in one run of
//! bytes, because there are many of them, they are rarely read, and their size is bounded by
//! number: a stored answer to one item takes 48 bytes or less, a tombstone 96 or less.

mod answers;
mod gaps;
mod pack;
mod records;
mod tombstones;
mod transactions;

pub use answers::{Answers, PackedAnswer, StoredAnswer, WindowEntry};
pub use records::{PackedRecord, Records, Remembered};
pub use tombstones::{LateAnswer, Tombstone, TombstoneKind, Tombstones};
pub use transactions::{DebitPart, DebitedItem, Transaction, Transactions};
