//! The part of a connection's client that commands can read and change.

use crate::execute::subscriptions::Subscriptions;
use crate::execute::tracking::Mode;
use crate::execute::transaction::Transaction;
use crate::mail::bundle::{Caller, Tracker};
use crate::mail::report::Answer;
use crate::net::port::PortKind;
use crate::ticket::Ticket;
use crate::users::{Roles, User, Users};
use scurry_group::Reading;
use scurry_resp::Protocol;
use scurry_resp::table::Spec;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;

/// An AUTH or HELLO that waits for its verdict.
pub(crate) struct ClientEntry {
    /// Name of the user.
    pub(crate) name: Box<[u8]>,
    /// None for AUTH.
    pub(crate) greeting: Option<Greeting>,
}

/// The settings that HELLO asks for.
pub(crate) struct Greeting {
    pub(crate) protocol: Protocol,
    /// The connection's new name.
    pub(crate) name: Option<Vec<u8>>,
}

/// The state of a connection that commands know.
pub(crate) struct Client {
    pub(crate) id: u64,
    pub(crate) peer: SocketAddr,
    /// The server's end of the connection.
    pub(crate) local: SocketAddr,
    pub(crate) port: PortKind,
    pub(crate) protocol: Protocol,
    pub(crate) authenticated: bool,
    /// True for a connection from within this process.
    pub(crate) inside: bool,
    pub(crate) user: Arc<User>,
    /// Copy of the roles of `user`, where dispatch finds them without following a pointer.
    pub(crate) roles: Roles,
    /// Address to which the verdict on a password is sent.
    pub(crate) ticket: Ticket,
    /// An AUTH or HELLO that waits for its verdict.
    pub(crate) entry: Option<Box<ClientEntry>>,
    /// The thread that reads the events it waits for.
    pub(crate) following: Option<u16>,
    /// True while it waits for the outcome of a request to the group.
    pub(crate) awaits_group: bool,
    /// True while MONITOR shows the client the commands of others.
    pub(crate) monitors: bool,
    /// CLIENT TRACKING, while it is on.
    pub(crate) tracking: Option<Box<Mode>>,
    /// Subscriptions, while there is a channel or a pattern.
    pub(crate) subscriptions: Option<Box<Subscriptions>>,
    /// Answers of the cores to the question that the next command asked.
    pub(crate) told: Option<Vec<Answer>>,
    /// True after READONLY: the client accepts reads from a follower.
    pub(crate) reads_replicas: bool,
    /// Transaction since MULTI or WATCH.
    pub(crate) transaction: Option<Box<Transaction>>,
    pub(crate) name: Vec<u8>,
    pub(crate) library_name: Vec<u8>,
    pub(crate) library_version: Vec<u8>,
    /// Name of the last command.
    pub(crate) command: &'static str,
    pub(crate) created_ms: i64,
    pub(crate) active_ms: i64,
}

impl Client {
    /// Creates the client of a new connection.
    pub(crate) fn new(
        ticket: Ticket,
        (peer, local): (SocketAddr, SocketAddr),
        port: PortKind,
        users: &Users,
        now: Reading,
    ) -> Client {
        let user = users.default_user();
        Client {
            id: ticket.client,
            peer,
            local,
            port,
            ticket,
            entry: None,
            following: None,
            awaits_group: false,
            monitors: false,
            tracking: None,
            subscriptions: None,
            told: None,
            reads_replicas: false,
            transaction: None,
            protocol: Protocol::default(),
            inside: false,
            authenticated: users.is_open(),
            roles: user.roles,
            user,
            name: Vec::new(),
            library_name: Vec::new(),
            library_version: Vec::new(),
            command: "",
            created_ms: now.uptime_ms,
            active_ms: now.uptime_ms,
        }
    }

    /// Returns the caller of requests that other cores execute.
    pub(crate) fn caller(&self, core: u16) -> Caller {
        let tracker = self.tracker(core);
        Caller { protocol: self.protocol, peer: Some(self.peer), tracker }
    }

    /// Returns the tracker of the client's next command, for the core that executes it.
    pub(crate) fn tracker(&self, core: u16) -> Option<Tracker> {
        self.tracking.as_ref().map(|mode| mode.tracker(core, self.ticket))
    }

    /// Notes that a command was executed, refused, or sent to another core.
    pub(crate) fn command_done(&mut self, spec: Option<&Spec>) {
        // CLIENT CACHING before MULTI holds for all commands that EXEC executes.
        if let Some(mode) = &mut self.tracking
            && !self.transaction.as_ref().is_some_and(|begun| begun.is_queueing())
        {
            mode.command_done(spec);
        }
    }

    /// Resets the connection to its initial state, as RESET promises.
    pub(crate) fn reset(&mut self, users: &Users) {
        self.protocol = Protocol::default();
        self.begin_anew(users);
        self.name.clear();
        self.reads_replicas = false;
        self.transaction = None;
        self.subscriptions = None;
    }

    /// Makes the client the user that new connections begin as.
    pub(crate) fn begin_anew(&mut self, users: &Users) {
        self.become_user(users.default_user());
        self.authenticated = users.is_open();
    }

    /// Makes the client this user, who was authenticated.
    pub(crate) fn become_user(&mut self, user: Arc<User>) {
        self.authenticated = true;
        self.roles = user.roles;
        self.user = user;
    }

    /// Returns the flags of CLIENT LIST: in MULTI, tracking, both or neither.
    fn flags(&self) -> &'static str {
        let queues = self.transaction.as_ref().is_some_and(|begun| begun.is_queueing());
        match (queues, self.tracking.is_some()) {
            (true, true) => "xt",
            (true, false) => "x",
            (false, true) => "t",
            (false, false) if self.subscriptions.is_some() => "P",
            (false, false) => "N",
        }
    }

    /// Writes the client's line of CLIENT LIST, without the line break. Names were checked to be printable.
    pub(crate) fn describe(&self, now: Reading, out: &mut String) {
        let text = String::from_utf8_lossy;
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            "id={} addr={} laddr={} name={} age={} idle={} flags={} db=0 resp={} cmd={} \
             user={} lib-name={} lib-ver={}",
            self.id,
            self.peer,
            self.local,
            text(&self.name),
            (now.uptime_ms - self.created_ms) / 1000,
            (now.uptime_ms - self.active_ms) / 1000,
            self.flags(),
            self.protocol.number(),
            if self.command.is_empty() {
                "NULL".to_owned()
            } else {
                self.command.to_ascii_lowercase()
            },
            self.user.name,
            text(&self.library_name),
            text(&self.library_version),
        );
    }
}
