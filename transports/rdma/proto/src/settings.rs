//! Role and settings of an endpoint. Each technique can be switched off, so that its effect can be
//! measured.

/// Minimum length of a window, bytes.
pub const WINDOW_LEN_MIN: usize = 64 * 1024;
/// Maximum length of a window, bytes.
pub const WINDOW_LEN_MAX: usize = 16 * 1024 * 1024;

/// Entries of the send queue that are reserved for control messages: an announcement, a keepalive, a
/// probe and a few answers.
pub(crate) const CONTROL_RESERVE: usize = 8;
/// Minimum depth of the send queue: the reserve, and as much again for data.
const SEND_DEPTH_MIN: usize = 2 * CONTROL_RESERVE;
/// Maximum depth of a queue, about what devices offer.
const QUEUE_MAX: usize = 16 * 1024;
/// Maximum number of windows.
const WINDOWS_MAX: usize = 16;
/// Maximum number of registered vectors in flight.
const STAGINGS_MAX: usize = 64;

/// Sides of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The accepting side: answers feature requests and sends keepalives.
    Server,
    /// The connecting side: gets no feature requests and sends no keepalives.
    Client,
}

/// Where outgoing bytes are formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendBuffering {
    /// In the registered memory itself.
    InPlace,
    /// In ordinary memory, and copied into registered memory.
    Copied,
}

/// Settings of an endpoint. A value out of range is replaced by the nearest allowed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether replies are sent from the vector that they were formed in, or copied into memory that was
    /// registered once. In place by default: the registration is kept and reused.
    pub output: SendBuffering,
    /// Length of the longest inline write, bytes, if the device allows as much; 0 turns inline writes
    /// off. 220 by default: with its header such a write fits into 256 bytes of the send queue.
    pub inline_max: usize,
    /// One request out of this many is signalled, in addition to those that free a staging; 1 signals
    /// all. 16 by default: completions are then few, and a send queue of the default depth is less than
    /// half full when the next completion arrives.
    pub signal_every: usize,
    /// True for one doorbell for all requests that a call posts, false for one doorbell per request.
    /// True by default.
    pub batch_doorbells: bool,
    /// Number of windows for the peer. 2 by default: the second is announced as soon as the first is
    /// full, so that the peer need not wait until the first has been read. Each is registered when it is
    /// first needed.
    pub windows: usize,
    /// Length of each window, bytes, from 64 KiB to 16 MiB. 256 KiB by default: room for a thousand
    /// requests, and a tenth of a gigabyte of pinned memory for four hundred connections. The standard's
    /// default is 1 MiB, but with two windows a long one is not needed.
    pub window_len: usize,
    /// Capacity of a registered vector, bytes. 64 KiB by default, as for TCP.
    pub staging_len: usize,
    /// Number of registered vectors that may be in flight at the same time. 4 by default.
    pub stagings: usize,
    /// Maximum number of requests in the send queue that are not known to be complete; at least 16. 128
    /// by default: a turn posts one or two. The device's queue must not be shorter.
    pub send_depth: usize,
    /// Receive entries. 256 by default: a peer with more messages in flight waits, because both sides of
    /// our connections retry when no entry is free. The device's queue must not be shorter.
    pub receives: usize,
    /// Maximum number of data messages that the peer has not answered. 512 by default: valkey-server has
    /// 1,024 receive entries, and a connection to it breaks when they are used up.
    pub in_flight_max: usize,
    /// How a message counts as answered. Without probes (the default) its completion answers it, which
    /// proves that the message has used an entry, but not that the peer has posted the entry again. With
    /// probes a client sends a feature request when half of `in_flight_max` messages are unanswered, and
    /// the reply answers all messages sent before it. A client of valkey-server that may have more than
    /// 900 messages in flight needs probes. A server never probes.
    pub probes: bool,
    /// Messages without data that may arrive in a burst. 256 by default.
    pub control_burst: u32,
    /// Messages without data that may arrive per second, in addition to one for each message with data.
    /// 32 by default; the standard sends one in 3 s.
    pub control_per_s: u32,
    /// Interval between a server's keepalives, ms; 0 for none. 3,000 by default, as the standard says.
    pub keepalive_ms: i64,
    /// Time after which the connection is closed if the peer neither sends nor acknowledges anything
    /// although something is pending, ms; 0 for never. 15,000 by default, which is five keepalives.
    pub silence_ms: i64,
    /// Registered vectors are deregistered after this time without data, ms. 5,000 by default:
    /// registering costs more than many requests.
    pub idle_ms: i64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            output: SendBuffering::InPlace,
            inline_max: 220,
            signal_every: 16,
            batch_doorbells: true,
            windows: 2,
            window_len: 256 * 1024,
            staging_len: 64 * 1024,
            stagings: 4,
            send_depth: 128,
            receives: 256,
            in_flight_max: 512,
            probes: false,
            control_burst: 256,
            control_per_s: 32,
            keepalive_ms: 3_000,
            silence_ms: 15_000,
            idle_ms: 5_000,
        }
    }
}

impl Settings {
    /// Returns the settings with every value in its range, as an endpoint uses them. Its queue pair must
    /// have at least these depths.
    #[must_use]
    pub fn bounded(mut self, role: Role) -> Settings {
        self.windows = self.windows.clamp(1, WINDOWS_MAX);
        self.window_len = self.window_len.clamp(WINDOW_LEN_MIN, WINDOW_LEN_MAX);
        self.staging_len = self.staging_len.clamp(1, WINDOW_LEN_MAX);
        self.stagings = self.stagings.clamp(1, STAGINGS_MAX);
        self.send_depth = self.send_depth.clamp(SEND_DEPTH_MIN, QUEUE_MAX);
        self.receives = self.receives.clamp(1, QUEUE_MAX);
        self.in_flight_max = self.in_flight_max.max(1);
        self.control_burst = self.control_burst.max(1);
        self.probes &= role == Role::Client;
        // Whenever data waits for a completion, one of the pending requests must be signalled, or it
        // would wait for ever.
        let data_depth = self.send_depth - CONTROL_RESERVE;
        let signal_every_max = (data_depth.min(self.in_flight_max) / 2).max(1);
        self.signal_every = self.signal_every.clamp(1, signal_every_max);
        self
    }
}
