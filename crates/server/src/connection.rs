//! One connection: reads a bounded amount, executes every complete request, sends the replies
//! with one call, and remembers what is left to do.

pub(crate) mod gather;
pub(crate) mod memory;
pub(crate) mod reader;
mod requests;
mod state;
mod told;
pub(crate) mod turn_requests;

pub(crate) use state::{Executed, Turn};

use crate::connection::memory::Pool;
use crate::connection::reader::Reader;
use crate::execute::client::Client;
use crate::execute::node::Node;
use crate::net::fault::Fault;
use crate::net::tls;
use crate::net::transport::{Arrival, Transport};
use scurry_resp::UNAUTHENTICATED_REQUEST_LEN_MAX;
use state::{Doing, Inlet, Outlet};
use std::io;

/// Discarded from a connection that is being closed, at most, bytes: who sends a longer argument than it may
/// reads why when all of it is sent. Clients of Redis send no longer ones than this.
const DISCARDED_LEN_MAX: usize = 512 * 1024 * 1024;
/// The same of one that has not authenticated.
const UNAUTHENTICATED_DISCARDED_LEN_MAX: usize = 4 * 1024 * 1024;
/// The time in which that is discarded, ms.
const DISCARDING_MS_MAX: i64 = 30_000;

/// A draining connection is closed when nothing has come for this long, ms: what was sent before
/// the signal may still be on its way.
const DRAIN_SILENCE_MS: i64 = 50;
/// A draining connection is read for this long at most, ms: some clients never stop by themselves.
const DRAIN_READING_MS_MAX: i64 = 1_000;

/// A transport, a reader and a client.
pub(crate) struct Connection<T> {
    /// The connection's number on its core.
    key: usize,
    pub(crate) transport: T,
    pub(crate) client: Client,
    /// In the loop's queue.
    pub(crate) queued: bool,
    /// In the core's lobby, since then, ms of uptime.
    pub(crate) waits_since_ms: Option<i64>,
    /// None while nothing has arrived: it is the pool's then.
    reader: Option<Box<Reader>>,
    doing: Doing,
    inlet: Inlet,
    outlet: Outlet,
    /// Lines of MONITOR that the output has no room for yet.
    lines: Vec<u8>,
    /// Keys of the request at the front that were asked for already, and whose reply is under way:
    /// nothing more is read meanwhile.
    begun: usize,
    /// The peer sends nothing more and a reply is waited for: until when, ms of uptime.
    ended_until_ms: Option<i64>,
    /// When something came last.
    arrived_ms: i64,
    /// Something was answered since draining began.
    answered: bool,
    /// True for one that closes behind the reply that it waits for.
    ends_after_reply: bool,
    /// When the first of the requests came that were not answered yet; 0 when there is none.
    since_ns: u64,
    /// Requests that were executed and whose replies are not sent.
    unanswered: u64,
    /// Bytes of the connection that the core's count of memory has.
    counted_bytes: u64,
}

impl<T: Transport> Connection<T> {
    pub(crate) fn new(key: usize, transport: T, client: Client) -> Connection<T> {
        Connection {
            key,
            transport,
            client,
            queued: false,
            waits_since_ms: None,
            reader: None,
            doing: Doing::Serving,
            inlet: Inlet::Quiet,
            outlet: Outlet::Open,
            lines: Vec::new(),
            begun: 0,
            ended_until_ms: None,
            arrived_ms: 0,
            answered: false,
            ends_after_reply: false,
            since_ns: 0,
            unanswered: 0,
            counted_bytes: 0,
        }
    }

    /// The socket says something. `end` is part of what it says about reading: the peer's end
    /// may have come together with its last bytes, and is then not told again.
    pub(crate) fn notice(&mut self, readable: bool, writable: bool, end: bool) {
        self.inlet.notice(readable, end);
        if writable && self.outlet == Outlet::Blocked {
            self.outlet = Outlet::Open;
        }
    }

    /// True for a connection that has asked for something within so many ms, and is not about to end.
    pub(crate) fn is_working(&self, now_ms: i64, within_ms: i64) -> bool {
        now_ms - self.client.active_ms < within_ms && !self.inlet.is_ending()
    }

    /// The server stops.
    pub(crate) fn drain(&mut self) {
        if !matches!(self.doing, Doing::Closing | Doing::Lingering { .. }) {
            self.answered = self.transport.unsent() > 0;
        }
    }

    /// Nothing more is executed for it, and it closes behind the replies that may leave, also that to what it wants of the
    /// group. False where it waits for something else first.
    pub(crate) fn end(&mut self) -> bool {
        match self.doing {
            Doing::Serving => self.doing = Doing::Closing,
            Doing::Awaiting if self.client.wishes => self.ends_after_reply = true,
            _ => return false,
        }
        true
    }

