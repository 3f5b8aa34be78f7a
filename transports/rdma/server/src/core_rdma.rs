//! RDMA of one core: the hub of its connections, and the listener on the first core.

use crate::connection::Rdma;
use crate::report::counts_of;
use crate::settings::RdmaSettings;
use crate::spin::Spin;
use scurry_rdma::{Budget, Device, Hub, Listener, Notice, Request};
use scurry_rdma_proto::{Counts, Endpoint, Fault, Role};
use scurry_server::{
    Adapter, AdapterConnection, AdapterReport, AdapterRequest, CoreAdapter, DESCRIPTORS,
    OpenAdapter, WithConnection,
};
use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

/// Maximum number of peers that wait to be accepted.
const BACKLOG: u16 = 512;
/// Maximum number of requests accepted in one turn.
const ACCEPTS_MAX: usize = 32;
/// Interval at which connections are checked for timers that are due, ms.
const TICK_MS: i64 = 100;

impl Adapter for RdmaSettings {
    fn listen(&self) -> SocketAddr {
        self.listen
    }

    fn open(&self, cores: u16, clients_max: usize) -> Result<OpenAdapter, String> {
        open(self, cores, clients_max).map_err(|reason| {
            let address = self.listen;
            format!(
                "cannot listen on {address} over RDMA: {reason}. Without --rdma-listen TCP alone is served"
            )
        })
    }
}

