//! What every destination of events offers.

use crate::{Positions, Record, StoreId};
use scurry_service::Position;
use thiserror::Error;

/// An event on its way to a sink.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// The event.
    pub record: &'a Record,
    /// The event in the form that was asked for ([`crate::Form`]), without a line end.
    pub payload: &'a [u8],
    /// Position of the event. For `missed` the position at which reading continues.
    pub at: Position,
}

/// A destination of events.
///
/// The shipper calls [`Sink::resume`], then [`Sink::append`] and [`Sink::flush`] in turn. After any error that may pass
/// it calls `resume` again, and repeats the events from the positions that it returns. So a sink need not know what
/// became of a delivery that failed half way, as long as `resume` says what the destination has.
pub trait Sink: Send {
    /// Connects, and returns the positions up to which the destination has the events of this store. It fails with a
    /// [`SinkError::Refused`] if the destination has events of another store.
    fn resume(&mut self, store: StoreId) -> Result<Positions, SinkError>;

    /// Tells where the events of a thread begin of which the destination has nothing yet. It comes before the thread's
    /// first event. Positions before the first event have none, for instance commits of plain keys.
    fn begin_thread(&mut self, _begin: Position) {}

    /// Takes an event. It may be delivered now or with the next flush. A flush comes before `missed`, so events between
    /// two flushes are of one log of each thread.
    fn append(&mut self, delivery: &Delivery<'_>) -> Result<(), SinkError>;

    /// Delivers all that was appended, with the positions that are reached by it, and returns when the destination
    /// will keep both.
    fn flush(&mut self, reached: &Positions) -> Result<(), SinkError>;

    /// Delivers what was appended since the last flush, while a state is read and its end is not reached: a sink whose
    /// deliveries have their positions as names keeps it until the flush that follows. The positions are those that
    /// were flushed last.
    fn flush_part(&mut self, reached: &Positions) -> Result<(), SinkError> {
        self.flush(reached)
    }

    /// Returns after how many bytes of payload a flush is due, beside the time of the settings.
    fn flush_len(&self) -> usize {
        1 << 20
    }
}

/// Why a sink did not take events. The text says what happened and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SinkError {
    /// It may pass: the shipper waits and tries again.
    #[error("{0}")]
    Unavailable(String),
    /// It will not pass by itself: the shipper ends.
    #[error("{0}")]
    Refused(String),
}
