//! A program at one end of a connection, which works like the server: it takes input, reads whole requests,
//! forms its own and publishes them. Only the endpoint's reports wake it up.

use crate::fabric::Fabric;
use crate::queue::SimQueue;
use crate::stream::Stream;
use scurry_model::Random;
use scurry_rdma_proto::{Endpoint, Fault, Progress, Role, Settings};

/// Number of unsent bytes above which a program forms no more requests.
const UNSENT_LEN_MAX: usize = 100_000;

/// Limits of one turn.
#[derive(Clone, Copy, Debug)]
pub struct TurnLimits {
    /// Maximum number of requests to read.
    pub read: usize,
    /// Maximum number of requests to form.
    pub formed: usize,
    /// True to publish.
    pub publish: bool,
}

/// One end and its program.
#[derive(Debug)]
pub struct EndProgram {
    /// Number of the side in the fabric.
    pub end: usize,
    /// Endpoint of the side; `None` after a fault.
    pub endpoint: Option<Endpoint<SimQueue>>,
    /// The fault that ended it.
    pub fault: Option<Fault>,
    /// True when the peer is gone, and everything that it sent was read.
    pub ended: bool,
    /// Requests that the side sends.
    pub requests_out: Stream,
    /// Requests that the side expects.
    pub requests_in: Stream,
    /// Length of the longest request sent or received, bytes.
    longest: usize,
    readable: bool,
    /// True when the side has parsed the input since the last progress; only then it asks for more bytes.
    looked: bool,
    blocked: bool,
}

impl EndProgram {
    /// Creates a program at this end. The connection is established.
    ///
    /// # Panics
    /// When memory is refused.
    #[must_use]
    pub fn new(
        fabric: &Fabric,
        end: usize,
        role: Role,
        settings: Settings,
        streams: [Stream; 2],
    ) -> EndProgram {
        let queue = SimQueue::new(fabric, end);
        let mut endpoint = Endpoint::new(queue, role, settings, 0).expect("there is memory");
        endpoint.open(0).expect("nothing is wrong yet");
        let [requests_out, requests_in] = streams;
        EndProgram {
            end,
            endpoint: Some(endpoint),
            fault: None,
            ended: false,
            requests_out,
            requests_in,
            longest: 0,
            readable: false,
            looked: true,
            blocked: false,
        }
    }

    /// Handles one event. Returns false when there is none.
    pub fn listen(&mut self, fabric: &Fabric, now_ms: i64) -> bool {
        let Some(told) = fabric.next_event(self.end) else { return false };
        self.with(|endpoint| endpoint.event(told.event(), now_ms));
        self.wake();
        true
    }

    /// Runs the endpoint's timers.
    pub fn tick(&mut self, now_ms: i64) {
        self.with(|endpoint| endpoint.tick(now_ms));
        self.wake();
    }

