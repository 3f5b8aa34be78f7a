//! Who is at the other end of a connection, as far as commands can see and change it.

use crate::clock::Reading;
use crate::report::Answer;
use scurry_resp::Protocol;
use std::fmt::Write;
use std::net::SocketAddr;

/// Through which port a client came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// The main port: every key is served, here or by another core.
    Main,
    /// A core's own port: only its keys are served, as by a node of a cluster.
    Core,
}

/// Who sent a request, as far as a core that executes it for another needs to know.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Caller {
    pub(crate) protocol: Protocol,
}

/// The state of a connection that commands know.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) id: u64,
    pub(crate) peer: SocketAddr,
    /// The server's end of the connection.
    pub(crate) local: SocketAddr,
    pub(crate) door: Door,
    pub(crate) protocol: Protocol,
    pub(crate) authenticated: bool,
    /// What the cores have said to the question that the next command asked.
    pub(crate) told: Option<Vec<Answer>>,
    pub(crate) name: Vec<u8>,
    pub(crate) library_name: Vec<u8>,
    pub(crate) library_version: Vec<u8>,
    /// Name of the last command.
    pub(crate) command: &'static str,
    pub(crate) created_ms: i64,
    pub(crate) active_ms: i64,
}

impl Client {
    pub(crate) fn new(
        id: u64,
        (peer, local): (SocketAddr, SocketAddr),
        door: Door,
        authenticated: bool,
        now: Reading,
    ) -> Client {
        Client {
            id,
            peer,
            local,
            door,
            told: None,
            protocol: Protocol::default(),
            authenticated,
            name: Vec::new(),
            library_name: Vec::new(),
            library_version: Vec::new(),
            command: "",
            created_ms: now.uptime_ms,
            active_ms: now.uptime_ms,
        }
    }

    /// For requests that other cores execute.
    pub(crate) fn caller(&self) -> Caller {
        Caller { protocol: self.protocol }
    }

    /// Back to how it began, as RESET promises.
    pub(crate) fn reset(&mut self, authenticated: bool) {
        self.protocol = Protocol::default();
        self.authenticated = authenticated;
        self.name.clear();
    }

    /// Its line of CLIENT LIST, without the line break. Names are printable: they were checked.
    pub(crate) fn describe(&self, now: Reading, out: &mut String) {
        let text = String::from_utf8_lossy;
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            "id={} addr={} laddr={} name={} age={} idle={} flags=N db=0 resp={} cmd={} \
             user=default lib-name={} lib-ver={}",
            self.id,
            self.peer,
            self.local,
            text(&self.name),
            (now.uptime_ms - self.created_ms) / 1000,
            (now.uptime_ms - self.active_ms) / 1000,
            self.protocol.number(),
            if self.command.is_empty() {
                "NULL".to_owned()
            } else {
                self.command.to_ascii_lowercase()
            },
            text(&self.library_name),
            text(&self.library_version),
        );
    }
}
