//! A server: bound first, so that its address is known, then run.

use crate::core::Core;
use crate::node::Node;
use crate::signals::Signals;
use crate::users::Checker;
use crate::{Settings, StartError, listener, open_files};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// A server that listens and is ready to run on the thread that calls [`Server::run`].
pub struct Server {
    core: Core,
    local_addr: SocketAddr,
}

impl Server {
    /// Listens, and takes over SIGTERM and SIGINT of the process. Connections wait until it runs.
    ///
    /// # Errors
    /// When it must not or cannot listen, with what to do about it.
    pub fn bind(mut settings: Settings) -> Result<Server, StartError> {
        let listener = listener::listen(&settings)?;
        let local_addr = listener.local_addr().map_err(StartError::system("the listener"))?;
        let signals = Signals::new().map_err(StartError::system("the signals"))?;
        let run_id = getrandom::u64()
            .map_err(|error| StartError::system("a random seed")(io::Error::other(error)))?;
        settings.clients_max = open_files::make_room(settings.clients_max);
        let checker = Checker::start(Arc::clone(&settings.users))
            .map_err(StartError::system("the thread that checks passwords"))?;
        let node = |desk| Node::new(settings, local_addr, run_id, desk);
        let core = Core::new(listener, signals, &checker, node)
            .map_err(StartError::system("the event loop"))?;
        Ok(Server { core, local_addr })
    }

    /// Where it listens, with the port that was chosen.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Runs until SIGTERM or SIGINT, then answers what was sent and returns.
    ///
    /// # Errors
    /// When the system fails the event loop itself.
    pub fn run(mut self) -> io::Result<()> {
        self.core.run()
    }
}
