//! The endpoints that a cluster client sees: which exist, and which of them serve.

use crate::execute::client::Client;
use crate::execute::node::Node;
use crate::net::port::PortKind;
use crate::slots::Slots;
use scurry_group::view::{Member, View};
use std::ops::RangeInclusive;

/// All shards of the store, each with its points.
#[derive(Debug)]
pub(in crate::execute::commands) struct Topology {
    /// Shards by core.
    pub(super) shards: Vec<ShardRow>,
    /// Id of the point that commands about "this node" mean.
    pub(super) own_id: String,
}

/// The slots of one core, and where they are served.
#[derive(Debug)]
pub(super) struct ShardRow {
    pub(super) slots: RangeInclusive<u16>,
    pub(super) epoch: u64,
    /// False while the shard has no leader.
    pub(super) is_led: bool,
    /// The primary first, where there is one.
    pub(super) points: Vec<CorePort>,
}

/// A core's port, which cluster clients take for a node.
#[derive(Debug)]
pub(super) struct CorePort {
    /// 40 hexadecimal digits.
    pub(super) id: String,
    pub(super) ip: String,
    pub(super) port: u16,
    pub(super) is_primary: bool,
    pub(super) health: Health,
    /// The last known sequence up to which it has the log.
    pub(super) offset: u64,
}

/// Whether a point serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    Online,
    /// Catching up, to get a vote.
    Loading,
    /// Without a connection to this node.
    Fail,
}

impl Health {
    fn of(member: &Member) -> Health {
        match (member.is_connected, member.votes || member.observes) {
            (false, _) => Health::Fail,
            (true, false) => Health::Loading,
            (true, true) => Health::Online,
        }
    }

    /// Returns the word of CLUSTER SHARDS.
    pub(super) fn word(self) -> &'static str {
        match self {
            Health::Online => "online",
            Health::Loading => "loading",
            Health::Fail => "fail",
        }
    }
}

impl ShardRow {
    pub(super) fn primary(&self) -> Option<&CorePort> {
        self.points.first().filter(|point| point.is_primary)
    }

    pub(super) fn replicas(&self) -> impl Iterator<Item = &CorePort> {
        self.points.iter().filter(|point| !point.is_primary)
    }

    /// Returns the error that redirects a client to the primary.
    pub(super) fn moved(&self, slot: u16) -> String {
        self.primary().map_or(String::new(), |point| moved(slot, &point.ip, point.port))
    }
}

/// Returns the error that redirects a client to a port.
pub(super) fn moved(slot: u16, ip: &str, port: u16) -> String {
    format!("MOVED {slot} {ip}:{port}")
}

/// Returns the id of a core's port, from the number of the server's run or of the node in a group.
pub(in crate::execute::commands) fn point_id(number: u64, core: u16) -> String {
    format!("{number:016x}{:016x}{core:08x}", number.rotate_left(32))
}

impl Topology {
    /// Returns the topology as a client sees it.
    pub(in crate::execute::commands) fn of(node: &Node, client: &Client) -> Topology {
        let slots = node.shared.slots;
        let own = match client.port {
            PortKind::Core => node.core,
            // The main port belongs to all cores; its clients see the first one as theirs.
            PortKind::Main => 0,
        };
        match &node.view {
            Some(view) => Topology::of_group(view, slots, own),
            None => {
                let ports = node.shared.core_addresses.iter().map(std::net::SocketAddr::port);
                let run_id = node.shared.run_id;
                Topology::of_machine(&address(node, client), ports, run_id, slots, own)
            }
        }
    }

    /// Builds the topology of a single server: each core has one point, which serves.
    fn of_machine(
        ip: &str,
        ports: impl Iterator<Item = u16>,
        run_id: u64,
        slots: Slots,
        own: u16,
    ) -> Topology {
        let shards = (0..slots.cores()).zip(ports).map(|(core, port)| ShardRow {
            slots: slots.range(core),
            epoch: u64::from(core) + 1,
            is_led: true,
            points: vec![CorePort {
                id: point_id(run_id, core),
                ip: ip.to_owned(),
                port,
                is_primary: true,
                health: Health::Online,
                offset: 0,
            }],
        });
        Topology { shards: shards.collect(), own_id: point_id(run_id, own) }
    }

    /// Builds the topology of a group: each core has one point on each node.
    ///
    /// During an election, a node that reaches a majority shows itself as the primary. Some clients give up at once
    /// where slots have no primary, while all of them retry at a node that says CLUSTERDOWN, or follow its MOVED. A
    /// node that reaches no majority shows no primary, so that its clients ask another one.
    pub(super) fn of_group(view: &View, slots: Slots, own: u16) -> Topology {
        let shards = (0..slots.cores()).zip(&view.shards).map(|(core, shard)| {
            let stand_in = (view.reached() >= view.needed()).then_some(view.node);
            let primary = shard.leader.or(stand_in);
            let point = |member: &Member| {
                let is_primary = primary == Some(member.id);
                let offset = match member.lag {
                    _ if member.id == view.node => shard.applied.get(),
                    _ if is_primary => shard.committed.get(),
                    // The lag may be of other shards; then this is too low.
                    Some(lag) => shard.committed.get().saturating_sub(lag),
                    None => 0,
                };
                CorePort {
                    id: point_id(member.id.get(), core),
                    ip: member.addresses.ip.to_string(),
                    port: member.addresses.cores.get(usize::from(core)).copied().unwrap_or(0),
                    is_primary,
                    health: Health::of(member),
                    offset,
                }
            };
            let mut points: Vec<CorePort> = view.members.iter().map(point).collect();
            points.sort_by_key(|point| !point.is_primary);
            ShardRow {
                slots: slots.range(core),
                epoch: shard.term.get(),
                is_led: shard.leader.is_some(),
                points,
            }
        });
        Topology { shards: shards.collect(), own_id: point_id(view.node.get(), own) }
    }
}

/// Returns the address by which this client has reached the server; the other ports are at the same address.
fn address(node: &Node, client: &Client) -> String {
    match node.settings.announce_ip {
        Some(ip) => ip.to_string(),
        None => client.local.ip().to_canonical().to_string(),
    }
}