    /// True when a draining connection need not be read any more.
    fn is_quiet(&self, node: &Node) -> bool {
        let Some(since_ms) = node.draining_since_ms else { return false };
        let now_ms = node.now.uptime_ms;
        let silence_ms = now_ms - self.arrived_ms.max(since_ms);
        let silent = !self.inlet.is_readable() && silence_ms >= DRAIN_SILENCE_MS;
        silent || now_ms - since_ms >= DRAIN_READING_MS_MAX
    }

    /// A turn's first part: takes in what has arrived, and finds the first requests of it. An error
    /// is the connection's end, here and in the last part, and nobody's fault here.
    pub(crate) fn arrive(&mut self, node: &mut Node, pool: &mut Pool) -> io::Result<()> {
        if matches!(self.doing, Doing::Lingering { .. }) {
            return Ok(());
        }
        self.outlet.release(node.durable.released());
        if self.outlet.is_held() {
            return Ok(());
        }
        self.publish(node)?;
        self.merge(node, pool);
        self.push(node, pool);
        if self.doing.is_paused() {
            return Ok(());
        }
        self.ended_until_ms = None;
        if self.may_go_on(node) && self.inlet.is_readable() && self.begun == 0 {
            self.receive(node, pool)?;
        }
        if matches!(self.doing, Doing::Serving) {
            let reader = self.reader.get_or_insert_with(|| pool.take_reader());
            reader.find(self.transport.input(), node, &self.client);
        }
        Ok(())
    }

    /// Requests that were found and not executed.
    pub(crate) fn found(&self) -> usize {
        self.reader.as_ref().map_or(0, |reader| reader.found())
    }

    /// True when it has replies that are not durable yet.
    pub(crate) fn has_pending(&self, node: &Node) -> bool {
        self.transport.unsent() > 0 && node.pending().is_some()
    }