    /// Runs one turn. Returns true when something was read, formed or posted.
    ///
    /// # Panics
    /// When a byte is wrong, or when the endpoint breaks its contract.
    pub fn turn(&mut self, pace: TurnLimits) -> bool {
        let mut changed = self.arrive();
        changed |= self.read(pace.read);
        // The side would read more input in its next turn.
        changed |= self.readable && self.looked && self.is_alive();
        changed |= self.form(pace.formed);
        if pace.publish {
            changed |= self.publish();
        }
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.release_memory();
            self.check_memory();
        }
        changed
    }

    /// Reports whether it has sent and received everything.
    #[must_use]
    pub fn is_done(&self) -> bool {
        let unsent = self.endpoint.as_ref().map_or(0, Endpoint::unsent);
        self.requests_out.next().is_none() && self.requests_in.next().is_none() && unsent == 0
    }

    /// Reports whether it can continue.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.endpoint.is_some() && !self.ended
    }

    /// Returns random limits of a turn.
    #[must_use]
    pub fn pace(random: &mut Random) -> TurnLimits {
        let few = |random: &mut Random| match random.below(4) {
            0 => 0,
            1 => usize::MAX,
            _ => random.below(8),
        };
        TurnLimits { read: few(random), formed: few(random).min(200), publish: random.below(3) > 0 }
    }

    /// Calls the endpoint, and drops it after a fault.
    fn with(&mut self, call: impl FnOnce(&mut Endpoint<SimQueue>) -> Result<(), Fault>) {
        let Some(endpoint) = &mut self.endpoint else { return };
        if let Err(fault) = call(endpoint) {
            self.fault = Some(fault);
            self.endpoint = None;
        }
    }

    fn wake(&mut self) {
        self.readable = true;
        self.blocked &= !self.endpoint.as_ref().is_some_and(Endpoint::is_writable);
    }

    fn arrive(&mut self) -> bool {
        let Some(endpoint) = self.endpoint.as_mut().filter(|_| self.readable && self.looked) else {
            return false;
        };
        self.looked = false;
        let before = endpoint.input().len();
        let found = endpoint.progress();
        let shown = endpoint.input().len() - before;
        self.readable = matches!(found, Progress::More(_));
        match found {
            Progress::More(len) | Progress::Drained(len) => {
                assert!(len == shown, "{len} bytes are told and {shown} are new");
            }
            Progress::End => self.ended = true,
        }
        true
    }

    fn read(&mut self, most: usize) -> bool {
        let Some(endpoint) = &mut self.endpoint else { return false };
        let input = endpoint.input();
        let mut done = 0;
        for _ in 0..most {
            let rest = &input[done..];
            if !Stream::is_whole(rest) {
                break;
            }
            let next = self.requests_in.next().expect("no more is said than is to be heard");
            assert!(
                rest.starts_with(next),
                "request at byte {} is another",
                self.requests_in.passed()
            );
            done += next.len();
            self.longest = self.longest.max(next.len());
            self.requests_in.pass();
        }
        endpoint.consume(done);
        self.looked |= most > 0;
        done > 0
    }

    fn form(&mut self, most: usize) -> bool {
        let Some(endpoint) = &mut self.endpoint else { return false };
        let mut formed = 0;
        let before = endpoint.unsent();
        let (_, vector) = endpoint.parts();
        let begin = vector.len();
        while formed < most
            && before + vector.len() - begin < UNSENT_LEN_MAX
            && let Some(next) = self.requests_out.next()
        {
            vector.extend_from_slice(next);
            self.longest = self.longest.max(next.len());
            self.requests_out.pass();
            formed += 1;
        }
        let len = vector.len() - begin;
        endpoint.commit();
        assert_eq!(endpoint.unsent(), before + len, "what is formed waits to be sent");
        formed > 0
    }

    fn publish(&mut self) -> bool {
        let Some(endpoint) = self.endpoint.as_mut().filter(|_| !self.blocked) else { return false };
        let (before, writable) = (endpoint.unsent(), endpoint.is_writable());
        match endpoint.publish() {
            Ok(all) => {
                let sent = before - endpoint.unsent();
                assert_eq!(all, endpoint.unsent() == 0);
                assert!(before == 0 || writable == (sent > 0), "{sent} sent, writable {writable}");
                self.blocked = !all && !endpoint.is_writable();
                assert!(all || self.blocked, "it stops where it need not");
                sent > 0
            }
            Err(fault) => {
                self.fault = Some(fault);
                self.endpoint = None;
                true
            }
        }
    }

    /// Checks that only windows, receive entries, a few vectors and about one request are held.
    fn check_memory(&self) {
        let Some(endpoint) = &self.endpoint else { return };
        let settings = endpoint.settings();
        let vector = 2 * settings.staging_len.max(UNSENT_LEN_MAX + self.longest);
        let windows = settings.windows * settings.window_len;
        let most = windows
            + 32 * settings.receives
            + (2 * settings.stagings + 2) * vector
            + 4 * (self.longest + settings.window_len);
        let held = endpoint.memory_bytes();
        assert!(
            held <= most as u64,
            "{held} bytes are held, {most} are enough: longest {}, {settings:?} {:?}",
            self.longest,
            endpoint.counts()
        );
        assert!(endpoint.pinned_bytes() <= held);
    }
}
