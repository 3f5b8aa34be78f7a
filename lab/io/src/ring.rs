//! io_uring: completions in place of readiness. One system call per turn hands over the sends
//! of the last turn and waits for the receives of the next one.
#![expect(unsafe_code, reason = "what is submitted must stay where it is until its completion")]

mod buffers;
mod connection;
mod queues;

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use io_uring::squeue::Entry;
use io_uring::{IoUring, cqueue, opcode, types};
use rustix::io::Errno;
use slab::Slab;

use crate::answer::Responder;
use crate::limits::CONNECTIONS_MAX;
use buffers::{BufferId, LEN, ProvidedBuffers};
use connection::{Connection, Descriptor};
use queues::{Completion, Queues};

/// Submissions that fit before they must be handed over.
const SUBMISSIONS_MAX: u32 = 1_024;
/// Completions that fit; the kernel keeps more for later, at a cost.
const COMPLETIONS_MAX: u32 = 16_384;

/// One way to use the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RingPlan {
    pub(crate) work: Work,
    pub(crate) receive: Receive,
    pub(crate) send: Send,
    pub(crate) files: Files,
    pub(crate) wait: Wait,
}

/// What the others vary in one point.
pub(crate) const RING: RingPlan = RingPlan {
    work: Work::Deferred,
    receive: Receive::Multishot,
    send: Send::Submitted,
    files: Files::Ordinary,
    wait: Wait::One,
};

/// When the kernel runs what an arrival has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// In the wait (`DEFER_TASKRUN`).
    Deferred,
    /// On the next way into the kernel, whatever it is (`COOP_TASKRUN`).
    Cooperative,
}

/// How a receive is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receive {
    /// Once per connection.
    Multishot,
    /// Once per connection, and one completion may cover several buffers.
    Bundled,
    /// After each arrival again.
    Single,
}

/// How replies leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Send {
    /// With the next wait.
    Submitted,
    /// By a system call each; what the socket does not take is submitted.
    Direct,
}

/// How the kernel is told of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Files {
    /// By file descriptor.
    Ordinary,
    /// By number in the ring's own table.
    Registered,
}

/// What ends a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The first completion that is no send of this turn. Sends end as they are submitted, unless
    /// the peer does not read; for those, so that nobody else waits, a millisecond is the limit.
    Arrival,
    /// The first completion.
    One,
    /// So many completions, or the first after so long.
    Batch { events: usize, micros: u32 },
    /// Nothing: the loop looks again and again.
    Busy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Accept,
    Receive,
    Send,
    /// Its completion does not matter.
    Close,
}

/// What a completion tells which submission it belongs to.
fn tag(kind: Kind, key: usize) -> u64 {
    (kind as u64) << 32 | key as u64
}

fn untag(user_data: u64) -> (Kind, usize) {
    let kind = match user_data >> 32 {
        0 => Kind::Accept,
        1 => Kind::Receive,
        2 => Kind::Send,
        _ => Kind::Close,
    };
    (kind, usize::try_from(user_data & u64::from(u32::MAX)).expect("32 bits"))
}

/// Serves until it is killed.
pub(crate) fn serve(listener: TcpListener, plan: RingPlan) -> io::Result<()> {
    // Declared before the ring, so that they outlive it.
    let buffers = ProvidedBuffers::new();
    let mut ring = build(plan)?;
    let (mut submitter, submissions, completions) = ring.split();
    submitter.register_ring_fd()?;
    if plan.files == Files::Registered {
        submitter.register_files_sparse(CONNECTIONS_MAX)?;
    }
    buffers.register(&submitter)?;
    let mut server = Server {
        plan,
        listener,
        buffers,
        queues: Queues::new(submitter, submissions, completions, plan.wait),
        connections: Slab::new(),
        dirty: Vec::new(),
        responder: Responder::default(),
    };
    server.accept()?;
    loop {
        server.turn()?;
    }
}

fn build(plan: RingPlan) -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    builder.setup_single_issuer().setup_submit_all().setup_cqsize(COMPLETIONS_MAX);
    match plan.work {
        Work::Deferred => builder.setup_defer_taskrun(),
        Work::Cooperative => builder.setup_coop_taskrun(),
    };
    if plan.wait == Wait::Busy {
        builder.setup_taskrun_flag();
    }
    builder.build(SUBMISSIONS_MAX)
}

struct Server<'a> {
    plan: RingPlan,
    listener: TcpListener,
    queues: Queues<'a>,
    buffers: ProvidedBuffers,
    connections: Slab<Connection>,
    /// Connections whose replies or state changed in this turn.
    dirty: Vec<usize>,
    responder: Responder,
}

