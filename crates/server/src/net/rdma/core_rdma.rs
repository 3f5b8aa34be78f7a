//! What a core has for RDMA: the hub of its connections, and on the first core the listener.

use super::spin::Spin;
use crate::net::port::Port;
use crate::net::rdma::{Rdma, RdmaReport};
use crate::settings::{RdmaSettings, Settings, StartError};
use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use scurry_rdma::{Budget, Connection, Device, Hub, Listener, Notice, Request};
use scurry_rdma_proto::{Counts, Endpoint, Fault, Role};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::Arc;

/// Peers that may wait to be accepted.
const BACKLOG: u16 = 512;
/// Requests accepted in one turn.
const ACCEPTS_MAX: usize = 32;
/// Connections are looked at so often for what is due, ms.
const TICK_MS: i64 = 100;

/// A peer that wants to connect, on its way to the core that accepts it.
#[derive(Debug)]
pub(crate) struct Welcome {
    pub(crate) request: Request,
    pub(crate) peer: SocketAddr,
    pub(crate) port: Port,
}

/// The listener, device and budget that every core's RDMA is made from.
pub(crate) struct RdmaSetup {
    listener: Listener,
    address: SocketAddr,
    device: Device,
    budget: Arc<Budget>,
    settings: RdmaSettings,
    port: Port,
}

impl RdmaSetup {
    /// Listens, where that is safe and there is a device.
    pub(crate) fn open(
        settings: RdmaSettings,
        port: Port,
        all: &Settings,
    ) -> Result<RdmaSetup, StartError> {
        port.check_access(settings.listen, all)?;
        let wrong = |reason: String| StartError::Rdma { address: settings.listen, reason };
        let device = Device::of(settings.listen).map_err(|error| wrong(error.to_string()))?;
        let listener =
            Listener::bind(settings.listen, BACKLOG).map_err(|error| wrong(error.to_string()))?;
        let address = listener.local_address().unwrap_or(settings.listen);
        let budget = Budget::new(settings.pinned_max);
        Ok(RdmaSetup { listener, address, device, budget, settings, port })
    }

    /// Where it listens, with the port that was chosen.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// RDMA of each of so many cores; the first one listens.
    pub(crate) fn cores(self, cores: u16, clients_max: usize) -> Result<Vec<CoreRdma>, StartError> {
        let address = self.address;
        let wrong = |error: io::Error| StartError::Rdma { address, reason: error.to_string() };
        let each = queues(&self.settings);
        let wanted = u64::from(each.receive_entries) + u64::from(each.send_entries);
        let wanted = wanted.saturating_mul(clients_max as u64);
        let mut listener = Some((self.listener, self.port));
        let own = |_| {
            let hub = Hub::new(
                self.device,
                u32::try_from(wanted).unwrap_or(u32::MAX),
                Arc::clone(&self.budget),
            );
            Ok(CoreRdma {
                hub: hub.map_err(wrong)?,
                listener: listener.take(),
                local: address,
                keys: BTreeMap::new(),
                settings: self.settings,
                spin: Spin::new(self.settings.spin_us_max),
                tick_ms: 0,
                closed: Counts::default(),
            })
        };
        (0..cores).map(own).collect()
    }
}

fn queues(settings: &RdmaSettings) -> scurry_rdma::Settings {
    let connection = settings.connection.bounded(Role::Server);
    let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    scurry_rdma::Settings {
        receive_entries: narrow(connection.receives),
        send_entries: narrow(connection.send_depth),
        inline_max: narrow(connection.inline_max),
    }
}

/// RDMA of one core: its hub, its connections by their queue pairs, and the listener on the first core.
pub(crate) struct CoreRdma {
    hub: Hub,
    /// The first core's alone; none while stopping.
    listener: Option<(Listener, Port)>,
    /// The server's end of connections.
    pub(crate) local: SocketAddr,
    /// Places of connections on this core, by their queue pairs.
    keys: BTreeMap<u32, usize>,
    settings: RdmaSettings,
    spin: Spin,
    tick_ms: i64,
    /// Counts of connections that are closed.
    closed: Counts,
}

