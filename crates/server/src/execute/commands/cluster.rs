//! CLUSTER: a server of many cores, seen as a cluster of one node per core. Each core has a port
//! of its own, so that clients that know clusters reach the owner of a key with no hop.

use crate::execute::client::Client;
use crate::execute::node::Node;
use crate::net::port::PortKind;
use crate::shared::Shared;
use scurry_resp::table::{Spec, Spread};
use scurry_resp::{Args, CHAIN_CROSS_SLOT, CROSS_SLOT, Reply, SLOTS, slot};
use std::fmt::Write;

/// The error for keys that this connection's port does not serve, none when it does.
///
/// On a core's port as a node of a cluster has it: CROSSSLOT for keys of several slots, MOVED for
/// a slot of another core. On the main port only what needs keys of several cores at once.
pub(crate) fn redirection(
    node: &Node,
    client: &Client,
    spec: &Spec,
    args: Args<'_>,
) -> Option<String> {
    let mut slots = spec.key_positions(args).map(|position| slot(args.at(position)));
    let first = slots.next()?;
    let map = node.shared.slots;
    if client.port == PortKind::Main {
        let crosses =
            spec.spread == Spread::One && slots.any(|slot| map.owner(slot) != map.owner(first));
        return crosses.then(|| cross_slot(spec));
    }
    if slots.any(|slot| slot != first) {
        return Some(cross_slot(spec));
    }
    let owner = map.owner(first);
    (owner != node.core).then(|| {
        let (ip, port) = (address(node, client), port(&node.shared, owner));
        format!("MOVED {first} {ip}:{port}")
    })
}

/// The error for keys of several slots: of a chain with its rule.
#[cold]
fn cross_slot(spec: &Spec) -> String {
    if spec.keys_move { CHAIN_CROSS_SLOT } else { CROSS_SLOT }.to_owned()
}

/// The address that this client has reached the server at: its other ports are there as well.
fn address(node: &Node, client: &Client) -> String {
    match node.settings.announce_ip {
        Some(ip) => ip.to_string(),
        None => client.local.ip().to_canonical().to_string(),
    }
}

fn port(shared: &Shared, core: u16) -> u16 {
    shared.core_addresses.get(usize::from(core)).map_or(0, std::net::SocketAddr::port)
}

/// 40 hexadecimal digits, the same for as long as the server runs.
fn node_id(shared: &Shared, core: u16) -> String {
    format!("{:016x}{:016x}{core:08x}", shared.run_id, shared.run_id.rotate_left(32))
}

fn cores(node: &Node) -> std::ops::Range<u16> {
    0..node.shared.slots.cores()
}

/// The core that a command about "this node" is about.
fn own(node: &Node, client: &Client) -> u16 {
    match client.port {
        PortKind::Core => node.core,
        // The main port belongs to all; its clients see the first as theirs.
        PortKind::Main => 0,
    }
}

pub(crate) fn slots(node: &Node, client: &Client, reply: &mut Reply<'_>) {
    let ip = address(node, client);
    reply.array(cores(node).len());
    for core in cores(node) {
        let range = node.shared.slots.range(core);
        reply.array(3);
        reply.integer(i64::from(*range.start()));
        reply.integer(i64::from(*range.end()));
        reply.array(4);
        reply.text(&ip);
        reply.integer(i64::from(port(&node.shared, core)));
        reply.text(&node_id(&node.shared, core));
        reply.array(0);
    }
}

pub(crate) fn shards(node: &Node, client: &Client, reply: &mut Reply<'_>) {
    let ip = address(node, client);
    reply.array(cores(node).len());
    for core in cores(node) {
        let range = node.shared.slots.range(core);
        reply.map(2);
        reply.text("slots");
        reply.array(2);
        reply.integer(i64::from(*range.start()));
        reply.integer(i64::from(*range.end()));
        reply.text("nodes");
        reply.array(1);
        reply.map(7);
        reply.text("id");
        reply.text(&node_id(&node.shared, core));
        reply.text("port");
        reply.integer(i64::from(port(&node.shared, core)));
        reply.text("ip");
        reply.text(&ip);
        reply.text("endpoint");
        reply.text(&ip);
        reply.text("role");
        reply.text("master");
        reply.text("replication-offset");
        reply.integer(0);
        reply.text("health");
        reply.text("online");
    }
}

pub(crate) fn nodes(node: &Node, client: &Client, reply: &mut Reply<'_>) {
    let (ip, own) = (address(node, client), own(node, client));
    let mut text = String::new();
    for core in cores(node) {
        let (port, range) = (port(&node.shared, core), node.shared.slots.range(core));
        let id = node_id(&node.shared, core);
        let flags = if core == own { "myself,master" } else { "master" };
        let epoch = core + 1;
        // Writing to a string cannot fail. There is no cluster bus: its port is given as 0.
        let _ = writeln!(
            text,
            "{id} {ip}:{port}@0 {flags} - 0 0 {epoch} connected {}-{}",
            range.start(),
            range.end()
        );
    }
    reply.verbatim(&text);
}

pub(crate) fn info(node: &Node, reply: &mut Reply<'_>) {
    let cores = node.shared.slots.cores();
    reply.verbatim(&format!(
        "cluster_enabled:1\r\ncluster_state:ok\r\ncluster_slots_assigned:{SLOTS}\r\n\
         cluster_slots_ok:{SLOTS}\r\ncluster_slots_pfail:0\r\ncluster_slots_fail:0\r\n\
         cluster_known_nodes:{cores}\r\ncluster_size:{cores}\r\ncluster_current_epoch:{cores}\r\n\
         cluster_my_epoch:{}\r\n",
        node.core + 1
    ));
}

pub(crate) fn my_id(node: &Node, client: &Client, reply: &mut Reply<'_>) {
    reply.text(&node_id(&node.shared, own(node, client)));
}

pub(crate) fn key_slot(args: Args<'_>, reply: &mut Reply<'_>) {
    reply.integer(i64::from(slot(args.at(2))));
}
