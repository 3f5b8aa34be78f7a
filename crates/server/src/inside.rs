//! The server's back entrance: what runs in the same process reaches the cores here, without a
//! port. A connection is one half of a pair of sockets, which a core serves like any other; what
//! cores have counted comes as mail.

use crate::group;
use crate::mail::mesh::Letterbox;
use crate::mail::message::Message;
use crate::mail::report::CoreReport;
use crate::metrics::Measurement;
use crate::net::port::{Port, PortKind};
use crate::settings::Settings;
use crate::shared::Shared;
use crate::users::{Roles, Users};
use mio::net::TcpStream;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// How long a core may take to say what it has counted: longer than any turn of its loop.
const PATIENCE: Duration = Duration::from_secs(1);

/// The way in. Cheap to share; it outlives the server, and then says that there is none.
#[derive(Clone)]
pub struct Inside {
    letterboxes: Arc<[Letterbox]>,
    shared: Arc<Shared>,
    users: Arc<Users>,
    settings: Arc<Settings>,
    /// The core of the next connection.
    next: Arc<AtomicUsize>,
    /// The part in a group; none for a store on one machine.
    group: Option<Arc<group::Member>>,
}

/// No connection is to be had.
#[derive(Debug, thiserror::Error)]
pub enum InsideError {
    /// There are as many as there may be.
    #[error(
        "the server has {} connections from within its process: use those",
        Inside::CONNECTIONS_MAX
    )]
    TooMany,
    /// The server is busy, or has ended.
    #[error("the server takes no connection at present: it is busy, or stops")]
    Busy,
    /// The system has none.
    #[error("no pair of sockets: {0}")]
    System(#[from] io::Error),
}

impl Inside {
    /// Connections from within the process at most: a door has a few, so that what it asks overlaps
    /// syncs of the log, and makes new ones for those that are lost. They are no clients, so that no
    /// number of clients keeps the doors from the engine.
    pub const CONNECTIONS_MAX: usize = 64;

    pub(crate) fn new(
        letterboxes: Vec<Letterbox>,
        shared: Arc<Shared>,
        settings: &Settings,
    ) -> Inside {
        Inside {
            letterboxes: letterboxes.into(),
            shared,
            users: Arc::clone(&settings.users),
            settings: Arc::new(settings.clone()),
            next: Arc::default(),
            group: None,
        }
    }

    /// The server is a node of a group.
    pub(crate) fn join(&mut self, group: Arc<group::Member>) {
        self.group = Some(group);
    }

    /// The users of the server.
    pub fn users(&self) -> &Arc<Users> {
        &self.users
    }

    /// A connection that speaks RESP, admitted with these roles; it serves every key. It does not
    /// count among the clients, and does not block.
    ///
    /// # Errors
    /// When there are too many, or the server stops.
    pub fn connect(&self, roles: Roles) -> Result<UnixStream, InsideError> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        theirs.set_nonblocking(true)?;
        // What cores call a TCP stream is a descriptor to read and write, which is all that they do
        // with one from here: no option of TCP is set, and no address asked for.
        let stream = TcpStream::from_std(std::net::TcpStream::from(OwnedFd::from(theirs)));
        if self.shared.inside.fetch_add(1, Ordering::Relaxed) >= Inside::CONNECTIONS_MAX {
            self.shared.give_place(true);
            return Err(InsideError::TooMany);
        }
        let core = self.next.fetch_add(1, Ordering::Relaxed) % self.letterboxes.len();
        let port = Port { kind: PortKind::Main, tls: None, inside: Some(roles) };
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        if self.letterboxes[core].post(Message::Welcome { stream, peer, port }).is_err() {
            self.shared.give_place(true);
            return Err(InsideError::Busy);
        }
        Ok(ours)
    }

    /// Asks every core what it has counted, and waits for up to a second. Blocks.
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
            password_hashes: self.users.computed(),
            group: self.group.as_ref().map(|group| group.view()),
        }
    }
}
