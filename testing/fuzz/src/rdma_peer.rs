//! A hostile peer of RESP over RDMA: whatever it sends and writes, an endpoint delivers the bytes that the peer wrote,
//! or ends with a fault, and keeps its obligations to the device, which the simulated fabric checks.

use scurry_rdma_fabric::{Fabric, Limits, Raw, SimQueue};
use scurry_rdma_proto::fabric::Target;
use scurry_rdma_proto::{Endpoint, Memory, Message, Progress, Role, SendBuffering, Settings};
use std::sync::OnceLock;

/// Length of the endpoint's window in bytes.
const WINDOW_LEN: usize = 65_536;
/// Unread input in bytes at which no more is requested: the user of an endpoint must bound its requests.
const INPUT_LEN_MAX: usize = 500_000;
/// Maximum unsent output in bytes: the user of an endpoint must bound its replies.
const UNSENT_LEN_MAX: usize = 500_000;
/// Maximum bytes that an endpoint may hold: input that grew by its own size and replies, each in a vector that has
/// doubled; windows; and some for small objects.
const HELD_MAX: usize = 4 * INPUT_LEN_MAX + 2 * UNSENT_LEN_MAX + 4 * WINDOW_LEN;
/// Maximum number of acts in one input, because each may move many bytes.
const ACTS_MAX: usize = 400;

/// Runs the input: the first byte selects the settings, the others are acts of two or more bytes.
pub fn check(data: &[u8]) {
    let Some((&first, data)) = data.split_first() else { return };
    let mut run = Run::new(first);
    let mut rest = data;
    for _ in 0..ACTS_MAX {
        let Some((&[act, size], after)) = rest.split_first_chunk::<2>() else { break };
        rest = after;
        if act % 12 == 0 {
            let len = usize::from(size).min(rest.len());
            run.peer.send_bytes(&rest[..len]);
            rest = &rest[len..];
        } else {
            run.act(act, size);
        }
        if !run.listen() {
            break;
        }
    }
    let fabric = run.fabric.clone();
    drop(run);
    assert_eq!(fabric.registered(), (0, 0), "nothing stays registered");
}

struct Run {
    fabric: Fabric,
    end: usize,
    endpoint: Endpoint<SimQueue>,
    peer: Raw,
    /// The window that the endpoint has announced, and how many of its bytes are written.
    window: Option<(Memory, usize)>,
    /// Bytes that the peer has written and announced. `read` counts how many of them were read.
    written: u64,
    read: u64,
    now_ms: i64,
}

impl Run {
    fn new(first: u8) -> Run {
        let output = [SendBuffering::InPlace, SendBuffering::Copied][usize::from(first >> 1 & 1)];
        let settings = Settings {
            output,
            windows: 1 + usize::from(first >> 2 & 1),
            inline_max: if first & 8 == 0 { 0 } else { 220 },
            probes: first & 16 != 0,
            in_flight_max: if first & 32 == 0 { 512 } else { 2 },
            batch_doorbells: first & 64 == 0,
            window_len: WINDOW_LEN,
            staging_len: 1_000,
            ..Settings::default()
        };
        let role = if first & 128 == 0 { Role::Server } else { Role::Client };
        let fabric = Fabric::default();
        let loose = Limits { send_depth: 1 << 20, ..Limits::default() };
        let [end, raw] = fabric.connect([Limits::default(), loose]);
        let queue = SimQueue::new(&fabric, end);
        let mut endpoint = Endpoint::new(queue, role, settings, 0).expect("there is memory");
        endpoint.open(0).expect("nothing is wrong yet");
        let peer = Raw::new(&fabric, raw, 256);
        Run { fabric, end, endpoint, peer, window: None, written: 0, read: 0, now_ms: 0 }
    }

    fn act(&mut self, act: u8, size: u8) {
        match act % 12 {
            1 | 2 => self.write(usize::from(size)),
            3 => self.write(usize::from(size) * 257),
            4 => self.tell(u32::from(size)),
            5 => self.peer.announce(0x1000, 65_536 + u32::from(size / 200), 1),
            6 => self.peer.send(&Message::Keepalive),
            7 => self.consume(usize::from(size)),
            8 => self.consume(usize::from(size) * 257),
            9 => self.form(usize::from(size) * if act & 128 == 0 { 1 } else { 100 }),
            10 => self.now_ms += i64::from(size) * 10,
            _ => self.fabric.break_off(self.end),
        }
    }

