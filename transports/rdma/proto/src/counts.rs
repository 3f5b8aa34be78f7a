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

impl Counts {
    /// Adds those of another endpoint; of what is a maximum the greater stays.
    pub fn add(&mut self, other: &Counts) {
        let Counts {
            bytes_in,
            bytes_out,
            messages_in,
            copies_in,
            copied_in_bytes,
            copies_out,
            copied_out_bytes,
            registered_anew,
            registrations,
            writes,
            immediates,
            inline,
            sends,
            announcements,
            doorbells,
            receive_posts,
            signalled,
            completions,
            stalls_out,
            stalls_in,
            windows_refused,
            in_flight_high,
            queue_high,
        } = *other;
        self.bytes_in += bytes_in;
        self.bytes_out += bytes_out;
        self.messages_in += messages_in;
        self.copies_in += copies_in;
        self.copied_in_bytes += copied_in_bytes;
        self.copies_out += copies_out;
        self.copied_out_bytes += copied_out_bytes;
        self.registered_anew += registered_anew;
        self.registrations += registrations;
        self.writes += writes;
        self.immediates += immediates;
        self.inline += inline;
        self.sends += sends;
        self.announcements += announcements;
        self.doorbells += doorbells;
        self.receive_posts += receive_posts;
        self.signalled += signalled;
        self.completions += completions;
        self.stalls_out += stalls_out;
        self.stalls_in += stalls_in;
        self.windows_refused += windows_refused;
        self.in_flight_high = self.in_flight_high.max(in_flight_high);
        self.queue_high = self.queue_high.max(queue_high);
    }
}
