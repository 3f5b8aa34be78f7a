//! CLUSTER: shows a server of many cores as a cluster of one node per core. In a group, each core of each node is one,
//! and the leader's cores are the primaries. Each core has its own port, so that cluster clients reach the owner of a
//! key without a hop.

mod elsewhere;
mod topology;

pub(crate) use elsewhere::{ANOTHER_LEADS, elsewhere, not_here};
pub(super) use topology::{Topology, point_id};

use crate::execute::client::Client;
use crate::execute::node::Node;
use crate::net::port::PortKind;
use scurry_resp::table::{Spec, Spread};
use scurry_resp::{Args, CHAIN_CROSS_SLOT, CROSS_SLOT, Reply, SLOTS, slot};
use std::fmt::Write;
use topology::Health;

/// Returns the error for keys that this connection's port does not serve; None if it serves them.
///
/// A core's port answers like a node of a cluster: CROSSSLOT for keys of several slots, MOVED for a slot of another
/// core. The main port refuses only commands that need keys of several cores at once.
pub(crate) fn redirection(
    node: &Node,
    client: &Client,
    spec: &Spec,
    args: Args<'_>,
) -> Option<String> {
    let mut keys = spec.key_positions(args);
    let map = node.shared.slots;
    // One core has all slots: only a core's port compares those of several keys.
    if map.cores() == 1 && (client.port == PortKind::Main || keys.clone().nth(1).is_none()) {
        return None;
    }
    let first = slot(args.at(keys.next()?));
    let mut slots = keys.map(|position| slot(args.at(position)));
    if client.port == PortKind::Main {
        let crosses =
            spec.spread == Spread::One && slots.any(|slot| map.owner(slot) != map.owner(first));
        return crosses.then(|| cross_slot(spec));
    }
    if slots.any(|slot| slot != first) {
        return Some(cross_slot(spec));
    }
    let owner = map.owner(first);
    // In a group the redirection depends on the owner's leader, which may be on another node.
    (owner != node.core && node.view.is_none()).then(|| {
        let topology = Topology::of(node, client);
        topology.shards[usize::from(owner)].moved(first)
    })
}

/// Returns the error for keys of several slots; for a chain it includes the rule.
#[cold]
fn cross_slot(spec: &Spec) -> String {
    if spec.has_dynamic_keys { CHAIN_CROSS_SLOT } else { CROSS_SLOT }.to_owned()
}

pub(crate) fn slots(node: &Node, client: &Client, reply: &mut Reply<'_>) {
    Topology::of(node, client).slots(reply);
}

pub(crate) fn shards(node: &Node, client: &Client, reply: &mut Reply<'_>) {
    Topology::of(node, client).shards(reply);
}

pub(crate) fn nodes(node: &Node, client: &Client, reply: &mut Reply<'_>) {
    reply.verbatim(&Topology::of(node, client).nodes());
}

pub(crate) fn info(node: &Node, client: &Client, reply: &mut Reply<'_>) {
    reply.verbatim(&Topology::of(node, client).info());
}

pub(crate) fn my_id(node: &Node, client: &Client, reply: &mut Reply<'_>) {
    reply.text(&Topology::of(node, client).own_id);
}

pub(crate) fn key_slot(args: Args<'_>, reply: &mut Reply<'_>) {
    reply.integer(i64::from(slot(args.at(2))));
}

impl Topology {
    /// Answers CLUSTER SLOTS. Leaves out shards without a primary and points that do not answer.
    fn slots(&self, reply: &mut Reply<'_>) {
        let led: Vec<_> = self.shards.iter().filter(|shard| shard.primary().is_some()).collect();
        reply.array(led.len());
        for shard in led {
            let others = shard.replicas().filter(|point| point.health != Health::Fail);
            let points: Vec<_> = shard.primary().into_iter().chain(others).collect();
            reply.array(2 + points.len());
            reply.integer(i64::from(*shard.slots.start()));
            reply.integer(i64::from(*shard.slots.end()));
            for point in points {
                reply.array(4);
                reply.text(&point.ip);
                reply.integer(i64::from(point.port));
                reply.text(&point.id);
                reply.array(0);
            }
        }
    }

