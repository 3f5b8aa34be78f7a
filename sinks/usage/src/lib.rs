//! Usage records: one for each session that has ended, each period of an open one where asked, and each direct debit,
//! refund and late use. They are lines of JSON in files whose names are ranges of positions, as those of events are.
//!
//! The sums of open sessions are in memory. A checkpoint has them as of the positions at its time; a shipper that is started
//! again reads the events after it once more, and leaves out the records that the files have.

mod book;
mod checkpoint;
mod record;
mod session;
mod sink;

pub use record::{BucketUsage, Ending, ItemUsage, Kind, UsageRecord};
pub use sink::UsageSink;
