//! One connection. Each turn reads a bounded amount, executes every complete request, and sends the replies with one
//! call; the rest of the work is left to later turns.

pub(crate) mod gather;
pub(crate) mod memory;
mod notifications;
pub(crate) mod reader;
mod requests;
mod state;
pub(crate) mod turn_requests;

pub(crate) use state::{AfterTurn, Executed};

use crate::adapter::Arrival;
use crate::connection::memory::Pool;
use crate::connection::reader::ConnectionReader;
use crate::execute::client::Client;
use crate::execute::node::Node;
use crate::net::fault::Fault;
use crate::net::tls;
use crate::net::transport::Transport;
use scurry_resp::UNAUTHENTICATED_REQUEST_LEN_MAX;
use state::{ConnectionState, InputReadiness, Outlet};
use std::io;

/// Maximum input discarded from a connection that is being closed, bytes: a client that sends a longer argument than it
/// may can read the reason only after it has sent all of it. Clients of Redis send no longer ones than this.
const DISCARDED_LEN_MAX: usize = 512 * 1024 * 1024;
/// The same limit for a connection that has not authenticated.
const UNAUTHENTICATED_DISCARDED_LEN_MAX: usize = 4 * 1024 * 1024;
/// Maximum time for discarding input, ms.
const DISCARDING_MS_MAX: i64 = 30_000;

/// A draining connection is closed when nothing has arrived for this long, ms: input sent before the signal may still
/// be on its way.
const DRAIN_SILENCE_MS: i64 = 50;
/// A draining connection is read for this long at most, ms: some clients never stop by themselves.
const DRAIN_READING_MS_MAX: i64 = 1_000;

/// A transport, a reader and a client.
pub(crate) struct Connection<T> {
    /// The connection's number on its core.
    key: usize,
    pub(crate) transport: T,
    pub(crate) client: Client,
    /// True while it is in the loop's queue.
    pub(crate) queued: bool,
    /// Since when it is in the core's lobby, ms of uptime. None outside of the lobby.
    pub(crate) waits_since_ms: Option<i64>,
    /// None between requests: the pool has the reader then.
    reader: Option<Box<ConnectionReader>>,
    doing: ConnectionState,
    inlet: InputReadiness,
    outlet: Outlet,
    /// MONITOR lines that do not fit into the output yet.
    lines: Vec<u8>,
    /// Number of keys of the first request that were already sent to other cores, with replies still to arrive. Nothing
    /// more is read meanwhile.
    begun: usize,
    /// Deadline for the reply, ms of uptime, when the peer has closed its sending side.
    ended_until_ms: Option<i64>,
    /// When input last arrived, ms of uptime.
    arrived_ms: i64,
    /// Whether a reply was written since draining began.
    answered: bool,
    /// True when it closes after the reply that it waits for.
    ends_after_reply: bool,
    /// When the first unanswered request arrived, ns; 0 when all are answered.
    since_ns: u64,
    /// Number of executed requests whose replies are not sent.
    unanswered: u64,
    /// Bytes of this connection in the core's count of memory.
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
            doing: ConnectionState::Serving,
            inlet: InputReadiness::Quiet,
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

    /// Records an event of the socket. `end` belongs to the read side: the peer's end may be announced together with
    /// its last bytes, and only once.
    pub(crate) fn notice(&mut self, readable: bool, writable: bool, end: bool) {
        self.inlet.notice(readable, end);
        if writable && self.outlet == Outlet::Blocked {
            self.outlet = Outlet::Open;
        }
    }

    /// Reports whether the connection has sent a request within `within_ms` and is not about to end.
    pub(crate) fn is_working(&self, now_ms: i64, within_ms: i64) -> bool {
        now_ms - self.client.active_ms < within_ms && !self.inlet.is_ending()
    }

    /// Prepares the connection for the stop of the server.
    pub(crate) fn drain(&mut self) {
        if !matches!(self.doing, ConnectionState::Closing | ConnectionState::Lingering { .. }) {
            self.answered = self.transport.unsent() > 0;
        }
    }

    /// Stops execution. The connection closes after the replies that may be sent, including the reply to a request to
    /// the group. False where it waits for something else first.
    pub(crate) fn end(&mut self) -> bool {
        match self.doing {
            ConnectionState::Serving => self.doing = ConnectionState::Closing,
            ConnectionState::Awaiting if self.client.awaits_group => self.ends_after_reply = true,
            _ => return false,
        }
        true
    }

