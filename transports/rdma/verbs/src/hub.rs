//! The RDMA side of an event loop: the completion queues of all its connections, and their events.

mod arrivals;

use crate::budget::Budget;
use crate::channel::EventChannel;
use crate::connection::{Connection, ConnectionParts, Settings};
use crate::counters::{ConnectionCounters, Counters};
use crate::device::Device;
use crate::domain::Domain;
use crate::id::Id;
use crate::link::Link;
use crate::listener::Request;
use crate::queues::Queues;
use scurry_rdma_proto::fabric::Event;
use scurry_rdma_sys::verbs::ibv_wc;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Weak};

/// Completions taken with one call.
const TAKEN_AT_ONCE: usize = 64;

/// A hub's notice about a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice<'a> {
    /// The accepted connection is established. This precedes every event.
    Established,
    /// An event for the protocol.
    Event(Event<'a>),
}

/// The connections of one event loop. Register both descriptors with its poller. When one is readable
/// call [`Hub::notified`] or [`Hub::poll_connections`]; before the loop blocks call [`Hub::rest`].
#[derive(Debug)]
pub struct Hub {
    device: Device,
    links: BTreeMap<u32, HubEntry>,
    // The fields below are dropped after the links; a connection that outlives its hub keeps them
    // alive.
    channel: Arc<EventChannel>,
    queues: Queues,
    /// Index of the queue that is polled first.
    first: usize,
    budget: Arc<Budget>,
    tally: Arc<ConnectionCounters>,
    counters: Counters,
    departed: (Sender<u32>, Receiver<u32>),
    leaving: Vec<u32>,
    taken: Vec<ibv_wc>,
}

/// A connection as its hub sees it.
#[derive(Debug)]
struct HubEntry {
    link: Weak<Link>,
    /// Index of the connection's completion queue.
    queue: usize,
    /// Completions that the connection may have pending there.
    completions: u32,
    established: bool,
    /// The reason why the connection is broken.
    broken: Option<String>,
}

impl Hub {
    /// Creates a hub for connections of this device. Together they have at most `completions` pending
    /// completions, which is the sum of all their queues ([`Settings`]), and their pinned memory is
    /// charged to this budget. Completion queues are created as connections are made.
    ///
    /// # Errors
    /// When the device refuses it.
    pub fn new(device: Device, completions: u32, budget: Arc<Budget>) -> io::Result<Hub> {
        Ok(Hub {
            device,
            links: BTreeMap::new(),
            channel: Arc::new(EventChannel::new(device.library)?),
            queues: Queues::new(device, completions)?,
            first: 0,
            budget,
            tally: Arc::default(),
            counters: Counters::default(),
            departed: channel(),
            leaving: Vec::new(),
            taken: vec![ibv_wc::default(); TAKEN_AT_ONCE],
        })
    }

    /// Returns the descriptor that is readable when completions have arrived since [`Hub::rest`].
    #[must_use]
    pub fn completions_fd(&self) -> BorrowedFd<'_> {
        self.queues.fd()
    }

    /// Returns the descriptor that is readable when connections are established or end.
    #[must_use]
    pub fn connections_fd(&self) -> BorrowedFd<'_> {
        self.channel.fd()
    }

    /// Returns the counters of the hub and all its connections.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let mut counters = self.counters;
        self.tally.write_to(&mut counters);
        counters
    }

    /// Returns the number of live connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.links.values().filter(|entry| entry.link.strong_count() > 0).count()
    }

    /// Returns why a connection is broken, until it is dropped and for one poll afterwards.
    #[must_use]
    pub fn why_broken(&self, number: u32) -> Option<&str> {
        self.links.get(&number)?.broken.as_deref()
    }

    /// Accepts a connection request: [`Hub::prepare`] and [`Connection::accept`].
    ///
    /// # Errors
    /// As for these two; the peer is refused then.
    pub fn accept(&mut self, request: Request, settings: &Settings) -> io::Result<Connection> {
        let mut connection = self.prepare(request, settings)?;
        connection.accept()?;
        Ok(connection)
    }

    /// Creates a connection for a request, so that memory can be registered before it is accepted;
    /// dropping it instead refuses the peer. All its receive entries are already posted, so that a
    /// fast peer finds them: the first calls for entries post nothing.
    ///
    /// # Errors
    /// When there is no room, the budget is used up, or the device refuses; the peer is refused then.
    pub fn prepare(&mut self, request: Request, settings: &Settings) -> io::Result<Connection> {
        // If a step fails, the id is dropped, and the system refuses the peer.
        let mut id = request.into_id(self.device)?;
        let queue = self.room_for(settings)?;
        id.move_to(&self.channel)?;
        let connection = self.build(id, queue, settings)?;
        self.admit(&connection, queue, settings, false);
        Ok(connection)
    }

    /// Adds an established connection. Its id used a separate channel so far.
    pub(crate) fn admit_established(
        &mut self,
        mut connection: Connection,
        queue: usize,
        settings: &Settings,
    ) -> io::Result<Connection> {
        connection.id_mut().move_to(&self.channel)?;
        self.admit(&connection, queue, settings, true);
        Ok(connection)
    }

    /// Returns the index of a completion queue with room for one more connection.
    pub(crate) fn room_for(&mut self, settings: &Settings) -> io::Result<usize> {
        self.queues.with_room(settings.completions())
    }

    pub(crate) fn device(&self) -> Device {
        self.device
    }

    /// Creates the queue pair of an id.
    pub(crate) fn build(
        &self,
        id: Id,
        queue: usize,
        settings: &Settings,
    ) -> io::Result<Connection> {
        let domain = Arc::new(Domain::new(self.device, &self.budget, &self.tally)?);
        let (completions, departed) = (self.queues.get(queue), &self.departed.0);
        let connection =
            Connection::new(ConnectionParts { id, domain, completions, departed }, settings)?;
        let number = connection.number();
        if self.links.contains_key(&number) {
            // Late completions of the earlier connection would be taken for this one's.
            return Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "the device has given the number of a connection whose completions still wait",
            ));
        }
        connection.id().name(number);
        Ok(connection)
    }

    fn admit(
        &mut self,
        connection: &Connection,
        queue: usize,
        settings: &Settings,
        established: bool,
    ) {
        let link = Arc::downgrade(connection.link());
        let completions = settings.completions();
        self.queues.reserve(queue, completions);
        let entry = HubEntry { link, queue, completions, established, broken: None };
        self.links.insert(connection.number(), entry);
    }
}