impl Server<'_> {
    fn turn(&mut self) -> io::Result<()> {
        let calls = self.queues.wait()?;
        self.responder.count_system_calls(calls);
        self.responder.count_turn();
        while let Some(completion) = self.queues.next() {
            self.take(completion)?;
        }
        self.queues.release();
        self.buffers.publish();
        while let Some(key) = self.dirty.pop() {
            self.settle(key)?;
        }
        Ok(())
    }

    fn take(&mut self, completion: Completion) -> io::Result<()> {
        let (kind, key) = untag(completion.user_data);
        match kind {
            Kind::Accept => self.accepted(completion)?,
            Kind::Receive => self.received(key, completion),
            Kind::Send => {
                let connection = &mut self.connections[key];
                connection.sent(completion.result);
            }
            Kind::Close => return Ok(()),
        }
        if kind != Kind::Accept && !self.connections[key].dirty {
            self.connections[key].dirty = true;
            self.dirty.push(key);
        }
        Ok(())
    }

    fn accept(&mut self) -> io::Result<()> {
        let entry = opcode::AcceptMulti::new(types::Fd(self.listener.as_raw_fd()))
            .allocate_file_index(self.plan.files == Files::Registered)
            .build();
        self.push(&entry.user_data(tag(Kind::Accept, 0)))
    }

    fn accepted(&mut self, completion: Completion) -> io::Result<()> {
        if !cqueue::more(completion.flags) {
            self.accept()?;
        }
        let number = completion.result()?;
        let descriptor = match self.plan.files {
            Files::Registered => Descriptor::Registered(number),
            Files::Ordinary => {
                // SAFETY: the kernel has just made this descriptor for us and nobody else.
                Descriptor::Owned(unsafe { OwnedFd::from_raw_fd(completion.result) })
            }
        };
        let key = self.connections.insert(Connection::new(descriptor));
        self.receive(key)
    }

    /// Asks for what arrives on a connection.
    fn receive(&mut self, key: usize) -> io::Result<()> {
        let connection = &mut self.connections[key];
        connection.receiving = true;
        let entry = connection.descriptor.receive(self.plan.receive);
        self.push(&entry.user_data(tag(Kind::Receive, key)))
    }

    fn received(&mut self, key: usize, completion: Completion) {
        let connection = &mut self.connections[key];
        connection.receiving = cqueue::more(completion.flags);
        let mut left = match completion.result() {
            Ok(0) => {
                connection.closing = true;
                0
            }
            Ok(len) => len as usize,
            // Every buffer was taken: asked for again when this turn has given some back.
            Err(error) if error == Errno::NOBUFS => 0,
            Err(_) => {
                connection.closing = true;
                0
            }
        };
        // A bundle covers buffers that follow each other in the ring.
        let mut next = cqueue::buffer_select(completion.flags).map(BufferId);
        while let Some(buffer) = next {
            let len = left.min(LEN);
            left -= len;
            connection.receive(self.buffers.bytes(buffer, len), &mut self.responder);
            next = (left > 0).then(|| self.buffers.after(buffer));
            self.buffers.give_back(buffer);
        }
    }

    /// After the completions of a turn: sends, asks again, or ends the connection.
    fn settle(&mut self, key: usize) -> io::Result<()> {
        let connection = &mut self.connections[key];
        connection.dirty = false;
        if connection.closing {
            return self.close(key);
        }
        if connection.has_unsent() {
            if self.plan.send == Send::Direct {
                self.responder.count_system_calls(connection.send_now());
            }
            if let Some(entry) = connection.send() {
                self.push(&entry.user_data(tag(Kind::Send, key)))?;
                self.queues.count_fresh_send();
            }
        }
        let connection = &self.connections[key];
        if connection.closing {
            return self.close(key);
        }
        if connection.receiving { Ok(()) } else { self.receive(key) }
    }

    /// Ends a connection when nothing of it is in the kernel any more.
    fn close(&mut self, key: usize) -> io::Result<()> {
        let connection = &mut self.connections[key];
        if connection.receiving || connection.sending {
            if !connection.shut {
                connection.shut = true;
                let entry = connection.descriptor.shutdown();
                self.push(&entry.user_data(tag(Kind::Close, key)))?;
            }
            return Ok(());
        }
        match self.connections.remove(key).descriptor {
            Descriptor::Owned(descriptor) => drop(descriptor),
            Descriptor::Registered(number) => {
                let entry = opcode::Close::new(types::Fixed(number)).build();
                self.push(&entry.user_data(tag(Kind::Close, key)))?;
            }
        }
        Ok(())
    }

    fn push(&mut self, entry: &Entry) -> io::Result<()> {
        // SAFETY: entries name either no memory (accept, receive into provided buffers, close) or
        // the output of a connection, which is neither changed nor dropped while it is `sending`.
        let calls = unsafe { self.queues.push(entry) }?;
        self.responder.count_system_calls(calls);
        Ok(())
    }
}
