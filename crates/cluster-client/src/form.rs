//! Forms a cluster of nodes: introduces them, assigns slots, attaches replicas. For development, tests and the lab; in
//! production use Valkey's own tools.

use crate::{Address, ClientError, Node};
use redis::{Cmd, cmd};

const SLOTS: u16 = 16_384;

/// A node that joins the cluster.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its address for clients, `HOST:PORT`.
    pub address: Address,
    /// The port at which nodes talk to each other.
    pub bus_port: u16,
}

/// Polling for steps to complete. Nodes send no event that could be waited for.
pub trait Patience {
    /// Error when it gives up.
    type Error: From<ClientError>;

    /// Polls until `is_so` returns true, or gives up; `what` describes the failure.
    fn until(&mut self, what: &str, is_so: &mut dyn FnMut() -> bool) -> Result<(), Self::Error>;

    /// Reports a completed step.
    fn tell(&mut self, line: &str);
}

/// Role of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A node that owns slots or is ready to.
    Primary,
    /// A copy of a primary.
    Replica {
        /// Whether the link is up and no full copy is in progress.
        in_sync: bool,
    },
}

/// Waits until every node replies.
pub fn wait_for_answers<P: Patience>(members: &[Member], patience: &mut P) -> Result<(), P::Error> {
    for member in members {
        let what = format!("the node at {} did not answer", member.address.text());
        patience.until(&what, &mut || {
            Node::connect(&member.address).and_then(|mut node| node.ask(&cmd("PING"))).is_ok()
        })?;
    }
    Ok(())
}

/// Forms one cluster of nodes that are in none, the primaries first.
pub fn form<P: Patience>(
    members: &[Member],
    primaries: usize,
    patience: &mut P,
) -> Result<(), P::Error> {
    let mut nodes = connect(members)?;
    for (index, node) in nodes.iter_mut().enumerate() {
        // Each node starts with its own epoch: nodes with equal epochs first have to resolve the conflict.
        let epoch = (index + 1).to_string();
        node.ask(&cluster(&["SET-CONFIG-EPOCH", &epoch]))?;
        if index < primaries {
            let (first, last) = slots_of(index, primaries);
            node.ask(&cluster(&["ADDSLOTSRANGE", &first.to_string(), &last.to_string()]))?;
        }
    }
    patience.tell(&format!("slots dealt to {primaries} primaries"));
    for other in &members[1..] {
        let (host, port) = other.address.text().rsplit_once(':').unwrap_or_default();
        nodes[0].ask(&cluster(&["MEET", host, port, &other.bus_port.to_string()]))?;
    }
    let count = nodes.len();
    patience.until("the nodes did not meet", &mut || {
        nodes.iter_mut().all(|node| known(node).is_some_and(|known| known == count))
    })?;
    patience.tell(&format!("{count} nodes have met"));
    let ids: Vec<String> = nodes[..primaries]
        .iter_mut()
        .map(|node| node.text("CLUSTER MYID", &cluster(&["MYID"])))
        .collect::<Result<_, _>>()?;
    for (index, node) in nodes[primaries..].iter_mut().enumerate() {
        node.ask(&cluster(&["REPLICATE", &ids[index % primaries]]))?;
    }
    Ok(())
}

/// Waits until every node serves and this many replicas are in sync with their primaries.
pub fn wait_until_ok<P: Patience>(
    members: &[Member],
    replicas: usize,
    patience: &mut P,
) -> Result<(), P::Error> {
    let mut nodes = connect(members)?;
    patience.until("the cluster did not become ok", &mut || nodes.iter_mut().all(is_ok))?;
    patience.tell("every node says cluster_state:ok");
    patience.until("not all replicas came in sync", &mut || {
        let in_sync = |node: &mut Node| role(node) == Some(Role::Replica { in_sync: true });
        nodes.iter_mut().filter_map(|node| in_sync(node).then_some(())).count() == replicas
    })?;
    if replicas > 0 {
        patience.tell(&format!("{replicas} replicas are in sync"));
    }
    Ok(())
}

/// Reads a node's role. None when it does not report one.
pub fn role(node: &mut Node) -> Option<Role> {
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

/// Returns the value of a line `name:value` of INFO.
pub fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

fn cluster(words: &[&str]) -> Cmd {
    let mut command = cmd("CLUSTER");
    command.arg(words);
    command
}

fn is_ok(node: &mut Node) -> bool {
    let text = node.text("CLUSTER INFO", &cluster(&["INFO"]));
    text.is_ok_and(|text| field(&text, "cluster_state") == Some("ok"))
}

/// Counts the nodes that a node is connected to, itself included.
fn known(node: &mut Node) -> Option<usize> {
    let text = node.text("CLUSTER NODES", &cluster(&["NODES"])).ok()?;
    let is_met = |line: &&str| !line.contains("handshake") && line.contains(" connected");
    Some(text.lines().filter(is_met).count())
}

fn connect(members: &[Member]) -> Result<Vec<Node>, ClientError> {
    members.iter().map(|member| Node::connect(&member.address)).collect()
}

/// Returns the first and last slot of a primary.
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
