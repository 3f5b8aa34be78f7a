//! One connection: reads a bounded amount, executes every complete request, sends the replies
//! with one call, and remembers what is left to do.

use crate::batch::{Batch, Next};
use crate::bundle::Bundle;
use crate::client::Client;
use crate::clock::Reading;
use crate::dispatch;
use crate::fault::Fault;
use crate::gather::{Gather, Merged};
use crate::kept::Room;
use crate::message::Message;
use crate::node::Node;
use crate::pool::Pool;
use crate::reader::Reader;
use crate::report::{Answer, Question};
use crate::ticket::Sender;
use crate::timing::Origin;
use crate::tls;
use crate::transport::{Arrival, Transport};
use crate::users::User;
use crate::web;
use scurry_resp::{Parsed, Protocol, Reply, UNAUTHENTICATED_REQUEST_LEN_MAX};
use std::io;
use std::sync::Arc;

/// Discarded from a connection that is being closed, at most, bytes.
const DISCARDED_LEN_MAX: usize = 4 * 1024 * 1024;

/// A draining connection is closed when nothing has come for this long, ms: what was sent before
/// the signal may still be on its way.
const DRAIN_SILENCE_MS: i64 = 50;
/// A draining connection is read for this long at most, ms: some clients never stop by themselves.
const DRAIN_READING_MS_MAX: i64 = 1_000;

/// What the loop does with the connection after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing until the socket says something.
    Wait,
    /// Nothing until the log is durable up to this sequence.
    Hold(u64),
    /// Another turn, after those of the others.
    Again,
    /// Ask every core, this one included, and go on when [`Connection::told`] has all answers.
    Ask(Question),
    /// Another turn, and the end after a while: the peer has been told, and is waited for.
    Linger,
    /// It is over.
    Close,
}

/// Where it is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// The server stops: answers what was sent before it began to, then closes.
    Draining {
        /// When it began.
        since_ms: i64,
    },
    /// Executes nothing more; closes when the replies are sent.
    Closing,
    /// Has said that nothing more will come; waits for the peer's end, so that the peer sees
    /// the last replies and not a reset.
    Lingering,
}

/// What a connection waits for before it executes more.
#[derive(Debug, Default)]
enum Pause {
    #[default]
    None,
    /// Replies of other cores.
    Gather(Box<Gather>),
    /// What every core says to a question: so many have still to say it.
    Answers { missing: usize, told: Vec<Answer> },
    /// The reply to one request: the verdict on the password of an AUTH or HELLO, or events.
    Reply,
}

