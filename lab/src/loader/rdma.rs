//! The load over RDMA, with one completion queue for all connections. As over TCP, the loader sleeps when there is
//! nothing to do.

use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use scurry_rdma::{Budget, Connection as Queue, Device, Hub, Notice, Settings as Queues};
use scurry_rdma_proto::{Endpoint, Role, Settings};

use super::Loader;
use super::connection::Connection;
use crate::workload::Workload;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Memory that the loader may pin, bytes.
const PINNED_MAX: u64 = 4 << 30;
/// Interval at which connections are checked for due work, ms.
const TICK_MS: i64 = 500;
/// Epoll tokens beside the connection numbers: completions, and connections that end.
const COMPLETIONS: u64 = u64::MAX;
const ENDS: u64 = u64::MAX - 1;

/// Device and memory budget of the loader for RDMA.
#[derive(Debug)]
pub(super) struct RdmaConnections {
    hub: Hub,
    /// Connection index by queue pair number.
    indices: BTreeMap<u32, usize>,
    /// Connections that had an event and have not been served yet.
    touched: Vec<usize>,
    tick_ms: i64,
}

impl RdmaConnections {
    /// Prepares the device for this many connections to an address.
    pub(super) fn new(
        to: SocketAddr,
        connections: u32,
        epoll: &OwnedFd,
    ) -> Result<RdmaConnections> {
        let device = Device::all()?.into_iter().next().context("there is no RDMA device")?;
        let each = queues();
        let completions = each.receive_entries + each.send_entries;
        let hub =
            Hub::new(device, completions.saturating_mul(connections), Budget::new(PINNED_MAX))
                .with_context(|| format!("a completion queue for {to}"))?;
        for (fd, number) in [(hub.completions_fd(), COMPLETIONS), (hub.connections_fd(), ENDS)] {
            epoll::add(epoll, fd, EventData::new_u64(number), EventFlags::IN)
                .context("watching completions")?;
        }
        Ok(RdmaConnections { hub, indices: BTreeMap::new(), touched: Vec::new(), tick_ms: TICK_MS })
    }

    /// Connects and announces the buffer for replies.
    pub(super) fn connect(&mut self, to: SocketAddr, index: usize) -> Result<Endpoint<Queue>> {
        let queue = self.hub.connect(to, &queues(), CONNECT_TIMEOUT)?;
        self.indices.insert(queue.number(), index);
        let mut endpoint = Endpoint::new(queue, Role::Client, Settings::default(), 0)?;
        endpoint.open(0)?;
        Ok(endpoint)
    }

    /// Passes the events that `poll` finds to their connections, and notes which connections need service.
    fn take(
        &mut self,
        connections: &mut [Connection],
        now_ms: i64,
        poll: impl FnOnce(&mut Hub, &mut dyn FnMut(u32, Notice<'_>)) -> std::io::Result<usize>,
    ) -> Result<usize> {
        let RdmaConnections { hub, indices, touched, .. } = self;
        let mut outcome = Ok(());
        let count = poll(hub, &mut |number, notice| {
            let Some(&index) = indices.get(&number) else { return };
            let Some(endpoint) = connections[index].endpoint() else { return };
            if let Notice::Event(event) = notice
                && outcome.is_ok()
            {
                outcome = endpoint.event(event, now_ms);
            }
            if touched.last() != Some(&index) {
                touched.push(index);
            }
        })?;
        outcome.context("over RDMA")?;
        Ok(count)
    }
}

impl<W: Workload> Loader<'_, W> {
    /// Waits up to `wait` for something to do and does it, like the loop over TCP.
    pub(super) fn turn_over_rdma(&mut self, now: u64, wait: u64) -> Result<()> {
        let Some(mut place) = self.rdma.take() else { return Ok(()) };
        let now_ms = i64::try_from(now / 1_000_000)?;
        let connections = &mut self.connections;
        if place.take(connections, now_ms, |hub, f| hub.rest(f))? == 0 {
            let timeout = Timespec { tv_sec: 0, tv_nsec: i64::try_from(wait)? };
            let mut events = [const { MaybeUninit::uninit() }; 2];
            let ready = match epoll::wait(&self.epoll, &mut events, Some(&timeout)) {
                Ok((ready, _)) => ready,
                Err(rustix::io::Errno::INTR) => &mut [],
                Err(error) => return Err(error).context("waiting for completions"),
            };
            for event in ready {
                // The kernel's struct is packed: copy its fields before using them.
                let data = event.data;
                if data.u64() == COMPLETIONS {
                    place.hub.notified()?;
                } else {
                    place.take(connections, now_ms, |hub, f| hub.poll_connections(f))?;
                }
            }
            place.take(connections, now_ms, |hub, f| hub.poll(f))?;
        }
        if now_ms >= place.tick_ms {
            place.tick_ms = now_ms + TICK_MS;
            for connection in connections {
                if let Some(endpoint) = connection.endpoint() {
                    endpoint.tick(now_ms).context("over RDMA")?;
                }
            }
        }
        let mut touched = std::mem::take(&mut place.touched);
        self.rdma = Some(place);
        for index in touched.drain(..) {
            self.connections[index].flush(&self.epoll)?;
            while self.receive(index)? {}
            self.send(index)?;
        }
        if let Some(place) = &mut self.rdma {
            place.touched = touched;
        }
        Ok(())
    }
}

/// Returns queue sizes that fit the default settings of an endpoint.
fn queues() -> Queues {
    let settings = Settings::default().bounded(Role::Client);
    let narrow = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Queues {
        receive_entries: narrow(settings.receives),
        send_entries: narrow(settings.send_depth),
        inline_max: narrow(settings.inline_max),
    }
}
