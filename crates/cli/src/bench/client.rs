//! One connection of the load: it sends requests in batches and reads their replies.

use super::latency::Latencies;
use crate::machine::Patience;
use crate::server_address::{ServerAddress, Stream};
use anyhow::{Context, Result, anyhow, bail, ensure};
use scurry_resp::client::{Stop, Value, append, encode};
use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// A reply takes no longer than this.
const ANSWER_PATIENCE: Duration = Duration::from_secs(30);
const RECEIVED_MIN: usize = 64 << 10;
/// The longest reply, bytes.
const RECEIVED_MAX: usize = 64 << 20;

/// Requests of one connection, and what they should have done.
pub(super) trait Workload: Send + Sized {
    /// Requests that remove an account or key.
    const REMOVALS: usize;

    /// Makes the load of the accounts or keys with these names; so many are worked on at a time.
    fn new(names: Vec<Vec<u8>>, slots: usize) -> Self;

    /// Appends the next request of a slot.
    fn append_next(&mut self, slot: usize, out: &mut Vec<u8>);

    /// Appends the request that ends the work of a slot; false where nothing is open.
    fn append_end(&mut self, slot: usize, out: &mut Vec<u8>) -> bool;

    /// Reads the reply to a slot's request and returns its length.
    fn accept(&mut self, slot: usize, reply: &[u8]) -> Result<usize, Stop>;

    /// Returns the first reply that was wrong, in words.
    fn fault(&self) -> Option<&str>;

    /// Returns how many accounts or keys there are.
    fn len(&self) -> usize;

    /// Appends the requests of a task about one of these.
    fn append_task(&self, task: Task, number: usize, out: &mut Vec<u8>);

    /// Compares the reply to the audit of one of these with what was acknowledged.
    fn check_audit(&self, number: usize, reply: &Value) -> Result<()>;
}

/// Work before and after the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Makes an account or key: one request, which answers OK.
    Prepare,
    /// Asks what the server has: one request.
    Audit,
    /// Removes it: [`Workload::REMOVALS`] requests, none of which is refused.
    Remove,
}

/// A connection, and the work on it.
pub(super) struct Client<W> {
    workload: W,
    depth: usize,
    line: Line,
}

/// Does the same with all clients at once, each in a thread of its own.
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
        Ok(Client { workload, depth, line: Line::connect(server)? })
    }

    /// Keeps all slots busy, and ends the open sessions. Returns the operations of the measured seconds and how
    /// long they took.
    pub(super) fn load(
        &mut self,
        warmup: Duration,
        seconds: Duration,
        patience: &Patience,
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

    /// Sends the requests of these slots, and takes the replies.
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

    /// Carries out a task about all accounts or keys. Returns how many there are.
    pub(super) fn carry_out(&mut self, task: Task, patience: &Patience) -> Result<u64> {
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
                            (Task::Audit, _) => workload.check_audit(from + at, &reply),
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

/// A connection that many requests are sent on at a time.
pub(super) struct Line {
    stream: Box<dyn Stream + Send>,
    /// The requests that are sent next.
    out: Vec<u8>,
    received: Vec<u8>,
}

impl Line {
    pub(super) fn connect(server: &ServerAddress) -> Result<Line> {
        let stream = server.connect(ANSWER_PATIENCE)?;
        let mut line = Line { stream, out: Vec::new(), received: vec![0; RECEIVED_MIN] };
        if let Some(words) = server.auth() {
            let reply = line.ask(&words)?;
            ensure!(!matches!(reply, Value::Error(_)), "the password is refused: {reply}");
        }
        Ok(line)
    }

    /// Sends one request; an error of the server is a reply, too.
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

    /// Sends all and reads so many replies. `accept` reads the one at the start of some bytes and returns its length;
    /// `on_replies` gets when all was sent, when something came, and how many replies were complete then.
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

/// Appends one request.
pub(super) fn request(out: &mut Vec<u8>, words: &[&[u8]]) {
    append(words, out);
}

#[expect(clippy::disallowed_methods, reason = "a load measures how long replies take")]
fn now() -> Instant {
    Instant::now()
}
