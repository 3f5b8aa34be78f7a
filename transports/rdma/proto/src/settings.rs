//! What an endpoint is, and how it does things. Each technique can be switched off, so that what it
//! brings can be counted.

/// Least and greatest length of a window, bytes.
pub const WINDOW_LEN_MIN: usize = 64 * 1024;
/// See [`WINDOW_LEN_MIN`].
pub const WINDOW_LEN_MAX: usize = 16 * 1024 * 1024;

/// Requests of the send queue that data leaves to control messages: an announcement, a keepalive,
/// a probe and a few answers.
pub(crate) const CONTROL_RESERVE: usize = 8;
/// The least send queue: as much again for data.
const SEND_DEPTH_MIN: usize = 2 * CONTROL_RESERVE;
/// The longest queues: as long as devices have them.
const QUEUE_MAX: usize = 16 * 1024;
/// Windows at most.
const WINDOWS_MAX: usize = 16;
/// Registered vectors under way at most.
const STAGINGS_MAX: usize = 64;

/// Sides of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The side that has accepted: answers questions for features, and sends keepalives.
    Server,
    /// The side that has connected: is asked nothing, and sends no keepalives.
    Client,
}

/// Where bytes are while they are worked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handling {
    /// In the registered memory itself.
    InPlace,
    /// In memory of our own, and copied.
    Copied,
}

/// How an endpoint works. What is out of range is taken for the nearest that is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Replies leave from the vector that they were formed in, or are copied into memory that is
    /// registered once. In place by default: the registration is kept and used again.
    pub output: Handling,
    /// Longest write that is inline, bytes, when the device allows as much; 0 for none. 220 by default:
    /// with its header it fits into 256 bytes of the send queue.
    pub inline_max: usize,
    /// One request of so many is signalled, beside those that free a staging; 1 for all. 16 by default:
    /// completions are then few, and a send queue of the default depth is not half full before
    /// one comes.
    pub signal_every: usize,
    /// One doorbell for all that a call posts, or one for each request. Together by default.
    pub batch_doorbells: bool,
    /// Windows for the peer. 2 by default: the second is announced as soon as the first is full, so that
    /// the peer does not wait until it is read. Each is registered when it is first wanted.
    pub windows: usize,
    /// Length of each window, bytes, from 64 KiB to 16 MiB. 256 KiB by default: room for a thousand
    /// requests, and a tenth of a gigabyte pinned by four hundred connections. The standard's own
    /// default is 1 MiB, but whoever has two windows wants no long ones.
    pub window_len: usize,
    /// Room of a registered vector, bytes. 64 KiB by default, as for TCP.
    pub staging_len: usize,
    /// Registered vectors that may be under way at the same time. 4 by default.
    pub stagings: usize,
    /// Requests of the send queue whose end is not known, at most; 16 is the least. 128 by default: a
    /// turn posts one or two. The device's queue must not be shorter.
    pub send_depth: usize,
    /// Receive entries. 256 by default: a peer that has more messages under way waits for us, since
    /// both sides of our connections try again when there is no entry. The device's queue must
    /// not be shorter.
    pub receives: usize,
    /// Messages of data that the peer has not answered, at most. 512 by default: valkey-server has
    /// 1,024 entries, and a connection to it breaks when they are used up.
    pub in_flight_max: usize,
    /// How a message is known to be answered. Without probes (the default) by its completion, which says
    /// that it has used an entry and not that the entry was given back. With probes a client asks
    /// for features after half of `in_flight_max` messages, and what was sent before is answered
    /// when that is. A client of valkey-server that may have more than 900 messages under way
    /// needs them. A server has none.
    pub probes: bool,
    /// Messages without data that may come at once. 256 by default.
    pub control_burst: u32,
    /// Messages without data that may come in a second beside one for each message with data.
    /// 32 by default; the standard sends one in 3 s.
    pub control_per_s: u32,
    /// A server sends a keepalive so often, ms; 0 for never. 3,000 by default, as the standard says.
    pub keepalive_ms: i64,
    /// A peer is given up that says and takes nothing for so long, ms, though it has something to
    /// take; 0 for never. 15,000 by default, which is five keepalives.
    pub silence_ms: i64,
    /// Registered vectors are given back when nothing has come for so long, ms. 5,000 by default:
    /// registering costs more than many requests.
    pub idle_ms: i64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            output: Handling::InPlace,
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
    /// The same, with every number in its range: what an endpoint works with. Its queue pair has these
    /// depths at least.
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
        // There is a signalled request among those that wait whenever data has to wait for one.
        let data_depth = self.send_depth - CONTROL_RESERVE;
        let signal_every_max = (data_depth.min(self.in_flight_max) / 2).max(1);
        self.signal_every = self.signal_every.clamp(1, signal_every_max);
        self
    }
}