impl CoreRdma {
    /// From now on the poller tells of completions, of connections and of who wants to connect.
    pub(crate) fn register(&self, registry: &Registry, tokens: [Token; 3]) -> io::Result<()> {
        let listener = self.listener.as_ref().map(|(listener, _)| listener.as_raw_fd());
        let of_hub = [self.hub.completions_fd(), self.hub.connections_fd()];
        let all = of_hub.map(|fd| Some(fd.as_raw_fd())).into_iter().chain([listener]);
        for (fd, token) in all.zip(tokens) {
            if let Some(fd) = fd {
                registry.register(&mut SourceFd(&fd), token, Interest::READABLE)?;
            }
        }
        Ok(())
    }

    /// Requests for connections; a bounded number.
    pub(crate) fn requests(&self) -> Vec<Welcome> {
        let Some((listener, port)) = &self.listener else { return Vec::new() };
        let mut requests = Vec::new();
        while requests.len() < ACCEPTS_MAX {
            match listener.next_request() {
                Ok(Some(request)) => {
                    // One that is gone already has no address.
                    let Some(peer) = request.peer() else { continue };
                    requests.push(Welcome { request, peer, port: port.clone() });
                }
                Ok(None) => break,
                Err(error) => {
                    tracing::warn!("cannot accept a connection over RDMA: {error}");
                    break;
                }
            }
        }
        requests
    }

    /// No more connections come.
    pub(crate) fn stop_listening(&mut self, registry: &Registry) {
        if let Some((listener, _)) = self.listener.take() {
            // Closing it ends its registration as well.
            let _ = registry.deregister(&mut SourceFd(&listener.as_raw_fd()));
        }
    }

    /// Accepts a connection that will be at this position of the core.
    pub(crate) fn accept(
        &mut self,
        request: Request,
        key: usize,
        now_ms: i64,
    ) -> io::Result<Endpoint<Connection>> {
        let connection = self.hub.prepare(request, &queues(&self.settings))?;
        let number = connection.number();
        let made = Endpoint::new(connection, Role::Server, self.settings.connection, now_ms);
        let mut endpoint = made.map_err(|fault: Fault| io::Error::other(fault.to_string()))?;
        endpoint.queue().accept()?;
        self.keys.insert(number, key);
        Ok(endpoint)
    }

    /// A connection is closed.
    pub(crate) fn forget(&mut self, rdma: &mut Rdma) {
        self.closed.add(rdma.endpoint.counts());
        self.keys.remove(&rdma.endpoint.queue().number());
    }

    /// Completions have come.
    pub(crate) fn notified(&mut self) -> io::Result<()> {
        self.hub.notified()
    }

    /// Hands out what has come, with the connection's position on the core.
    pub(crate) fn poll(
        &mut self,
        now_ns: u64,
        mut f: impl FnMut(usize, Notice<'_>),
    ) -> io::Result<()> {
        let CoreRdma { hub, keys, spin, .. } = self;
        let count = hub.poll(|number, notice| {
            if let Some(&key) = keys.get(&number) {
                f(key, notice);
            }
        })?;
        if count > 0 {
            spin.came(now_ns);
        }
        Ok(())
    }

    /// Hands out what connections have come to.
    pub(crate) fn poll_connections(
        &mut self,
        mut f: impl FnMut(usize, Notice<'_>),
    ) -> io::Result<()> {
        let CoreRdma { hub, keys, .. } = self;
        hub.poll_connections(|number, notice| {
            if let Some(&key) = keys.get(&number) {
                f(key, notice);
            }
        })?;
        Ok(())
    }

    /// To be called before the core waits. True when it may.
    pub(crate) fn may_wait(
        &mut self,
        now_ns: u64,
        mut f: impl FnMut(usize, Notice<'_>),
    ) -> io::Result<bool> {
        let CoreRdma { hub, keys, spin, .. } = self;
        if spin.is_worth_it(now_ns) {
            return Ok(false);
        }
        let count = hub.rest(|number, notice| {
            if let Some(&key) = keys.get(&number) {
                f(key, notice);
            }
        })?;
        if count > 0 {
            spin.came(now_ns);
        }
        Ok(count == 0)
    }

    /// Places of the connections, when it is time to look what is due on them.
    pub(crate) fn due(&mut self, now_ms: i64) -> Vec<usize> {
        if now_ms < self.tick_ms || self.keys.is_empty() {
            return Vec::new();
        }
        self.tick_ms = now_ms + TICK_MS;
        self.keys.values().copied().collect()
    }

    /// Counts without those of open connections.
    pub(crate) fn report(&self) -> RdmaReport {
        RdmaReport { counts: self.closed, device: self.hub.counters(), ..RdmaReport::default() }
    }
}
