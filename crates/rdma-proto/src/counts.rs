//! What an endpoint has done, so that the effect of each technique can be counted.

/// Totals of one endpoint since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes of data that have arrived.
    pub bytes_in: u64,
    /// Bytes of data that were posted.
    pub bytes_out: u64,
    /// Messages that have arrived: control messages, and data with an immediate.
    pub messages_in: u64,
    /// Times that bytes were copied out of a window.
    pub copies_in: u64,
    /// Bytes that were copied out of a window.
    pub copied_in_bytes: u64,
    /// Times that bytes were copied into registered memory to be sent.
    pub copies_out: u64,
    /// Bytes that were copied into registered memory to be sent.
    pub copied_out_bytes: u64,
    /// Vectors that outgrew their registration and were registered anew.
    pub registered_anew: u64,
    /// Stagings that were registered, those that were registered anew included.
    pub registrations: u64,
    /// Writes that were posted.
    pub writes: u64,
    /// Writes with an immediate.
    pub immediates: u64,
    /// Writes that were inline.
    pub inline: u64,
    /// Control messages that were posted.
    pub sends: u64,
    /// Windows that were announced.
    pub announcements: u64,
    /// Calls that let requests leave.
    pub doorbells: u64,
    /// Calls that gave the device receive entries.
    pub receive_posts: u64,
    /// Requests that were posted with their end to be told.
    pub signalled: u64,
    /// Ends of requests that were told.
    pub completions: u64,
    /// Times that bytes had to wait for the peer to announce a window.
    pub stalls_out: u64,
    /// Times that a window was full and none could be announced yet.
    pub stalls_in: u64,
    /// Windows that the device refused while there were others.
    pub windows_refused: u64,
    /// Un-answered messages at most.
    pub in_flight_high: u64,
    /// Requests at most whose end was not known.
    pub queue_high: u64,
}
