//! A server: bound first, so that its address is known, then run.

use crate::core::Core;
use crate::door::Door;
use crate::node::Node;
use crate::signals::Signals;
use crate::users::Checker;
use crate::{Settings, StartError, open_files};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// A server that listens and is ready to run on the thread that calls [`Server::run`].
pub struct Server {
    core: Core,
    local_addr: SocketAddr,
    tls_addr: Option<SocketAddr>,
}

impl Server {
    /// Listens, and takes over SIGTERM and SIGINT of the process. Connections wait until it runs.
    ///
    /// # Errors
    /// When it must not or cannot listen, with what to do about it.
    pub fn bind(mut settings: Settings) -> Result<Server, StartError> {
        let doors = Door::open_all(&settings)?;
        let address =
            |door: &Door| door.listener.local_addr().map_err(StartError::system("the listener"));
        let local_addr = address(&doors[0])?;
        let with_tls = doors.iter().find(|door| door.acceptor.is_some());
        let tls_addr = with_tls.map(address).transpose()?;
        let signals = Signals::new().map_err(StartError::system("the signals"))?;
        let run_id = getrandom::u64()
            .map_err(|error| StartError::system("a random seed")(io::Error::other(error)))?;
        settings.clients_max = open_files::make_room(settings.clients_max);
        let checker = Checker::start(Arc::clone(&settings.users))
            .map_err(StartError::system("the thread that checks passwords"))?;
        let node = |desk| Node::new(settings, local_addr, run_id, desk);
        let core = Core::new(doors, signals, &checker, node)
            .map_err(StartError::system("the event loop"))?;
        Ok(Server { core, local_addr, tls_addr })
    }

    /// Where it listens, with the port that was chosen.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Where it speaks TLS: the main address, or the one beside it.
    pub fn tls_addr(&self) -> Option<SocketAddr> {
        self.tls_addr
    }

    /// Runs until SIGTERM or SIGINT, then answers what was sent and returns.
    ///
    /// # Errors
    /// When the system fails the event loop itself.
    pub fn run(mut self) -> io::Result<()> {
        self.core.run()
    }
}