    /// Writes the next bytes of the stream, in one piece, and announces them.
    fn write(&mut self, len: usize) {
        let Some((memory, filled)) = &mut self.window else { return };
        let len = len.min(WINDOW_LEN - *filled);
        let bytes = piece(self.written, len).to_vec();
        let to = Target { address: memory.address + *filled as u64, key: memory.key };
        *filled += len;
        self.written += len as u64;
        self.peer.write(&bytes, to, Some(u32::try_from(len).expect("short")));
    }

    /// Announces no bytes when `told` is even, and falsely more bytes than a window holds when it is odd.
    fn tell(&mut self, told: u32) {
        let Some((memory, _)) = self.window else { return };
        let to = Target { address: memory.address, key: memory.key };
        self.peer.write(&[], to, Some(told % 2 * 70_000));
    }

    fn consume(&mut self, len: usize) {
        let shown = self.endpoint.input().len();
        if shown < INPUT_LEN_MAX {
            let found = self.endpoint.progress();
            let more = self.endpoint.input().len() - shown;
            match found {
                Progress::More(new) | Progress::Drained(new) => assert_eq!(new, more),
                Progress::End => assert_eq!(more, 0),
            }
        }
        let input = self.endpoint.input();
        assert!(self.read + input.len() as u64 <= self.written, "more is read than was written");
        assert!(is_stream(self.read, input), "other bytes are shown than were written");
        let len = len.min(input.len());
        self.endpoint.consume(len);
        self.read += len as u64;
    }

    /// Produces no more output than there is room for, as every user of an endpoint must.
    fn form(&mut self, len: usize) {
        let len = len.min(UNSENT_LEN_MAX - self.endpoint.unsent());
        self.endpoint.parts().1.extend((0..len).map(|i| i as u8));
        self.endpoint.commit();
        let _ = self.endpoint.publish();
    }

    /// Lets both sides process the data that has arrived. Returns false when the endpoint has ended.
    fn listen(&mut self) -> bool {
        let mut alive = self.endpoint.tick(self.now_ms).is_ok();
        while alive && (self.fabric.carry(self.end) || self.fabric.complete(self.end)) {}
        while alive && let Some(told) = self.fabric.next_event(self.end) {
            alive = self.endpoint.event(told.event(), self.now_ms).is_ok();
        }
        while self.fabric.carry(self.end) {}
        while let Some(memory) = self.peer.announced() {
            assert!(
                self.window.is_none_or(|(_, filled)| filled == WINDOW_LEN),
                "a window too soon"
            );
            self.window = Some((memory, 0));
        }
        let held = self.endpoint.memory_bytes();
        assert!(held <= HELD_MAX as u64, "{held} bytes are held");
        if !alive {
            assert!(!self.endpoint.is_writable() && self.endpoint.next_due_ms().is_none());
            assert!(self.endpoint.publish().is_err());
        }
        alive
    }
}

/// Bytes after which the stream repeats; no multiple of it is near the length of a window.
const PERIOD: usize = 92_821;

/// Returns the part of the stream from a position on; at most one window.
fn piece(at: u64, len: usize) -> &'static [u8] {
    static STREAM: OnceLock<Vec<u8>> = OnceLock::new();
    let random = |at: usize| ((at % PERIOD) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
    let stream = STREAM
        .get_or_init(|| (0..PERIOD + WINDOW_LEN).map(|at| random(at).to_le_bytes()[0]).collect());
    let from = usize::try_from(at % PERIOD as u64).unwrap_or_default();
    &stream[from..from + len]
}

/// Reports whether these bytes are the stream from this position.
fn is_stream(at: u64, bytes: &[u8]) -> bool {
    let mut chunks = (at..).step_by(WINDOW_LEN).zip(bytes.chunks(WINDOW_LEN));
    chunks.all(|(at, chunk)| piece(at, chunk.len()) == chunk)
}
