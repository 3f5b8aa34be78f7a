//! One connection of the load: it sends requests in batches and reads their replies.

use super::latency::Latencies;
use crate::machine::InterruptibleWait;
use crate::server_address::{ServerAddress, Stream};
use anyhow::{Context, Result, anyhow, bail, ensure};
use scurry_resp::client::{Stop, Value, encode};
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// Timeout of a reply.
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);
const RECEIVED_MIN: usize = 64 << 10;
/// Longest reply that is accepted, bytes.
const RECEIVED_MAX: usize = 64 << 20;

/// Source of a connection's requests, which also checks their replies. A slot is one request under way.
pub(super) trait Workload: Send + Sized {
    /// Requests that remove one account or key.
    const REMOVALS: usize;

    /// Makes the load of the accounts or keys with these names, with `slots` requests under way at a time.
    fn new(names: Vec<Vec<u8>>, slots: usize) -> Self;

    /// Appends the next request of a slot.
    fn append_next(&mut self, slot: usize, out: &mut Vec<u8>);

    /// Appends the request that ends the open session of a slot. Returns false if none is open.
    fn append_end(&mut self, slot: usize, out: &mut Vec<u8>) -> bool;

    /// Reads the reply to a slot's request and returns its length.
    fn accept(&mut self, slot: usize, reply: &[u8]) -> Result<usize, Stop>;

    /// Returns a description of the first wrong reply.
    fn fault(&self) -> Option<&str>;

    /// Returns the number of accounts or keys.
    fn len(&self) -> usize;

    /// Appends the requests that a task needs for one account or key.
    fn append_task(&self, task: Task, number: usize, out: &mut Vec<u8>);

    /// Compares the reply to an audit of one account or key with the requests that the server acknowledged.
    fn check_audit(&self, number: usize, reply: &[u8]) -> Result<()>;
}

/// Work before and after the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Creates an account or key: one request, which answers OK.
    Prepare,
    /// Reads the state of an account or key: one request.
    Audit,
    /// Removes an account or key: [`Workload::REMOVALS`] requests, all of which must succeed.
    Remove,
}

/// A connection and its workload.
pub(super) struct Client<W> {
    workload: W,
    depth: usize,
    line: BenchConnection,
}

/// Runs the same work on all clients at the same time, each in its own thread.
pub(super) fn each<W: Workload, T: Send>(
    clients: &mut [Client<W>],
    work: impl Fn(&mut Client<W>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> =
            clients.iter_mut().map(|client| scope.spawn(move || work(client))).collect();
        let outcomes = threads.into_iter().map(|thread| {
            thread.join().unwrap_or_else(|_| Err(anyhow!("a thread of the load panicked")))
        });
        outcomes.collect()
    })
}

impl<W: Workload> Client<W> {
    pub(super) fn connect(server: &ServerAddress, depth: usize, workload: W) -> Result<Client<W>> {
        Ok(Client { workload, depth, line: BenchConnection::connect(server)? })
    }

    /// Keeps all slots busy, then ends the open sessions. Returns the operations of the measured seconds and their
    /// latencies.
    pub(super) fn load(
        &mut self,
        warmup: Duration,
        seconds: Duration,
        patience: &InterruptibleWait,
    ) -> Result<(u64, Latencies)> {
        let (mut operations, mut latencies) = (0, Latencies::new()?);
        let begun = now();
        let slots: Vec<usize> = (0..self.depth).collect();
        while begun.elapsed() < warmup + seconds && patience.check().is_ok() {
            self.line.out.clear();
            for &slot in &slots {
                self.workload.append_next(slot, &mut self.line.out);
            }
            self.exchange(&slots, |sent_at, received_at, count| {
                // The time of the reply decides whether a request counts.
                let since = received_at.duration_since(begun);
                if since >= warmup && since < warmup + seconds {
                    operations += count;
                    latencies.record(received_at.duration_since(sent_at), count);
                }
            })?;
        }
        self.line.out.clear();
        let (workload, out) = (&mut self.workload, &mut self.line.out);
        let open: Vec<usize> =
            slots.into_iter().filter(|&slot| workload.append_end(slot, out)).collect();
        self.exchange(&open, |_, _, _| ())?;
        patience.check()?;
        Ok((operations, latencies))
    }

    /// Sends the requests of these slots and reads the replies.
    fn exchange(
        &mut self,
        slots: &[usize],
        on_replies: impl FnMut(Instant, Instant, u64),
    ) -> Result<()> {
        let Client { workload, line, .. } = self;
        line.exchange(slots.len(), |at, bytes| workload.accept(slots[at], bytes), on_replies)?;
        match workload.fault() {
            Some(fault) => bail!("{fault}"),
            None => Ok(()),
        }
    }

