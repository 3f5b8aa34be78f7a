//! Access to the cores for code in the same process, without a port. A connection is one half of a pair of sockets,
//! which a core serves like any other; the counters of the cores arrive as messages.

use crate::mail::calls::{Call, CallQueue, PendingReply, ReplyQueue};
use crate::mail::mesh::MailboxSender;
use crate::mail::message::Message;
use crate::mail::report::CoreReport;
use crate::metrics::Measurement;
use crate::net::port::{Port, PortKind};
use crate::reload::Reloader;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::slots::Slots;
use crate::users::{Roles, Users};
use mio::net::TcpStream;
use scurry_group::Member;
use scurry_group::peers::Passages;
use scurry_resp::table::Role;
use scurry_service::Request;
use scurry_tls::Certificates;
use std::future::poll_fn;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Timeout for a core to send its counters: longer than any turn of its loop.
const PATIENCE: Duration = Duration::from_secs(1);

/// Access to the cores. Cheap to clone. It outlives the server, and then returns errors.
#[derive(Clone)]
pub struct CoreAccess {
    letterboxes: Arc<[MailboxSender]>,
    /// Queues for the requests of doors, by core.
    intakes: Arc<[Arc<CallQueue>]>,
    shared: Arc<Shared>,
    users: Arc<Users>,
    settings: Arc<Settings>,
    /// Certificates for reloads. None if no port speaks TLS.
    certificates: Option<Certificates>,
    /// The core of the next connection.
    next: Arc<AtomicUsize>,
    /// This node's part in a group; None for a store on one machine.
    group: Option<Arc<Member>>,
}

/// The route of a door to the store.
pub enum DoorRoute {
    /// A connection to the cores of this process, non-blocking.
    Here(UnixStream),
    /// Another node leads.
    Leader(Passage),
}

/// The route to the leader's store, over the connections between nodes. If the group uses TLS, both nodes have
/// authenticated each other.
pub struct Passage(Arc<Passages>);

impl Passage {
    /// Opens a connection like those within the process. Blocks, for up to two seconds.
    ///
    /// # Errors
    /// When the group has no leader, or the leader is unreachable: nothing was sent.
    pub fn open(&self) -> Result<UnixStream, InsideError> {
        self.0.open().map_err(InsideError::NoLeader)
    }
}

/// Sends the requests of one door to the cores of this process.
#[derive(Clone)]
pub struct Calls {
    intakes: Arc<[Arc<CallQueue>]>,
    slots: Slots,
    /// Requests of this round, by core.
    outbox: Arc<Mutex<Vec<Vec<Call>>>>,
    reply_queue: Arc<ReplyQueue>,
}

impl Calls {
    /// Sends a request to the core of its account, together with the requests that other tasks of the door send in the
    /// same round: a core that is woken for each would execute one at a time. The reply arrives once it is as durable
    /// as the server promises. Both need [`Calls::run`].
    pub fn send(&self, request: Request) -> PendingReply {
        let core = usize::from(self.slots.owner_of(request.account()));
        let (ticket, reply) = self.reply_queue.prepare();
        let mut outbox = self.outbox.lock().unwrap_or_else(PoisonError::into_inner);
        outbox[core].push(Call { request, ticket });
        drop(outbox);
        self.reply_queue.wake();
        reply
    }

    /// Hands requests to the cores and replies to the tasks that wait for them. It never returns; a door runs it as a
    /// separate task, which has its turn after the tasks that are ready.
    pub async fn run(self) {
        poll_fn(|context| {
            let waits = self.reply_queue.wake_tasks(context);
            let mut outbox = self.outbox.lock().unwrap_or_else(PoisonError::into_inner);
            for (calls, intake) in outbox.iter_mut().zip(&*self.intakes) {
                if !calls.is_empty() {
                    intake.post(calls);
                }
            }
            waits
        })
        .await
    }
}

/// Reasons why no connection can be opened.
#[derive(Debug, thiserror::Error)]
pub enum InsideError {
    /// The maximum number of connections is open.
    #[error(
        "the server has {} connections from within its process: use those",
        CoreAccess::CONNECTIONS_MAX
    )]
    TooMany,
    /// The server is busy, or has ended.
    #[error("the server takes no connection at present: it is busy, or stops")]
    Busy,
    /// The leader is unreachable, or the group has none.
    #[error("{0}")]
    NoLeader(String),
    /// The system could not create a pair of sockets.
    #[error("no pair of sockets: {0}")]
    System(#[from] io::Error),
}

impl CoreAccess {
    /// Maximum number of connections from within the process. A door has a few, so that its requests overlap syncs of
    /// the log, and replaces lost ones; the doors of other nodes of a group use them as well. They do not count as
    /// clients, so that no number of clients keeps the doors from the engine.
    pub const CONNECTIONS_MAX: usize = 256;