    /// Reports whether a draining connection need not be read any more.
    fn is_quiet(&self, node: &Node) -> bool {
        let Some(since_ms) = node.draining_since_ms else { return false };
        let now_ms = node.now.uptime_ms;
        let silence_ms = now_ms - self.arrived_ms.max(since_ms);
        let silent = !self.inlet.is_readable() && silence_ms >= DRAIN_SILENCE_MS;
        silent || now_ms - since_ms >= DRAIN_READING_MS_MAX
    }

    /// The first part of a turn: reads input and finds its first requests. An error ends the connection, here and in
    /// the last part; here it is not counted as a fault.
    pub(crate) fn arrive(&mut self, node: &mut Node, pool: &mut Pool) -> io::Result<()> {
        if matches!(self.doing, ConnectionState::Lingering { .. }) {
            return Ok(());
        }
        self.outlet.release(node.durable.released());
        if self.outlet.is_held() {
            return Ok(());
        }
        // Replies that were held or blocked go out first, then replies of other cores, then notifications: the client
        // sees this order.
        self.publish(node)?;
        self.merge(node, pool);
        self.push(node, pool);
        if self.doing.is_paused() {
            return Ok(());
        }
        // The wait is over; the next one gets a new deadline.
        self.ended_until_ms = None;
        // A client that does not read its replies is not read either, and a long command is finished first.
        if self.may_go_on(node) && self.inlet.is_readable() && self.begun == 0 {
            self.receive(node, pool)?;
        }
        if matches!(self.doing, ConnectionState::Serving) {
            let reader = self.reader.get_or_insert_with(|| pool.take_reader());
            reader.find(self.transport.input(), node, &self.client);
        }
        Ok(())
    }

    /// Returns the number of requests that were found and not executed.
    pub(crate) fn found(&self) -> usize {
        self.reader.as_ref().map_or(0, |reader| reader.found())
    }

    /// Reports whether it has replies that are not durable yet.
    pub(crate) fn has_pending(&self, node: &Node) -> bool {
        self.transport.unsent() > 0 && node.pending().is_some()
    }