    /// The hashes of the first keys of the requests that were found.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = u64> {
        self.reader.iter().flat_map(|reader| reader.hashes())
    }

    /// A turn's last part: sends the replies. `executed` is what [`Connection::execute`] said.
    pub(crate) fn leave(
        &mut self,
        executed: Executed,
        node: &mut Node,
        pool: &mut Pool,
    ) -> io::Result<Turn> {
        if matches!(self.doing, Doing::Lingering { .. }) {
            return self.discard(node, pool);
        }
        if let Outlet::Held(sequence) = self.outlet {
            // It was passed over: its replies wait for the log. They may not have to any more.
            let durable = node.durable.released();
            return Ok(if sequence > durable { Turn::Wait } else { Turn::Again });
        }
        if self.transport.unsent() > 0
            && let Some(sequence) = node.pending()
        {
            self.outlet = Outlet::Held(sequence);
            self.transport.shelve(&mut pool.buffers);
            self.give_reader(pool);
            return Ok(Turn::Hold(sequence));
        }
        self.publish(node)?;
        let waits = executed == Executed::Wait && !self.doing.is_paused();
        if waits && (self.inlet.has_ended() || self.is_quiet(node)) {
            self.doing = Doing::Closing;
        }
        if matches!(self.doing, Doing::Closing) && self.transport.unsent() == 0 {
            return Ok(self.close(node.now.uptime_ms));
        }
        if self.waits_since_ms.is_some() {
            self.transport.economize(&mut pool.buffers);
        } else {
            self.transport.release(&mut pool.buffers);
        }
        self.give_reader(pool);
        // What pauses comes back with a message.
        let more = match self.doing {
            Doing::Serving => !waits || self.inlet.is_readable(),
            Doing::Closing => false,
            _ => !self.doing.is_away(),
        };
        Ok(if more && self.may_go_on(node) { Turn::Again } else { Turn::Wait })
    }

    /// Unsent replies above which it is neither read nor executed, bytes.
    fn unsent_len_max(&self, node: &Node) -> usize {
        let len_max = node.settings.unsent_len_max;
        if self.client.authenticated {
            len_max
        } else {
            len_max.min(UNAUTHENTICATED_REQUEST_LEN_MAX)
        }
    }

    /// True while replies of this core may wait for those of others.
    pub(crate) fn is_gathering(&self) -> bool {
        matches!(self.doing, Doing::Gathering { .. })
    }

    /// True when nothing can be done before somebody else has done something.
    pub(crate) fn is_waiting(&self) -> bool {
        self.outlet.is_held() || self.doing.is_away()
    }

    /// True once for each wait whose reply perhaps nobody takes; it may last until then. The check of
    /// a password ends by itself.
    pub(crate) fn waits_without_peer(&mut self, until_ms: i64) -> bool {
        let is_endless = self.is_waiting() && self.client.entry.is_none();
        let begins = self.inlet.has_end() && self.ended_until_ms.is_none() && is_endless;
        if begins {
            self.ended_until_ms = Some(until_ms);
        }
        begins
    }

    /// True when a wait that [`Connection::waits_without_peer`] has told of still lasts, and has
    /// lasted long enough.
    pub(crate) fn has_waited(&self, now_ms: i64) -> bool {
        self.ended_until_ms.is_some_and(|until_ms| until_ms <= now_ms) && self.is_waiting()
    }

    /// False while the peer has not taken enough of its replies.
    fn may_go_on(&self, node: &Node) -> bool {
        self.transport.unsent() < self.unsent_len_max(node)
    }

    fn publish(&mut self, node: &mut Node) -> io::Result<()> {
        let before = self.transport.unsent();
        if before > 0 && self.outlet == Outlet::Open {
            if !self.transport.publish()? {
                self.outlet = Outlet::Blocked;
            }
            node.counters.bytes_out += (before - self.transport.unsent()) as u64;
            if self.transport.unsent() == 0 && !self.doing.is_paused() {
                self.note_answered(node);
            }
        }
        Ok(())
    }

    /// The replies of all that was executed are sent. Those that were sent together count alike.
    fn note_answered(&mut self, node: &mut Node) {
        if self.unanswered > 0 {
            let duration_ns = node.now_ns.saturating_sub(self.since_ns);
            node.measures.requests.note_each(duration_ns, self.unanswered);
        }
        (self.since_ns, self.unanswered) = (0, 0);
    }

    fn receive(&mut self, node: &mut Node, pool: &mut Pool) -> io::Result<()> {
        if self.since_ns == 0 {
            self.since_ns = node.now_ns;
        }
        let len_max =
            if self.client.authenticated { usize::MAX } else { UNAUTHENTICATED_REQUEST_LEN_MAX };
        let arrival = self.transport.progress(&mut pool.buffers, len_max)?;
        self.inlet.took(arrival);
        if let Arrival::More(len) | Arrival::Drained(len) = arrival
            && len > 0
        {
            node.counters.bytes_in += len as u64;
            self.arrived_ms = node.now.uptime_ms;
        }
        if self.client.command.is_empty() && tls::is_client_hello(self.transport.input()) {
            node.faults.note(self.client.peer, Fault::NotSpoken);
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(())
    }

    /// The pool has the reader while nothing is under way.
    fn give_reader(&mut self, pool: &mut Pool) {
        if let Some(reader) = self.reader.take_if(|reader| reader.is_idle()) {
            pool.give_reader(reader);
        }
    }

    fn close(&mut self, now_ms: i64) -> Turn {
        if self.inlet.has_ended() || !self.answered {
            return Turn::Close;
        }
        self.transport.finish();
        self.doing = Doing::Lingering { discarded: 0, until_ms: now_ms + DISCARDING_MS_MAX };
        self.inlet.notice(true, false);
        Turn::Linger
    }

    /// True for a connection that waits for its peer's end and has read something within so many ms.
    pub(crate) fn still_discards(&self, now_ms: i64, within_ms: i64) -> bool {
        let is_early = matches!(self.doing, Doing::Lingering { until_ms, .. } if now_ms < until_ms);
        is_early && now_ms - self.arrived_ms < within_ms
    }

    fn discard(&mut self, node: &Node, pool: &mut Pool) -> io::Result<Turn> {
        let most = match self.client.authenticated {
            true => DISCARDED_LEN_MAX,
            false => UNAUTHENTICATED_DISCARDED_LEN_MAX,
        };
        let Doing::Lingering { discarded, .. } = &mut self.doing else { return Ok(Turn::Wait) };
        if !self.inlet.is_readable() {
            return Ok(Turn::Wait);
        }
        let arrival = self.transport.progress(&mut pool.buffers, usize::MAX)?;
        let len = self.transport.input().len();
        self.transport.consume(len);
        self.transport.release(&mut pool.buffers);
        *discarded += len;
        if len > 0 {
            self.arrived_ms = node.now.uptime_ms;
        }
        self.inlet.took(arrival);
        Ok(match arrival {
            Arrival::End => Turn::Close,
            _ if *discarded > most => Turn::Close,
            _ if self.inlet.is_readable() => Turn::Again,
            _ => Turn::Wait,
        })
    }
}