    /// Carries out a task for all accounts or keys. Returns their number.
    pub(super) fn carry_out(&mut self, task: Task, patience: &InterruptibleWait) -> Result<u64> {
        let Client { workload, line, depth } = self;
        let replies_each = if task == Task::Remove { W::REMOVALS } else { 1 };
        for from in (0..workload.len()).step_by(*depth) {
            patience.check()?;
            let until = workload.len().min(from + *depth);
            line.out.clear();
            (from..until).for_each(|number| workload.append_task(task, number, &mut line.out));
            let mut outcome = Ok(());
            line.exchange(
                (until - from) * replies_each,
                |at, bytes| {
                    let (length, reply) = Value::read(bytes)?;
                    if outcome.is_ok() {
                        outcome = match (task, &reply) {
                            (_, Value::Error(error)) => Err(anyhow!("the server says: {error}")),
                            (Task::Audit, _) => workload.check_audit(from + at, &bytes[..length]),
                            _ => Ok(()),
                        };
                    }
                    Ok(length)
                },
                |_, _, _| (),
            )?;
            outcome?;
        }
        Ok(workload.len() as u64)
    }
}

/// A connection that has many requests under way.
pub(super) struct BenchConnection {
    stream: Box<dyn Stream + Send>,
    /// Requests to send next.
    out: Vec<u8>,
    received: Vec<u8>,
}

impl BenchConnection {
    pub(super) fn connect(server: &ServerAddress) -> Result<BenchConnection> {
        let stream = server.connect(ANSWER_PATIENCE)?;
        let mut line = BenchConnection { stream, out: Vec::new(), received: vec![0; RECEIVED_MIN] };
        if let Some(words) = server.auth() {
            let reply = line.ask(&words)?;
            ensure!(!matches!(reply, Value::Error(_)), "the password is refused: {reply}");
        }
        Ok(line)
    }

    /// Sends one request and returns its reply. An error of the server is a reply, too.
    pub(super) fn ask(&mut self, words: &[&str]) -> Result<Value> {
        self.out = encode(words);
        let mut value = Value::Nil;
        self.exchange(
            1,
            |_, bytes| {
                let (length, reply) = Value::read(bytes)?;
                value = reply;
                Ok(length)
            },
            |_, _, _| (),
        )?;
        Ok(value)
    }

    /// Sends the buffered requests and reads `replies` replies. `accept` reads the reply at the start of the bytes and
    /// returns its length. `on_replies` gets the time of sending, the time of each read, and the number of replies that
    /// the read completed.
    fn exchange(
        &mut self,
        replies: usize,
        mut accept: impl FnMut(usize, &[u8]) -> Result<usize, Stop>,
        mut on_replies: impl FnMut(Instant, Instant, u64),
    ) -> Result<()> {
        let sent_at = now();
        self.stream.write_all(&self.out).and_then(|()| self.stream.flush()).context("sending")?;
        let (mut begin, mut end, mut read) = (0, 0, 0);
        while read < replies {
            if begin == end {
                (begin, end) = (0, 0);
            // The buffer is full: move the partial reply to its front, and double the buffer only if that frees
            // nothing.
            } else if end == self.received.len() {
                self.received.copy_within(begin..end, 0);
                (begin, end) = (0, end - begin);
                if end == self.received.len() {
                    ensure!(end < RECEIVED_MAX, "a reply is longer than {RECEIVED_MAX} bytes");
                    self.received.resize(2 * end, 0);
                }
            }
            end += match self.stream.read(&mut self.received[end..]) {
                Ok(0) => bail!("the server closed the connection"),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    bail!("no reply within {} s", ANSWER_PATIENCE.as_secs())
                }
                Err(error) => return Err(error).context("reading replies"),
            };
            let (received_at, before) = (now(), read);
            while read < replies {
                match accept(read, &self.received[begin..end]) {
                    Ok(length) => (begin, read) = (begin + length, read + 1),
                    Err(Stop::Incomplete) => break,
                    Err(Stop::Malformed) => bail!(
                        "a reply is not what was asked for: {}",
                        self.received[begin..end.min(begin + 80)].escape_ascii()
                    ),
                }
            }
            on_replies(sent_at, received_at, (read - before) as u64);
        }
        ensure!(begin == end, "the server sent more than was asked for");
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "a load measures how long replies take")]
fn now() -> Instant {
    Instant::now()
}
