//! Two ends of a connection, and the notices that they have received.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use scurry_rdma::{Budget, Connection, Device, Hub, Listener, Notice, Settings, Window};
use scurry_rdma_proto::fabric::{Event, Target, Window as _};
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Timeout that no test reaches, even on a slow machine.
pub(crate) const LONG: Duration = Duration::from_secs(30);

pub(crate) const SMALL: Settings =
    Settings { receive_entries: 8, send_entries: 16, inline_max: 128 };

pub(crate) const MIB: u64 = 1 << 20;

/// Returns an address of the device; prints a message and returns `None` where there is no device.
pub(crate) fn address() -> Option<SocketAddr> {
    let named = std::env::var("SCURRY_RDMA_ADDRESS").unwrap_or_else(|_| "10.77.0.1".to_owned());
    let address = SocketAddr::new(named.parse().expect("SCURRY_RDMA_ADDRESS is an address"), 0);
    match Device::with_address(address) {
        Ok(_) => Some(address),
        Err(error) if std::env::var_os("SCURRY_RDMA_GUEST").is_some() => {
            panic!("the guest has no device: {error}")
        }
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// Returns the first `len` bytes of a window.
pub(crate) fn written(window: &Window, len: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    window.copy(0..len, &mut bytes);
    bytes
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Established,
    Control(Vec<u8>),
    Immediate(u32),
    Sent(u64),
    Broken,
}

/// A hub and the notices that it has passed on.
pub(crate) struct Side {
    pub(crate) hub: Hub,
    pub(crate) budget: Arc<Budget>,
    pub(crate) seen: Vec<(u32, Seen)>,
}

fn note(seen: &mut Vec<(u32, Seen)>) -> impl FnMut(u32, Notice<'_>) {
    |number, notice| {
        let what = match notice {
            Notice::Established => Seen::Established,
            Notice::Event(Event::Control(message)) => Seen::Control(message.to_vec()),
            Notice::Event(Event::Immediate(immediate)) => Seen::Immediate(immediate),
            Notice::Event(Event::Sent(request)) => Seen::Sent(request),
            Notice::Event(Event::Broken) => Seen::Broken,
        };
        seen.push((number, what));
    }
}

/// Reports whether a descriptor becomes readable in time.
pub(crate) fn readable(fds: &[BorrowedFd<'_>], within: Duration) -> bool {
    let mut waiting: Vec<PollFd<'_>> =
        fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    let timeout = Timespec::try_from(within).unwrap();
    poll(&mut waiting, Some(&timeout)).unwrap() > 0
}

impl Side {
    pub(crate) fn new(address: SocketAddr, budget: u64) -> Side {
        let budget = Budget::new(budget);
        let device = Device::with_address(address).unwrap();
        let hub = Hub::new(device, 16_384, Arc::clone(&budget)).unwrap();
        Side { hub, budget, seen: Vec::new() }
    }

    /// Runs one turn of an event loop, which waits when nothing is pending.
    pub(crate) fn turn(&mut self) {
        if self.hub.rest(note(&mut self.seen)).unwrap() > 0 {
            return;
        }
        let fds = [self.hub.completions_fd(), self.hub.connections_fd()];
        assert!(readable(&fds, LONG), "nothing comes: {:?}", self.seen);
        if readable(&fds[..1], Duration::ZERO) {
            self.hub.notified().unwrap();
        }
        self.hub.poll_connections(note(&mut self.seen)).unwrap();
        self.hub.poll(note(&mut self.seen)).unwrap();
    }

    /// Polls until nothing is pending and the next completion will cause an event.
    pub(crate) fn quiet(&mut self) {
        while self.hub.rest(note(&mut self.seen)).unwrap() > 0
            || readable(&[self.hub.completions_fd()], Duration::ZERO)
        {
            self.hub.notified().unwrap();
        }
    }

    /// Takes the pending notices without waiting.
    pub(crate) fn look(&mut self) {
        self.hub.poll(note(&mut self.seen)).unwrap();
        self.hub.poll_connections(note(&mut self.seen)).unwrap();
    }

    /// Waits for a notice about a connection.
    pub(crate) fn until(&mut self, number: u32, what: &Seen) {
        while !self.of(number).contains(what) {
            assert!(!self.of(number).contains(&Seen::Broken), "{:?}", self.hub.why_broken(number));
            self.turn();
        }
    }

    /// Waits until a connection has received `count` notices.
    pub(crate) fn until_count(&mut self, number: u32, count: usize) {
        while self.of(number).len() < count {
            self.turn();
        }
    }

    /// Returns all notices about a connection, in order.
    pub(crate) fn of(&self, number: u32) -> Vec<Seen> {
        let own = self.seen.iter().filter(|(of, _)| *of == number);
        own.map(|(_, what)| what.clone()).collect()
    }
}

/// Returns a listener on a port that the system chose, with its address.
pub(crate) fn listen(address: SocketAddr) -> (Listener, SocketAddr) {
    let listener = Listener::bind(address, 16).unwrap();
    let at = listener.local_address().unwrap();
    assert_ne!(at.port(), 0);
    (listener, at)
}

/// Waits for the next connection request and accepts it.
pub(crate) fn accept(
    listener: &Listener,
    side: &mut Side,
    settings: &Settings,
) -> std::io::Result<Connection> {
    use std::os::fd::AsFd;
    let request = loop {
        if let Some(request) = listener.next_request().unwrap() {
            break request;
        }
        assert!(readable(&[listener.as_fd()], LONG), "nobody connects");
    };
    side.hub.accept(request, settings)
}

/// Connects a client to a server. Returns the server's and the client's connection.
pub(crate) fn connect(
    address: SocketAddr,
    server: &mut Side,
    client: &mut Side,
    settings: &Settings,
) -> (Connection, Connection) {
    let (listener, at) = listen(address);
    let (accepted, made) = thread::scope(|scope| {
        let accepted = scope.spawn(|| accept(&listener, server, settings));
        let made = client.hub.connect(at, settings, LONG);
        (accepted.join().unwrap(), made)
    });
    let accepted = accepted.unwrap();
    server.until(accepted.number(), &Seen::Established);
    (accepted, made.unwrap())
}

/// Returns the start of a window, as the target of the peer's writes.
pub(crate) fn target(window: &scurry_rdma::Window) -> Target {
    Target { address: window.address(), key: window.key() }
}
