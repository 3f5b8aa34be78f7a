//! The RDMA side of an event loop: the completion queues of all its connections, and what arrives.

mod arrivals;

use crate::budget::Budget;
use crate::channel::EventChannel;
use crate::connection::{Connection, Parts, Settings};
use crate::counters::{Counters, Tally};
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

/// Completions that are taken with one call.
const TAKEN_AT_ONCE: usize = 64;

/// Notices of a hub about a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice<'a> {
    /// The connection that was accepted is made. It comes before every event.
    Established,
    /// An event of the seam.
    Event(Event<'a>),
}

/// The connections of one event loop. Put both descriptors into its poller; when one is readable call
/// [`Hub::notified`] or [`Hub::poll_connections`], and before the loop waits call [`Hub::rest`].
#[derive(Debug)]
pub struct Hub {
    device: Device,
    links: BTreeMap<u32, Entry>,
    // These are dropped after the links: a connection that outlives its hub holds them.
    channel: Arc<EventChannel>,
    queues: Queues,
    /// The queue that is looked at first.
    first: usize,
    budget: Arc<Budget>,
    tally: Arc<Tally>,
    counters: Counters,
    departed: (Sender<u32>, Receiver<u32>),
    leaving: Vec<u32>,
    taken: Vec<ibv_wc>,
}

/// A connection, as its hub sees it.
#[derive(Debug)]
struct Entry {
    link: Weak<Link>,
    /// Completion queue of the connection.
    queue: usize,
    /// Completions that it may have waiting there.
    completions: u32,
    established: bool,
    /// Why it is broken.
    broken: Option<String>,
}

impl Hub {
    /// One for connections of this device that together have no more than so many completions waiting,
    /// which is the sum of all their queues ([`Settings`]), and what they pin from this budget. Room
    /// for completions is made as connections come.
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

    /// Readable when completions have come since [`Hub::rest`].
    #[must_use]
    pub fn completions_fd(&self) -> BorrowedFd<'_> {
        self.queues.fd()
    }

    /// Readable when connections are made or end.
    #[must_use]
    pub fn connections_fd(&self) -> BorrowedFd<'_> {
        self.channel.fd()
    }

    /// Counts of all connections of the hub.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let mut counters = self.counters;
        self.tally.write_to(&mut counters);
        counters
    }

    /// How many connections it has.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.links.values().filter(|entry| entry.link.strong_count() > 0).count()
    }

    /// Why a connection is broken, until it is dropped and for one poll after.
    #[must_use]
    pub fn why_broken(&self, number: u32) -> Option<&str> {
        self.links.get(&number)?.broken.as_deref()
    }

    /// Accepts who wants to connect: [`Hub::prepare`] and [`Connection::accept`].
    ///
    /// # Errors
    /// As those; the peer is refused then.
    pub fn accept(&mut self, request: Request, settings: &Settings) -> io::Result<Connection> {
        let mut connection = self.prepare(request, settings)?;
        connection.accept()?;
        Ok(connection)
    }

    /// A connection for who wants to connect, which may be given memory before it is accepted; when it
    /// is dropped instead the peer is refused. It has all its receive entries already, so that a quick
    /// peer finds room: the first calls for them post nothing.
    ///
    /// # Errors
    /// When there is no room, the budget is spent, or the device refuses; the peer is refused then.
    pub fn prepare(&mut self, request: Request, settings: &Settings) -> io::Result<Connection> {
        // Who is dropped on the way is refused by the system.
        let mut id = request.into_id(self.device)?;
        let queue = self.room_for(settings)?;
        id.move_to(&self.channel)?;
        let connection = self.build(id, queue, settings)?;
        self.admit(&connection, queue, settings, false);
        Ok(connection)
    }

    /// Takes in a connection that is made, whose id has a channel of its own until now.
    pub(crate) fn take_in(
        &mut self,
        mut connection: Connection,
        queue: usize,
        settings: &Settings,
    ) -> io::Result<Connection> {
        connection.id_mut().move_to(&self.channel)?;
        self.admit(&connection, queue, settings, true);
        Ok(connection)
    }

    /// The completion queue that has room for one more connection.
    pub(crate) fn room_for(&mut self, settings: &Settings) -> io::Result<usize> {
        self.queues.with_room(settings.completions())
    }

    pub(crate) fn device(&self) -> Device {
        self.device
    }

    /// Gives an id its queue pair.
    pub(crate) fn build(
        &self,
        id: Id,
        queue: usize,
        settings: &Settings,
    ) -> io::Result<Connection> {
        let domain = Arc::new(Domain::new(self.device, &self.budget, &self.tally)?);
        let (completions, departed) = (self.queues.get(queue), &self.departed.0);
        let connection = Connection::new(Parts { id, domain, completions, departed }, settings)?;
        let number = connection.number();
        if self.links.contains_key(&number) {
            // What is left of an earlier connection would be taken for this one's.
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
        self.queues.take(queue, completions);
        let entry = Entry { link, queue, completions, established, broken: None };
        self.links.insert(connection.number(), entry);
    }
}