    /// Returns the hashes of the first keys of the requests that were found.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = u64> {
        self.reader.iter().flat_map(|reader| reader.hashes())
    }

    /// The last part of a turn: sends the replies. `executed` is the result of [`Connection::execute`].
    pub(crate) fn leave(
        &mut self,
        executed: Executed,
        node: &mut Node,
        pool: &mut Pool,
    ) -> io::Result<AfterTurn> {
        if matches!(self.doing, ConnectionState::Lingering { .. }) {
            return self.discard(node, pool);
        }
        if let Outlet::Held(sequence) = self.outlet {
            // It was skipped because its replies wait for the log, which may have become durable meanwhile.
            let durable = node.durable.released();
            return Ok(if sequence > durable { AfterTurn::AwaitSocket } else { AfterTurn::Yield });
        }
        // Replies that show changes which are not durable yet wait for the log, and so does the connection.
        if self.transport.unsent() > 0
            && let Some(sequence) = node.pending()
        {
            self.outlet = Outlet::Held(sequence);
            self.transport.shrink_buffers(&mut pool.buffers);
            self.give_reader(pool);
            return Ok(AfterTurn::AwaitLog(sequence));
        }
        self.publish(node)?;
        let waits = executed == Executed::Blocked && !self.doing.is_paused();
        // Nothing is left to execute, and the peer has closed or draining has seen silence: close after the replies.
        if waits && (self.inlet.has_ended() || self.is_quiet(node)) {
            self.doing = ConnectionState::Closing;
        }
        if matches!(self.doing, ConnectionState::Closing) && self.transport.unsent() == 0 {
            return Ok(self.close(node.now.uptime_ms));
        }
        // Unauthenticated peers may be many and keep as little memory as possible.
        if self.waits_since_ms.is_some() {
            self.transport.release_idle_memory(&mut pool.buffers);
        } else {
            self.transport.release(&mut pool.buffers);
        }
        self.give_reader(pool);
        // A paused connection gets its next turn through a message.
        let more = match self.doing {
            ConnectionState::Serving => !waits || self.inlet.is_readable(),
            ConnectionState::Closing => false,
            _ => !self.doing.is_away(),
        };
        Ok(if more && self.may_go_on(node) { AfterTurn::Yield } else { AfterTurn::AwaitSocket })
    }

    /// Returns the number of unsent bytes above which the connection is neither read nor executed.
    fn unsent_len_max(&self, node: &Node) -> usize {
        let len_max = node.settings.unsent_len_max;
        if self.client.authenticated {
            len_max
        } else {
            len_max.min(UNAUTHENTICATED_REQUEST_LEN_MAX)
        }
    }

    /// Reports whether replies of this core may wait for replies of others.
    pub(crate) fn is_gathering(&self) -> bool {
        matches!(self.doing, ConnectionState::Gathering { .. })
    }

    /// Reports whether the connection can do nothing before the log or another core or thread has acted.
    pub(crate) fn is_waiting(&self) -> bool {
        self.outlet.is_held() || self.doing.is_away()
    }

    /// Returns true once for each wait whose peer may be gone; the wait may last until `until_ms`. The check of a
    /// password ends by itself and does not count.
    pub(crate) fn waits_without_peer(&mut self, until_ms: i64) -> bool {
        let is_endless = self.is_waiting() && self.client.entry.is_none();
        let begins = self.inlet.has_end() && self.ended_until_ms.is_none() && is_endless;
        if begins {
            self.ended_until_ms = Some(until_ms);
        }
        begins
    }

    /// Reports whether a wait that [`Connection::waits_without_peer`] returned true for has lasted too long.
    pub(crate) fn has_waited(&self, now_ms: i64) -> bool {
        self.ended_until_ms.is_some_and(|until_ms| until_ms <= now_ms) && self.is_waiting()
    }

    /// False while the peer has not read enough of its replies.
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
            // While paused, replies of other cores are still missing, so the requests are not answered yet.
            if self.transport.unsent() == 0 && !self.doing.is_paused() {
                self.note_answered(node);
            }
        }
        Ok(())
    }

    /// Records the latency of the requests whose replies are sent. Requests that were sent together count the same.
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
        // Only the first input of a connection can be a TLS handshake.
        if self.client.command.is_empty() && tls::is_client_hello(self.transport.input()) {
            node.faults.note(self.client.peer, Fault::NotSpoken);
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(())
    }

    /// Returns the reader to the pool while no request is under way.
    fn give_reader(&mut self, pool: &mut Pool) {
        if let Some(reader) = self.reader.take_if(|reader| reader.is_idle()) {
            pool.give_reader(reader);
        }
    }

    fn close(&mut self, now_ms: i64) -> AfterTurn {
        // The orderly end protects replies from a reset: it is needless without replies or after the peer has closed.
        if self.inlet.has_ended() || !self.answered {
            return AfterTurn::Close;
        }
        self.transport.finish();
        self.doing =
            ConnectionState::Lingering { discarded: 0, until_ms: now_ms + DISCARDING_MS_MAX };
        self.inlet.notice(true, false);
        AfterTurn::Linger
    }

    /// Reports whether the connection waits for its peer to close and has read input within `within_ms`.
    pub(crate) fn still_discards(&self, now_ms: i64, within_ms: i64) -> bool {
        let is_early =
            matches!(self.doing, ConnectionState::Lingering { until_ms, .. } if now_ms < until_ms);
        is_early && now_ms - self.arrived_ms < within_ms
    }

    fn discard(&mut self, node: &Node, pool: &mut Pool) -> io::Result<AfterTurn> {
        let most = match self.client.authenticated {
            true => DISCARDED_LEN_MAX,
            false => UNAUTHENTICATED_DISCARDED_LEN_MAX,
        };
        let ConnectionState::Lingering { discarded, .. } = &mut self.doing else {
            return Ok(AfterTurn::AwaitSocket);
        };
        if !self.inlet.is_readable() {
            return Ok(AfterTurn::AwaitSocket);
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
        // A peer that sends without end is cut off, although it may then see a reset.
        Ok(match arrival {
            Arrival::End => AfterTurn::Close,
            _ if *discarded > most => AfterTurn::Close,
            _ if self.inlet.is_readable() => AfterTurn::Yield,
            _ => AfterTurn::AwaitSocket,
        })
    }
}
