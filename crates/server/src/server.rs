//! A server: bound first, so that its address is known, then run, a thread per core.

use crate::clock::Clock;
use crate::core::{self, Core};
use crate::mesh::Mesh;
use crate::node::Node;
use crate::shared::Shared;
use crate::signals::Signals;
use crate::{Settings, StartError, listener, mesh, open_files};
use mio::Poll;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;

/// A server that listens and is ready to run.
pub struct Server {
    /// The first one has the main port and the signals.
    cores: Vec<Core>,
    shared: Arc<Shared>,
}

impl Server {
    /// Listens, and takes over SIGTERM and SIGINT of the process. Connections wait until it runs.
    ///
    /// # Errors
    /// When it must not or cannot listen, with what to do about it.
    pub fn bind(mut settings: Settings) -> Result<Server, StartError> {
        listener::check_access(&settings)?;
        let system = StartError::system;
        let main = listener::listen(settings.listen)?;
        let main_address = main.local_addr().map_err(system("the listener"))?;
        let own = listener::listen_per_core(&settings, main_address)?;
        let doors = match &own[..] {
            [] => Ok(vec![main_address]),
            own => own.iter().map(|listener| listener.local_addr()).collect(),
        };
        let doors = doors.map_err(system("the listeners of the cores"))?;
        let run_id =
            getrandom::u64().map_err(|error| system("a random seed")(io::Error::other(error)))?;
        settings.clients_max = open_files::make_room(settings.clients_max);
        let mut signals = Some(Signals::new().map_err(system("the signals"))?);
        let mut main = Some(main);
        let mut own = own.into_iter();
        let shared = Arc::new(Shared::new(main_address, doors, run_id));
        let clock = Clock::start();
        let (mut polls, mut wakers) = (Vec::new(), Vec::new());
        for _ in 0..settings.threads {
            let poll = Poll::new().map_err(system("the poller"))?;
            wakers.push(mesh::waker(&poll, core::MAIL).map_err(system("the waker"))?);
            polls.push(poll);
        }
        let places = polls.into_iter().zip(Mesh::places(wakers)).zip(0..settings.threads);
        let cores = places.map(|((poll, mesh), core)| {
            let node = Node::new(core, settings.clone(), shared.clone(), mesh, clock);
            Core::new(poll, main.take(), own.next(), signals.take(), node)
        });
        let cores = cores.collect::<io::Result<_>>().map_err(system("the event loop"))?;
        Ok(Server { cores, shared })
    }

    /// Where it listens, with the port that was chosen.
    pub fn local_addr(&self) -> SocketAddr {
        self.shared.main
    }

    /// Where each core listens for clients that know clusters; with one core the same address.
    pub fn core_addrs(&self) -> &[SocketAddr] {
        &self.shared.doors
    }

    /// Runs until SIGTERM or SIGINT, then answers what was sent and returns. The calling thread
    /// is the first core's.
    ///
    /// # Errors
    /// When the system fails an event loop itself; the others are stopped then.
    pub fn run(self) -> io::Result<()> {
        thread::scope(|scope| {
            let mut cores = self.cores.into_iter();
            let Some(mut first) = cores.next() else { return Ok(()) };
            let mut threads = Vec::new();
            for (number, mut core) in (1..).zip(cores) {
                let thread = thread::Builder::new().name(format!("core-{number}"));
                threads.push(thread.spawn_scoped(scope, move || core.run())?);
            }
            let mut outcome = first.run();
            for thread in threads {
                let ended = thread.join().unwrap_or_else(|_| Err(io::Error::other("it panicked")));
                outcome = outcome.and(ended);
            }
            outcome
        })
    }
}