    /// Answers CLUSTER SHARDS. Shards without a primary have no slots.
    fn shards(&self, reply: &mut Reply<'_>) {
        reply.array(self.shards.len());
        for shard in &self.shards {
            reply.map(2);
            reply.text("slots");
            if shard.primary().is_some() {
                reply.array(2);
                reply.integer(i64::from(*shard.slots.start()));
                reply.integer(i64::from(*shard.slots.end()));
            } else {
                reply.array(0);
            }
            reply.text("nodes");
            reply.array(shard.points.len());
            for point in &shard.points {
                reply.map(7);
                reply.text("id");
                reply.text(&point.id);
                reply.text("port");
                reply.integer(i64::from(point.port));
                reply.text("ip");
                reply.text(&point.ip);
                reply.text("endpoint");
                reply.text(&point.ip);
                reply.text("role");
                reply.text(if point.is_primary { "master" } else { "replica" });
                reply.text("replication-offset");
                reply.unsigned(point.offset);
                reply.text("health");
                reply.text(point.health.word());
            }
        }
    }

    /// Returns the lines of CLUSTER NODES.
    fn nodes(&self) -> String {
        let mut text = String::new();
        for shard in &self.shards {
            let (first, last, epoch) = (shard.slots.start(), shard.slots.end(), shard.epoch);
            for point in &shard.points {
                let myself = if point.id == self.own_id { "myself," } else { "" };
                let role = if point.is_primary { "master" } else { "slave" };
                let (fail, link) = match point.health {
                    Health::Fail => (",fail", "disconnected"),
                    Health::Online | Health::Loading => ("", "connected"),
                };
                let of = match shard.primary() {
                    Some(primary) if !point.is_primary => &primary.id,
                    _ => "-",
                };
                // Writing to a string cannot fail. There is no cluster bus, so its port is given as 0.
                let _ = write!(
                    text,
                    "{} {}:{}@0 {myself}{role}{fail} {of} 0 0 {epoch} {link}",
                    point.id, point.ip, point.port
                );
                if point.is_primary {
                    let _ = write!(text, " {first}-{last}");
                }
                text.push('\n');
            }
        }
        text
    }