/// Listens on the device, and creates the RDMA part of each core; the first core gets the listener.
fn open(settings: &RdmaSettings, cores: u16, clients_max: usize) -> Result<OpenAdapter, String> {
    let listen = settings.listen;
    let device = Device::with_address(listen).map_err(|error| error.to_string())?;
    let listener = Listener::bind(listen, BACKLOG).map_err(|error| error.to_string())?;
    let address = listener.local_address().unwrap_or(listen);
    let budget = Budget::new(settings.pinned_max);
    let each = queues(settings);
    // All clients may be on one core, so each hub has room for the completions of all.
    let wanted = u64::from(each.receive_entries) + u64::from(each.send_entries);
    let wanted = u32::try_from(wanted.saturating_mul(clients_max as u64)).unwrap_or(u32::MAX);
    let mut listener = Some(listener);
    let own = |_| {
        let hub = Hub::new(device, wanted, Arc::clone(&budget)).map_err(|error| error.to_string());
        let core: Box<dyn CoreAdapter> = Box::new(CoreRdma {
            hub: hub?,
            listener: listener.take(),
            address,
            keys: BTreeMap::new(),
            settings: *settings,
            spin: Spin::new(settings.spin_us_max),
            tick_ms: 0,
            closed: Counts::default(),
        });
        Ok(core)
    };
    let cores = (0..cores).map(own).collect::<Result<_, String>>()?;
    Ok(OpenAdapter { address, cores })
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

/// RDMA of one core: its hub, its connections by queue pair, and the listener on the first core.
struct CoreRdma {
    hub: Hub,
    /// On the first core only; `None` while stopping.
    listener: Option<Listener>,
    /// The server's address, which is also the local end of its connections.
    address: SocketAddr,
    /// Keys of the core's connections, by queue pair number.
    keys: BTreeMap<u32, usize>,
    settings: RdmaSettings,
    spin: Spin,
    tick_ms: i64,
    /// Counters of closed connections.
    closed: Counts,
}

/// Passes a notice of the device to the connection of a queue pair.
fn tell_connection(
    keys: &BTreeMap<u32, usize>,
    number: u32,
    notice: Notice<'_>,
    tell: &mut WithConnection<'_>,
) {
    let Some(&key) = keys.get(&number) else { return };
    let mut notice = Some(notice);
    tell(key, &mut |connection, now_ms| {
        if let (Some(rdma), Some(notice)) = (own_mut(connection), notice.take()) {
            rdma.notice(notice, now_ms);
        }
    });
}

fn own_mut(connection: &mut dyn AdapterConnection) -> Option<&mut Rdma> {
    let any: &mut dyn Any = connection;
    any.downcast_mut()
}

impl CoreRdma {
    /// Returns pending connection requests, at most [`ACCEPTS_MAX`].
    fn requests(&self) -> Vec<AdapterRequest> {
        let Some(listener) = &self.listener else { return Vec::new() };
        let mut requests = Vec::new();
        while requests.len() < ACCEPTS_MAX {
            match listener.next_request() {
                Ok(Some(request)) => {
                    // Without an address, the peer is already gone.
                    let Some(peer) = request.peer() else { continue };
                    requests.push(AdapterRequest { peer, request: Box::new(request) });
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
}

impl CoreAdapter for CoreRdma {
    fn name(&self) -> &'static str {
        "RDMA"
    }

    fn descriptors(&self) -> [Option<RawFd>; DESCRIPTORS] {
        let listener = self.listener.as_ref().map(AsRawFd::as_raw_fd);
        let (completions, connections) = (self.hub.completions_fd(), self.hub.connections_fd());
        [Some(completions.as_raw_fd()), Some(connections.as_raw_fd()), listener]
    }

    fn readable(
        &mut self,
        descriptor: usize,
        tell: &mut WithConnection<'_>,
    ) -> io::Result<Vec<AdapterRequest>> {
        let CoreRdma { hub, keys, .. } = self;
        match descriptor {
            0 => hub.notified()?,
            1 => {
                hub.poll_connections(|number, notice| tell_connection(keys, number, notice, tell))?;
            }
            _ => return Ok(self.requests()),
        }
        Ok(Vec::new())
    }

    fn poll(&mut self, now_ns: u64, tell: &mut WithConnection<'_>) -> io::Result<()> {
        let CoreRdma { hub, keys, spin, .. } = self;
        if hub.poll(|number, notice| tell_connection(keys, number, notice, tell))? > 0 {
            spin.record_arrival(now_ns);
        }
        Ok(())
    }

    fn may_wait(&mut self, now_ns: u64, tell: &mut WithConnection<'_>) -> io::Result<bool> {
        let CoreRdma { hub, keys, spin, .. } = self;
        if spin.should_spin(now_ns) {
            return Ok(false);
        }
        // The core may sleep only if nothing arrived before the queues were armed.
        let count = hub.rest(|number, notice| tell_connection(keys, number, notice, tell))?;
        if count > 0 {
            spin.record_arrival(now_ns);
        }
        Ok(count == 0)
    }

    fn accept(
        &mut self,
        request: AdapterRequest,
        key: usize,
        now_ms: i64,
    ) -> io::Result<Box<dyn AdapterConnection>> {
        let request = request.request.downcast::<Request>();
        let request = request.map_err(|_| io::Error::other("a request of another adapter"))?;
        let connection = self.hub.prepare(*request, &queues(&self.settings))?;
        let number = connection.number();
        let made = Endpoint::new(connection, Role::Server, self.settings.connection, now_ms);
        let mut endpoint = made.map_err(|fault: Fault| io::Error::other(fault.to_string()))?;
        // Accept last: if a step above fails, dropping the connection refuses the peer.
        endpoint.queue().accept()?;
        self.keys.insert(number, key);
        Ok(Box::new(Rdma::new(endpoint)))
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn due(&mut self, now_ms: i64) -> Vec<usize> {
        if now_ms < self.tick_ms || self.keys.is_empty() {
            return Vec::new();
        }
        self.tick_ms = now_ms + TICK_MS;
        self.keys.values().copied().collect()
    }

    fn forget(&mut self, connection: &mut dyn AdapterConnection) {
        if let Some(rdma) = own_mut(connection) {
            self.closed.add(rdma.endpoint.counts());
            self.keys.remove(&rdma.endpoint.queue().number());
        }
    }

    fn stop_listening(&mut self) {
        // Closing the listener also removes it from the poller.
        self.listener = None;
    }

    fn report(&self, open: &mut dyn Iterator<Item = &dyn AdapterConnection>) -> AdapterReport {
        let (mut report, mut counts) = (AdapterReport::default(), self.closed);
        for connection in open {
            let any: &dyn Any = connection;
            let Some(rdma) = any.downcast_ref::<Rdma>() else { continue };
            report.connections += 1;
            report.pinned_bytes += rdma.endpoint.pinned_bytes();
            counts.add(rdma.endpoint.counts());
        }
        report.counts = counts_of(&counts, &self.hub.counters()).to_vec();
        report
    }
}