/// A transport, a reader and a client.
pub(crate) struct Connection<T> {
    /// Its number on its core.
    key: usize,
    pub(crate) transport: T,
    pub(crate) client: Client,
    /// In the loop's queue.
    pub(crate) queued: bool,
    /// In the core's lobby, since then, ms of uptime.
    pub(crate) waits_since_ms: Option<i64>,
    /// None while nothing has arrived: it is the pool's then.
    reader: Option<Box<Reader>>,
    pause: Pause,
    phase: Phase,
    /// Its replies show this sequence, which has to be durable before they leave.
    hold: Option<u64>,
    /// What it was shown as a watcher and has no place for yet.
    lines: Vec<u8>,
    /// Keys of the request at the front that were asked for already, and whose reply is under way:
    /// nothing more is read meanwhile.
    begun: usize,
    /// The socket may hold more than was read.
    readable: bool,
    /// The socket takes nothing until it says so.
    blocked: bool,
    /// The socket has said that the peer's end comes after what can be read.
    end_announced: bool,
    /// The peer sends nothing more.
    ended: bool,
    /// The peer sends nothing more and a reply is waited for: until when, ms of uptime.
    ended_until_ms: Option<i64>,
    /// When something came last.
    arrived_ms: i64,
    /// Something was answered since draining began.
    answered: bool,
    discarded: usize,
    /// When the first of the requests came that were not answered yet; 0 when there is none.
    since_ns: u64,
    /// Requests that were executed and whose replies are not sent.
    unanswered: u64,
    /// What the core counts of its memory.
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
            pause: Pause::None,
            phase: Phase::Open,
            hold: None,
            lines: Vec::new(),
            begun: 0,
            readable: false,
            blocked: false,
            end_announced: false,
            ended: false,
            ended_until_ms: None,
            arrived_ms: 0,
            answered: false,
            discarded: 0,
            since_ns: 0,
            unanswered: 0,
            counted_bytes: 0,
        }
    }

    /// The socket says something. `end` is part of what it says about reading: the peer's end
    /// may have come together with its last bytes, and is then not told again.
    pub(crate) fn notice(&mut self, readable: bool, writable: bool, end: bool) {
        self.readable |= readable || end;
        self.blocked &= !writable;
        self.end_announced |= end;
    }

    /// The server stops.
    pub(crate) fn drain(&mut self, now: Reading) {
        if self.phase == Phase::Open {
            self.phase = Phase::Draining { since_ms: now.uptime_ms };
            self.answered = self.transport.unsent() > 0;
        }
    }

    /// True when a draining connection need not be read any more.
    fn is_quiet(&self, now: Reading) -> bool {
        let Phase::Draining { since_ms } = self.phase else { return false };
        let silence_ms = now.uptime_ms - self.arrived_ms.max(since_ms);
        let silent = !self.readable && silence_ms >= DRAIN_SILENCE_MS;
        silent || now.uptime_ms - since_ms >= DRAIN_READING_MS_MAX
    }

    /// A turn's first part: takes in what has arrived, and finds the first requests of it. An error
    /// is the connection's end, here and in the last part, and nobody's fault here.
    pub(crate) fn arrive(&mut self, node: &mut Node, pool: &mut Pool) -> io::Result<()> {
        if self.phase == Phase::Lingering {
            return Ok(());
        }
        let durable = node.durable.durable();
        self.hold = self.hold.filter(|&sequence| sequence > durable);
        if self.hold.is_some() {
            return Ok(());
        }
        if !self.blocked {
            self.publish(node)?;
        }
        self.merge(node, pool);
        self.push(node, pool);
        if self.is_paused() {
            return Ok(());
        }
        self.ended_until_ms = None;
        if self.may_go_on(node) && self.readable && !self.ended && self.begun == 0 {
            self.receive(node, pool)?;
        }
        if self.phase != Phase::Closing {
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
        executed: Turn,
        node: &mut Node,
        pool: &mut Pool,
    ) -> io::Result<Turn> {
        if self.phase == Phase::Lingering {
            return self.discard(pool);
        }
        if let Some(sequence) = self.hold {
            // It was passed over: its replies wait for the log. They may not have to any more.
            let durable = node.durable.durable();
            return Ok(if sequence > durable { Turn::Wait } else { Turn::Again });
        }
        if self.transport.unsent() > 0
            && let Some(sequence) = node.pending()
        {
            self.hold = Some(sequence);
            self.transport.shelve(&mut pool.buffers);
            self.give_reader(pool);
            return Ok(Turn::Hold(sequence));
        }
        if !self.blocked {
            self.publish(node)?;
        }
        let waits = executed == Turn::Wait && !self.is_paused();
        if waits && (self.ended || self.is_quiet(node.now)) {
            self.phase = Phase::Closing;
        }
        if self.phase == Phase::Closing && !self.is_paused() && self.transport.unsent() == 0 {
            return Ok(self.close());
        }
        if self.waits_since_ms.is_some() {
            self.transport.economize(&mut pool.buffers);
        } else {
            self.transport.settle(&mut pool.buffers);
        }
        self.give_reader(pool);
        // What pauses comes back with a message.
        let more = self.phase != Phase::Closing && (!waits || self.readable) && !self.is_away();
        Ok(if more && self.may_go_on(node) { Turn::Again } else { Turn::Wait })
    }

    /// What the connection holds, bytes: itself and its buffers.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let transaction = self.client.transaction.as_ref().map_or(0, |begun| begun.memory_bytes());
        let tracking = self.client.tracking.as_ref().map_or(0, |mode| mode.memory_bytes());
        let reader = self.reader.as_ref().map_or(0, Room::room);
        let pause = match &self.pause {
            Pause::None | Pause::Reply => 0,
            Pause::Gather(gather) => gather.memory_bytes(),
            Pause::Answers { told, .. } => told.iter().map(Answer::memory_bytes).sum(),
        };
        size_of::<Self>() as u64
            + self.transport.memory_bytes()
            + transaction
            + tracking
            + pause
            + (reader + self.lines.capacity()) as u64
    }

    /// Keeps the core's count of its connections' memory right.
    pub(crate) fn count_memory(&mut self, node: &mut Node) {
        let bytes = self.memory_bytes();
        let all = self.counted_in(node);
        *all = *all - self.counted_bytes + bytes;
        self.counted_bytes = bytes;
    }

    /// The connection is closed: what was counted goes.
    pub(crate) fn forget_memory(&self, node: &mut Node) {
        *self.counted_in(node) -= self.counted_bytes;
    }

    /// Whose memory it is.
    fn counted_in<'n>(&self, node: &'n mut Node) -> &'n mut u64 {
        match self.waits_since_ms {
            None => &mut node.connection_bytes,
            Some(_) => &mut node.lobby_bytes,
        }
    }

    /// True when it is in the lobby and need not be, or should be and is not: a connection is in when
    /// it has ended its handshake and its user has shown a password, or needs none.
    pub(crate) fn is_misplaced(&self) -> bool {
        let is_in = self.client.authenticated && !self.transport.is_handshaking();
        is_in == self.waits_since_ms.is_some()
    }

    /// In the lobby since then, or not any more.
    pub(crate) fn wait_since(&mut self, since_ms: Option<i64>, node: &mut Node) {
        *self.counted_in(node) -= self.counted_bytes;
        self.waits_since_ms = since_ms;
        *self.counted_in(node) += self.counted_bytes;
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

    /// Takes what a watcher gets, for its next turn. False when it does not read fast enough.
    pub(crate) fn show(&mut self, lines: &[u8], node: &Node) -> bool {
        if self.lines.len() + lines.len() > node.settings.unsent_len_max {
            return false;
        }
        self.lines.extend_from_slice(lines);
        true
    }

    /// Takes what a client that tracks is told: a key has changed, or none for all of them. Its next
    /// turn writes it. RESP2 has no pushes.
    pub(crate) fn tell(&mut self, key: Option<&[u8]>, node: &Node) {
        if let Some(mode) = &mut self.client.tracking
            && self.client.protocol == Protocol::Resp3
        {
            mode.tell(key, node.settings.unsent_len_max);
        }
    }

    /// Writes what it was told and shown, between replies: never while some wait to be merged, and
    /// behind those that were executed before, and not within a long one.
    fn push(&mut self, node: &Node, pool: &mut Pool) {
        if self.client.tracking.is_none() && self.lines.is_empty()
            || self.is_gathering()
            || self.begun > 0
            || !self.may_go_on(node)
        {
            return;
        }
        let pushes = self.client.tracking.as_mut().and_then(|mode| mode.take());
        if pushes.is_none() && self.lines.is_empty() {
            return;
        }
        let (_, out) = self.transport.parts(&mut pool.buffers);
        out.extend_from_slice(&pushes.unwrap_or_default());
        out.extend_from_slice(&std::mem::take(&mut self.lines));
        self.transport.commit();
    }

    fn is_paused(&self) -> bool {
        !matches!(self.pause, Pause::None)
    }

    /// True while replies of this core may wait for those of others.
    pub(crate) fn is_gathering(&self) -> bool {
        matches!(self.pause, Pause::Gather(_))
    }

    /// True when nothing can be done before somebody else has done something.
    pub(crate) fn is_waiting(&self) -> bool {
        self.hold.is_some() || self.is_away()
    }

    /// True once for each wait whose reply perhaps nobody takes; it may last until then. The check of
    /// a password ends by itself.
    pub(crate) fn waits_without_peer(&mut self, until_ms: i64) -> bool {
        let is_endless = self.is_waiting() && self.client.entry.is_none();
        let begins = self.end_announced && self.ended_until_ms.is_none() && is_endless;
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

    /// True when nothing can be done before another core says something.
    fn is_away(&self) -> bool {
        match &self.pause {
            Pause::None => false,
            Pause::Gather(gather) => gather.away > 0,
            Pause::Answers { .. } | Pause::Reply => true,
        }
    }

    pub(crate) fn sender(&self, core: u16) -> Sender {
        Sender { core, connection: self.key, client: self.client.id }
    }

    /// A core has executed requests of this connection.
    pub(crate) fn returned(&mut self, core: u16, bundle: Box<Bundle>) {
        if let Pause::Gather(gather) = &mut self.pause {
            gather.returned(core, bundle);
        }
    }

    /// So many cores will be asked; answers come with [`Connection::told`].
    pub(crate) fn asks(&mut self, cores: usize) {
        self.pause = Pause::Answers { missing: cores, told: Vec::with_capacity(cores) };
    }

    /// A core has answered the question. True when it was the last one.
    pub(crate) fn told(&mut self, answer: Answer) -> bool {
        let Pause::Answers { missing, told } = &mut self.pause else { return false };
        told.push(answer);
        *missing = missing.saturating_sub(1);
        if *missing > 0 {
            return false;
        }
        self.client.told = Some(std::mem::take(told));
        self.pause = Pause::None;
        true
    }

    /// Answers the AUTH or HELLO that has waited for the verdict, and goes on.
    pub(crate) fn admit(&mut self, node: &mut Node, user: Option<Arc<User>>, pool: &mut Pool) {
        debug_assert!(matches!(self.pause, Pause::Reply), "one verdict for each wait");
        let (_, out) = self.transport.parts(&mut pool.buffers);
        dispatch::finish(node, &mut self.client, user, out);
        self.transport.commit();
        self.answered = true;
        self.pause = Pause::None;
    }

    /// Takes the events that it has waited for, and goes on.
    pub(crate) fn hand_over(&mut self, reply: &[u8], pool: &mut Pool) {
        debug_assert!(matches!(self.pause, Pause::Reply), "one reply for each wait");
        let (_, out) = self.transport.parts(&mut pool.buffers);
        out.extend_from_slice(reply);
        self.transport.commit();
        self.answered = true;
        self.client.watching = None;
        self.pause = Pause::None;
    }

    /// Writes the replies that have come from other cores, and sends them more to do when what
    /// they had was cut.
    fn merge(&mut self, node: &mut Node, pool: &mut Pool) {
        let Pause::Gather(gather) = &mut self.pause else { return };
        if gather.away > 0 {
            return;
        }
        let unsent = self.transport.unsent();
        let (_, out) = self.transport.parts(&mut pool.buffers);
        let room = node.settings.unsent_len_max.saturating_sub(unsent);
        let len_max = out.len() + room;
        loop {
            match gather.merge(out, self.client.protocol, len_max) {
                Merged::Full => break,
                Merged::Done => {
                    if let Pause::Gather(mut gather) = std::mem::take(&mut self.pause) {
                        if !gather.guards.is_empty() {
                            let transaction = self.client.transaction.get_or_insert_default();
                            transaction.guard(&mut gather.guards);
                        }
                        gather.end(&mut pool.bundles);
                    }
                    break;
                }
                // Those before it have written much: it goes on when the log has taken some.
                Merged::Cut(core) if core == node.core && node.is_congested() => break,
                Merged::Cut(core) => {
                    let Some(mut bundle) = gather.again(core) else { break };
                    if core == node.core {
                        bundle.execute(node);
                        gather.returned(core, bundle);
                        continue;
                    }
                    let sender =
                        Sender { core: node.core, connection: self.key, client: self.client.id };
                    node.mesh.send(core, Message::Work(sender, bundle));
                    break;
                }
            }
        }
        self.transport.commit();
        self.answered = true;
    }

    /// False while the peer has not taken enough of its replies.
    fn may_go_on(&self, node: &Node) -> bool {
        self.transport.unsent() < self.unsent_len_max(node)
    }

    fn publish(&mut self, node: &mut Node) -> io::Result<()> {
        let before = self.transport.unsent();
        if before > 0 {
            self.blocked = !self.transport.publish()?;
            node.counters.bytes_out += (before - self.transport.unsent()) as u64;
            if self.transport.unsent() == 0 && !self.is_paused() {
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
        match self.transport.progress(&mut pool.buffers, len_max)? {
            Arrival::More(len) => {
                node.counters.bytes_in += len as u64;
                self.arrived_ms = node.now.uptime_ms;
            }
            Arrival::Drained(len) => {
                node.counters.bytes_in += len as u64;
                if len > 0 {
                    self.arrived_ms = node.now.uptime_ms;
                }
                self.readable = len > 0 && self.end_announced;
            }
            Arrival::End => {
                self.ended = true;
                self.readable = false;
            }
        }
        if self.client.command.is_empty() && tls::is_client_hello(self.transport.input()) {
            node.faults.note(self.client.peer, Fault::NotSpoken);
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(())
    }

    /// A turn's middle part: executes complete requests until there is none (`Wait`), until there
    /// are too many replies (`Again`), or until somebody else has to do something first (`Ask`, or
    /// `Wait` and a pause). The replies are formed and not sent.
    pub(crate) fn execute(&mut self, node: &mut Node, pool: &mut Pool) -> Turn {
        if self.phase == Phase::Lingering || self.is_paused() || self.hold.is_some() {
            return Turn::Wait;
        }
        if node.is_congested() {
            return Turn::Again;
        }
        let mut reader = self.reader.take().unwrap_or_else(|| pool.take_reader());
        let room = self.unsent_len_max(node).saturating_sub(self.transport.unsent());
        let (input, out) = self.transport.parts(&mut pool.buffers);
        let begin = out.len();
        let mut batch = Batch {
            core: node.core,
            out_len_max: begin + room,
            out,
            gather: Gather::default(),
            begun: self.begun,
            spare: &mut pool.bundles,
        };
        let mut done = 0;
        node.batch_began();
        let turn = loop {
            if self.phase == Phase::Closing {
                reader.restart();
                done = input.len();
                break Turn::Wait;
            }
            let rest = &input[done..];
            if !reader.is_ahead() {
                reader.find(rest, node, &self.client);
                node.touch(reader.hashes());
            }
            let found = reader.found();
            let inline = reader.ends_inline();
            let mut stop = None;
            let mut executed = 0;
            while executed < found && stop.is_none() {
                let (spec, args) = reader.request(rest, executed);
                if (spec.is_none() || inline) && web::is_http(args, inline && executed + 1 == found)
                {
                    node.counters.protocol_errors += 1;
                    node.faults.note(self.client.peer, Fault::Http);
                    self.phase = Phase::Closing;
                    break;
                }
                node.first_hash = reader.hash(executed);
                match batch.request(node, &mut self.client, spec, args) {
                    Next::Go => executed += 1,
                    Next::Again => stop = Some(Turn::Again),
                    Next::Wait | Next::Part => stop = Some(Turn::Wait),
                    Next::Ask(question) => stop = Some(Turn::Ask(question)),
                    Next::Pause => {
                        executed += 1;
                        self.pause = Pause::Reply;
                        stop = Some(Turn::Wait);
                    }
                    Next::Scatter => {
                        executed += 1;
                        stop = Some(Turn::Wait);
                    }
                    Next::Close => {
                        executed += 1;
                        self.phase = Phase::Closing;
                        break;
                    }
                }
            }
            self.unanswered += executed as u64;
            let (len, parsed) = match stop {
                // What was found stays found, since nothing before it goes: it may be long.
                Some(_) if executed == 0 => (0, None),
                _ => reader.executed(executed),
            };
            done += len;
            match (stop, parsed) {
                (Some(turn), _) => break turn,
                // Its place is behind the replies that other cores have still to give.
                (None, Some(Parsed::Error(_))) if found == 0 && !batch.gather.is_empty() => {
                    reader.restart();
                    break Turn::Wait;
                }
                (None, Some(Parsed::Error(error))) if found == 0 => {
                    node.counters.protocol_errors += 1;
                    Reply::new(batch.out, self.client.protocol).error(format_args!("ERR {error}"));
                    self.phase = Phase::Closing;
                }
                // Nothing more has arrived in full.
                (None, Some(Parsed::Incomplete(_))) if self.phase != Phase::Closing => {
                    break Turn::Wait;
                }
                _ => {}
            }
        };
        node.first_hash = None;
        node.batch_ended(Origin::Client(&self.client));
        self.answered |= batch.out.len() > begin;
        let gather = batch.gather;
        self.begun = batch.begun;
        self.reader = Some(reader);
        if done > 0 {
            self.client.active_ms = node.now.uptime_ms;
        }
        self.transport.consume(done);
        self.transport.commit();
        if !gather.is_empty() {
            self.scatter(node, gather);
        }
        turn
    }

    /// Sends what other cores have to execute, and executes meanwhile what is to be done here.
    fn scatter(&mut self, node: &mut Node, mut gather: Gather) {
        let (core, sender) = (node.core, self.sender(node.core));
        let mut own = None;
        for (to, bundle) in gather.leaving() {
            if to == core {
                own = Some(bundle);
            } else {
                node.mesh.send(to, Message::Work(sender, bundle));
            }
        }
        if let Some(mut bundle) = own {
            bundle.execute(node);
            gather.returned(core, bundle);
        }
        self.pause = Pause::Gather(Box::new(gather));
    }

    /// The pool has the reader while nothing is under way.
    fn give_reader(&mut self, pool: &mut Pool) {
        if let Some(reader) = self.reader.take_if(|reader| reader.is_idle()) {
            pool.give_reader(reader);
        }
    }

    fn close(&mut self) -> Turn {
        if self.ended || !self.answered {
            return Turn::Close;
        }
        self.transport.finish();
        self.phase = Phase::Lingering;
        self.readable = true;
        Turn::Linger
    }

    fn discard(&mut self, pool: &mut Pool) -> io::Result<Turn> {
        if !self.readable {
            return Ok(Turn::Wait);
        }
        let arrival = self.transport.progress(&mut pool.buffers, usize::MAX)?;
        let len = self.transport.input().len();
        self.transport.consume(len);
        self.transport.settle(&mut pool.buffers);
        self.discarded += len;
        match arrival {
            Arrival::End => Ok(Turn::Close),
            _ if self.discarded > DISCARDED_LEN_MAX => Ok(Turn::Close),
            Arrival::More(_) => Ok(Turn::Again),
            Arrival::Drained(len) => {
                self.readable = len > 0 && self.end_announced;
                Ok(if self.readable { Turn::Again } else { Turn::Wait })
            }
        }
    }
}
