//! Nodes become a cluster: they meet, slots are dealt, replicas follow.

use super::local::Local;
use super::up::Patience;
use anyhow::{Context, Result};
use scurry_cluster_client::Node;
use scurry_cluster_client::redis::{Cmd, cmd};

const SLOTS: u16 = 16_384;

fn cluster(words: &[&str]) -> Cmd {
    let mut command = cmd("CLUSTER");
    command.arg(words);
    command
}

/// Waits until every node answers.
pub(super) fn wait_for_answers(local: &Local, patience: &Patience<'_>) -> Result<()> {
    for node in &local.nodes {
        let address = node.address();
        let what = format!("the node at {} did not answer", address.text());
        patience.until(local, &what, || {
            Node::connect(&address).and_then(|mut node| node.ask(&cmd("PING"))).is_ok()
        })?;
    }
    Ok(())
}

/// Makes one cluster of nodes that know of none.
pub(super) fn join(local: &Local, patience: &Patience<'_>) -> Result<()> {
    let mut nodes = connect(local)?;
    let primaries = usize::from(local.primaries);
    for (index, node) in nodes.iter_mut().enumerate() {
        // Apart from the start: nodes that meet with one epoch have to agree on others first.
        let epoch = (index + 1).to_string();
        node.ask(&cluster(&["SET-CONFIG-EPOCH", &epoch]))?;
        if index < primaries {
            let (first, last) = slots_of(index, primaries);
            node.ask(&cluster(&["ADDSLOTSRANGE", &first.to_string(), &last.to_string()]))?;
        }
    }
    println!("slots dealt to {primaries} primaries");
    for other in &local.nodes[1..] {
        let (port, bus) = (other.port.to_string(), other.bus_port.to_string());
        nodes[0].ask(&cluster(&["MEET", "127.0.0.1", &port, &bus]))?;
    }
    let count = nodes.len();
    patience.until(local, "the nodes did not meet", || {
        nodes.iter_mut().all(|node| known(node).is_some_and(|known| known == count))
    })?;
    println!("{count} nodes have met");
    let ids: Vec<String> = nodes[..primaries]
        .iter_mut()
        .map(|node| node.text("CLUSTER MYID", &cluster(&["MYID"])))
        .collect::<Result<_, _>>()?;
    for (index, node) in nodes[primaries..].iter_mut().enumerate() {
        let id = &ids[index % primaries];
        node.ask(&cluster(&["REPLICATE", id]))
            .with_context(|| format!("{} does not become a replica", node.address().text()))?;
    }
    Ok(())
}

/// Waits until every node serves and every replica has what its primary has.
pub(super) fn wait_until_ok(local: &Local, patience: &Patience<'_>) -> Result<()> {
    let mut nodes = connect(local)?;
    patience.until(local, "the cluster did not become ok", || nodes.iter_mut().all(is_ok))?;
    println!("every node says cluster_state:ok");
    patience.until(local, "not all replicas came in sync", || {
        let mut replicas = 0;
        let in_sync = nodes.iter_mut().all(|node| match role(node) {
            Some(Role::Primary) => true,
            Some(Role::Replica { in_sync }) => {
                replicas += 1;
                in_sync
            }
            None => false,
        });
        in_sync && replicas == usize::from(local.primaries * local.replicas)
    })?;
    if local.replicas > 0 {
        println!("{} replicas are in sync", local.primaries * local.replicas);
    }
    Ok(())
}

/// What a node is.
pub(super) enum Role {
    Primary,
    Replica { in_sync: bool },
}

/// What a node says it is; none when it does not.
pub(super) fn role(node: &mut Node) -> Option<Role> {
    let text = node.text("INFO", cmd("INFO").arg("replication")).ok()?;
    match field(&text, "role")? {
        "master" => Some(Role::Primary),
        "slave" => {
            let in_sync = field(&text, "master_link_status") == Some("up")
                && field(&text, "master_sync_in_progress") == Some("0");
            Some(Role::Replica { in_sync })
        }
        _ => None,
    }
}

/// The value of a line `name:value`.
pub(super) fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

fn is_ok(node: &mut Node) -> bool {
    let text = node.text("CLUSTER INFO", &cluster(&["INFO"]));
    text.is_ok_and(|text| field(&text, "cluster_state") == Some("ok"))
}

/// Nodes that a node knows and is connected to, itself included.
fn known(node: &mut Node) -> Option<usize> {
    let text = node.text("CLUSTER NODES", &cluster(&["NODES"])).ok()?;
    let is_met = |line: &&str| !line.contains("handshake") && line.contains(" connected");
    Some(text.lines().filter(is_met).count())
}

fn connect(local: &Local) -> Result<Vec<Node>> {
    let nodes = local.nodes.iter().map(|node| Node::connect(&node.address()));
    Ok(nodes.collect::<Result<_, _>>()?)
}

/// First and last slot of a primary.
fn slots_of(index: usize, primaries: usize) -> (u16, u16) {
    let begin =
        |index: usize| u16::try_from(usize::from(SLOTS) * index / primaries).unwrap_or(SLOTS);
    (begin(index), begin(index + 1) - 1)
}

#[cfg(test)]
mod tests {
    use super::slots_of;

    #[test]
    fn every_slot_is_dealt_once() {
        for primaries in 3..=16 {
            let mut next = 0;
            for index in 0..primaries {
                let (first, last) = slots_of(index, primaries);
                assert_eq!(first, next);
                next = last + 1;
            }
            assert_eq!(next, 16_384);
        }
    }
}