    pub(crate) fn new(
        letterboxes: Vec<MailboxSender>,
        intakes: Vec<Arc<CallQueue>>,
        shared: Arc<Shared>,
        settings: &Settings,
        certificates: Option<Certificates>,
    ) -> CoreAccess {
        CoreAccess {
            letterboxes: letterboxes.into(),
            intakes: intakes.into(),
            shared,
            users: Arc::clone(&settings.users),
            settings: Arc::new(settings.clone()),
            certificates,
            next: Arc::default(),
            group: None,
        }
    }

    /// Makes the server a node of a group.
    pub(crate) fn join(&mut self, group: Arc<Member>) {
        self.group = Some(group);
    }

    /// Returns the handle that reloads users and certificates.
    pub(crate) fn reloader(&self) -> Reloader {
        let (users, letterboxes) = (Arc::clone(&self.users), Arc::clone(&self.letterboxes));
        Reloader { users, certificates: self.certificates.clone(), letterboxes }
    }

    /// Returns the users of the server.
    pub fn users(&self) -> &Arc<Users> {
        &self.users
    }

    /// Reports whether this is a node of a group.
    pub fn is_grouped(&self) -> bool {
        self.group.is_some()
    }

    /// Reports whether commands are executed here: on a store on one machine, and on a node that leads or is about to.
    pub fn leads(&self) -> bool {
        self.group.as_ref().is_none_or(|group| group.view().leads())
    }

    /// Returns the route for a door to the node that executes commands now.
    ///
    /// # Errors
    /// When there are too many connections here, or the server stops.
    pub fn inlet(&self) -> Result<DoorRoute, InsideError> {
        match &self.group {
            Some(group) if !self.leads() => Ok(DoorRoute::Leader(Passage(group.passages()))),
            _ => self.connect().map(DoorRoute::Here),
        }
    }

    /// Returns a sender for the requests of one door to the cores of this process.
    pub fn calls(&self) -> Calls {
        Calls {
            intakes: Arc::clone(&self.intakes),
            slots: self.shared.slots,
            outbox: Arc::new(Mutex::new(self.intakes.iter().map(|_| Vec::new()).collect())),
            reply_queue: Arc::default(),
        }
    }

    /// Opens a non-blocking connection that speaks RESP and serves every key. It has the roles of a door; the door
    /// checks the roles of its users. It does not count among the clients.
    ///
    /// # Errors
    /// When there are too many, or the server stops.
    pub(crate) fn connect(&self) -> Result<UnixStream, InsideError> {
        let roles = Roles::NONE.with(Role::Read).with(Role::Charge).with(Role::Provision);
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        theirs.set_nonblocking(true)?;
        // Cores only read and write this descriptor, so a Unix socket can pass as a TCP stream: they set no option of
        // TCP on it, and do not ask for its address.
        let stream = TcpStream::from_std(std::net::TcpStream::from(OwnedFd::from(theirs)));
        if self.shared.inside.fetch_add(1, Ordering::Relaxed) >= CoreAccess::CONNECTIONS_MAX {
            self.shared.release_connection(true);
            return Err(InsideError::TooMany);
        }
        let core = self.next.fetch_add(1, Ordering::Relaxed) % self.letterboxes.len();
        let port = Port { kind: PortKind::Main, tls: None, inside: Some(roles) };
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        if self.letterboxes[core].post(Message::Welcome { stream, peer, port }).is_err() {
            self.shared.release_connection(true);
            return Err(InsideError::Busy);
        }
        Ok(ours)
    }

    /// Collects the counters of every core. Blocks. Gives up after a second without a report: the entries of missing
    /// cores are None.
    pub fn measure(&self) -> Measurement {
        let (sender, said) = mpsc::channel();
        let mut missing = 0;
        for letterbox in &*self.letterboxes {
            missing += usize::from(letterbox.post(Message::Measure(sender.clone())).is_ok());
        }
        drop(sender);
        let mut cores: Vec<Option<CoreReport>> = self.letterboxes.iter().map(|_| None).collect();
        while missing > 0
            && let Ok(report) = said.recv_timeout(PATIENCE)
        {
            missing -= 1;
            let core = usize::from(report.core);
            cores[core] = Some(report);
        }
        Measurement {
            cores,
            settings: Arc::clone(&self.settings),
            shared: Arc::clone(&self.shared),
            certificate: self.certificates.as_ref().and_then(Certificates::expiry),
            password_hashes: self.users.computed(),
            group: self.group.as_ref().map(|group| group.view()),
            uptime_ms: self.group.as_ref().map_or(0, |group| group.uptime_ms()),
        }
    }
}