    /// Returns the lines of CLUSTER INFO.
    fn info(&self) -> String {
        let led = || self.shards.iter().filter(|shard| shard.is_led);
        let slots: usize = led().map(|shard| shard.slots.len()).sum();
        let failed = usize::from(SLOTS) - slots;
        let state = if failed == 0 { "ok" } else { "fail" };
        let known: usize = self.shards.iter().map(|shard| shard.points.len()).sum();
        let epoch = self.shards.iter().map(|shard| shard.epoch).max().unwrap_or(0);
        let own =
            |shard: &&topology::ShardRow| shard.points.iter().any(|point| point.id == self.own_id);
        let own_epoch = self.shards.iter().find(own).map_or(0, |shard| shard.epoch);
        format!(
            "cluster_enabled:1\r\ncluster_state:{state}\r\ncluster_slots_assigned:{SLOTS}\r\n\
             cluster_slots_ok:{slots}\r\ncluster_slots_pfail:0\r\ncluster_slots_fail:{failed}\r\n\
             cluster_known_nodes:{known}\r\ncluster_size:{}\r\ncluster_current_epoch:{epoch}\r\n\
             cluster_my_epoch:{own_epoch}\r\n",
            led().count()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::commands::example_view::{id, said, view};
    use crate::slots::Slots;

    fn topology(view: &scurry_group::view::View, own: u16) -> Topology {
        let threads = u16::try_from(view.shards.len()).expect("few");
        Topology::of_group(view, Slots::new(threads), own)
    }

    fn name(node: u64, core: u16) -> String {
        point_id(id(node).get(), core)
    }

    #[test]
    fn all_nodes_show_the_same_shards_with_the_leader_before_its_replicas() {
        let (one, two, three) = (name(1, 0), name(2, 0), name(3, 0));
        let expected = format!(
            "*1 *5 :0 :16383 *4 10.0.0.2 :6390 {two} *0 *4 10.0.0.1 :6390 {one} *0 \
             *4 10.0.0.3 :6390 {three} *0"
        );
        for own in 1..=3 {
            let view = view(own, Some(2), 1);
            assert_eq!(said(|reply| topology(&view, 0).slots(reply)), expected);
        }
        assert!(one.len() == 40 && one != two && name(1, 1) != one);
    }

    #[test]
    fn each_thread_is_a_shard_with_ports_of_its_own() {
        let view = view(1, Some(3), 3);
        let slots = said(|reply| topology(&view, 2).slots(reply));
        let begin = |core: u16| format!("10.0.0.3 :{} {}", 6_390 + core, name(3, core));
        for (core, range) in [(0, ":0 :5461"), (1, ":5462 :10922"), (2, ":10923 :16383")] {
            assert!(slots.contains(&format!("*5 {range} *4 {}", begin(core))), "{slots}");
        }
        let nodes = topology(&view, 2).nodes();
        assert_eq!(nodes.lines().count(), 9);
        let own =
            format!("{} 10.0.0.1:6392@0 myself,slave {} 0 0 7 connected", name(1, 2), name(3, 2));
        assert!(nodes.lines().any(|line| line == own), "{nodes}");
        let primary = format!("{} 10.0.0.3:6391@0 master - 0 0 7 connected 5462-10922", name(3, 1));
        assert!(nodes.lines().any(|line| line == primary), "{nodes}");
    }

    #[test]
    fn shards_tell_of_health_and_offsets() {
        let mut view = view(1, Some(1), 1);
        view.members[1].is_connected = false;
        view.members[2].votes = false;
        let shards = said(|reply| topology(&view, 0).shards(reply));
        for (node, role, offset, health) in [
            (1, "master", 99, "online"),
            (2, "replica", 100, "fail"),
            (3, "replica", 95, "loading"),
        ] {
            let (id, ip) = (name(node, 0), format!("10.0.0.{node}"));
            let expected = format!(
                "id {id} port :6390 ip {ip} endpoint {ip} role {role} replication-offset :{offset} \
                 health {health}"
            );
            assert!(shards.contains(&expected), "{shards}");
        }
        let slots = said(|reply| topology(&view, 0).slots(reply));
        assert!(slots.contains("10.0.0.3") && !slots.contains("10.0.0.2"), "{slots}");
        let nodes = topology(&view, 0).nodes();
        assert!(nodes.contains("10.0.0.2:6390@0 slave,fail"), "{nodes}");
    }

    #[test]
    fn a_node_of_a_majority_stands_in_for_the_leader_during_an_election() {
        let mut nobody = view(1, None, 2);
        nobody.members[2].is_connected = false;
        let shown = topology(&nobody, 0);
        let (one, two) = (name(1, 0), name(2, 0));
        let slots = said(|reply| shown.slots(reply));
        let first = format!(
            "*2 *4 :0 :8191 *4 10.0.0.1 :6390 {one} *0 *4 10.0.0.2 :6390 {two} *0 *4 :8192"
        );
        assert!(slots.starts_with(&first), "{slots}");
        let shards = said(|reply| shown.shards(reply));
        assert!(shards.starts_with("*2 *4 slots *2 :0 :8191 nodes *3"), "{shards}");
        let nodes = shown.nodes();
        let own = format!("{one} 10.0.0.1:6390@0 myself,master - 0 0 7 connected 0-8191");
        assert!(nodes.lines().any(|line| line == own), "{nodes}");
        assert_eq!(nodes.matches("master").count(), 2, "{nodes}");
        assert!(shown.info().contains("cluster_state:fail\r\n"), "{}", shown.info());
    }

    #[test]
    fn without_a_majority_slots_are_left_out_and_the_state_is_fail() {
        let mut nobody = view(1, None, 2);
        nobody.members[1].is_connected = false;
        nobody.members[2].is_connected = false;
        let shown = topology(&nobody, 0);
        assert_eq!(said(|reply| shown.slots(reply)), "*0");
        assert!(said(|reply| shown.shards(reply)).starts_with("*2 *4 slots *0 nodes *3"));
        assert!(!shown.nodes().contains("master"), "{}", shown.nodes());
        for line in ["cluster_state:fail", "cluster_slots_ok:0", "cluster_slots_fail:16384"] {
            assert!(shown.info().contains(&format!("{line}\r\n")), "{}", shown.info());
        }
        let mut half = view(1, Some(1), 2);
        half.shards[1].leader = None;
        let shown = topology(&half, 1).info();
        for line in ["cluster_state:fail", "cluster_slots_ok:8192", "cluster_size:1"] {
            assert!(shown.contains(&format!("{line}\r\n")), "{shown}");
        }
        let whole = topology(&view(1, Some(2), 2), 0).info();
        let lines = ["cluster_state:ok", "cluster_known_nodes:6", "cluster_current_epoch:7"];
        assert!(lines.iter().all(|line| whole.contains(line)), "{whole}");
    }
}
