//! A node's view of itself and of the cluster.

use crate::node::ClusterNode;
use anyhow::{Context, Result};

/// Number of slots in a cluster.
pub(crate) const SLOTS: usize = 16_384;

/// Role of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Primary with this many connected replicas in sync.
    Primary { replicas: usize },
    /// Replica of the node at this address.
    Replica { of: String, in_sync: bool },
}

/// View of one node.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) role: Role,
    /// Offset in its replication stream.
    pub(crate) offset: u64,
    /// First and last slots of the ranges that it owns in its own view.
    pub(crate) slots: Vec<(u16, u16)>,
    /// True if the node serves and sees all slots served and all nodes healthy.
    pub(crate) sees_all_well: bool,
    pub(crate) nodes: usize,
}

impl View {
    pub(crate) fn of(node: &ClusterNode) -> Result<View> {
        let replication = node.text("INFO replication")?;
        let cluster = node.text("CLUSTER INFO")?;
        let nodes = node.text("CLUSTER NODES")?;
        let get = |name| field(&replication, name).with_context(|| format!("no {name}"));
        let role = if get("role")? == "master" {
            let online = |line: &&str| line.starts_with("slave") && line.contains("state=online");
            Role::Primary { replicas: replication.lines().filter(online).count() }
        } else {
            let in_sync =
                get("master_link_status")? == "up" && get("master_sync_in_progress")? == "0";
            Role::Replica {
                of: format!("{}:{}", get("master_host")?, get("master_port")?),
                in_sync,
            }
        };
        let is_ill = |line: &str| {
            let flags = line.split(' ').nth(2).unwrap_or_default();
            ["fail", "fail?", "handshake", "noaddr"]
                .iter()
                .any(|ill| flags.split(',').any(|f| f == *ill))
        };
        let sees_all_well = field(&cluster, "cluster_state") == Some("ok")
            && field(&cluster, "cluster_slots_ok") == Some(&SLOTS.to_string())
            && !nodes.lines().any(is_ill);
        Ok(View {
            role,
            offset: get("master_repl_offset")?.parse().context("an offset")?,
            slots: own_slots(&nodes),
            sees_all_well,
            nodes: nodes.lines().filter(|line| !line.is_empty()).count(),
        })
    }

    pub(crate) fn is_primary(&self) -> bool {
        matches!(self.role, Role::Primary { .. })
    }

    pub(crate) fn owns(&self, slot: u16) -> bool {
        self.slots.iter().any(|&(first, last)| (first..=last).contains(&slot))
    }
}

/// Returns the value of a line `name:value`.
pub(crate) fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}

/// Returns the slots from the line that a node has about itself, without slots being migrated.
fn own_slots(nodes: &str) -> Vec<(u16, u16)> {
    let own = nodes.lines().find(|line| line.contains("myself"));
    let ranges = own.into_iter().flat_map(|line| line.split_whitespace().skip(8));
    let range = |text: &str| {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        Some((first.parse().ok()?, last.parse().ok()?))
    };
    ranges.filter(|text| !text.starts_with('[')).filter_map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_on_their_way_are_not_owned() {
        let nodes = "a 127.0.0.1:1@2 master - 0 0 1 connected 5-6\n\
                     b 127.0.0.1:3@4 myself,master - 0 0 2 connected 0-3 9 [9->-a] [7-<-a]\n";
        assert_eq!(own_slots(nodes), [(0, 3), (9, 9)]);
    }
}
