//! Counters of an endpoint, which show the effect of each technique.

/// Totals of one endpoint since it was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes of data received.
    pub bytes_in: u64,
    /// Bytes of data posted.
    pub bytes_out: u64,
    /// Messages received: control messages, and data with an immediate.
    pub messages_in: u64,
    /// Number of copies out of a window.
    pub copies_in: u64,
    /// Bytes copied out of a window.
    pub copied_in_bytes: u64,
    /// Number of copies into registered memory for sending.
    pub copies_out: u64,
    /// Bytes copied into registered memory for sending.
    pub copied_out_bytes: u64,
    /// Vectors that outgrew their registration and were registered again.
    pub reregistrations: u64,
    /// Stagings registered, including those registered again.
    pub registrations: u64,
    /// Writes posted.
    pub writes: u64,
    /// Writes with an immediate.
    pub immediates: u64,
    /// Inline writes.
    pub inline: u64,
    /// Control messages posted.
    pub sends: u64,
    /// Windows announced to the peer.
    pub announcements: u64,
    /// Calls that submitted requests to the device.
    pub doorbells: u64,
    /// Calls that posted receive entries.
    pub receive_posts: u64,
    /// Signalled requests posted.
    pub signalled: u64,
    /// Completions of signalled requests received.
    pub completions: u64,
    /// Times that bytes had to wait for the peer to announce a window.
    pub stalls_out: u64,
    /// Times that a window was full and no other could be announced yet.
    pub stalls_in: u64,
    /// Windows that the device refused while others existed.
    pub windows_refused: u64,
    /// Highest number of unanswered messages.
    pub in_flight_high: u64,
    /// Highest number of requests not known to be complete.
    pub queue_high: u64,
}

impl Counts {
    /// Adds another endpoint's counters. The highest values become the larger of both.
    pub fn add(&mut self, other: &Counts) {
        let Counts {
            bytes_in,
            bytes_out,
            messages_in,
            copies_in,
            copied_in_bytes,
            copies_out,
            copied_out_bytes,
            reregistrations,
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
        self.reregistrations += reregistrations;
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
