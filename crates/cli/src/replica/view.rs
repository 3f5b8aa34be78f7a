//! A node's view of its group, read from the lines of INFO replication.

use scurry_cluster_client::form::field;
use scurry_cluster_client::redis::cmd;
use scurry_cluster_client::{Address, ClientError, Node};

/// A node's view of its group.
#[derive(Debug)]
pub(crate) struct View {
    text: String,
}

/// One member of the group.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MemberLine<'t> {
    pub(crate) id: &'t str,
    pub(crate) ip: &'t str,
    pub(crate) port: &'t str,
    pub(crate) votes: bool,
    pub(crate) is_connected: bool,
    /// True if the node has heard from this member recently.
    pub(super) is_heard: bool,
    /// Entries that the member lacks. None if unknown.
    pub(crate) lag: Option<u64>,
}

/// One shard.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ShardLine<'t> {
    pub(crate) role: &'t str,
    pub(super) term: u64,
    /// None while no leader is known.
    pub(crate) leader: Option<&'t str>,
    pub(super) serves: bool,
    pub(super) committed: u64,
    pub(super) stored: u64,
    pub(super) applied: u64,
    pub(super) elections: u64,
}

impl View {
    /// Asks a node for its view, at the port of a thread.
    pub(super) fn ask(address: &Address) -> Result<View, ClientError> {
        let text = Node::connect(address)?.text("INFO", cmd("INFO").arg("replication"))?;
        Ok(View { text })
    }

    /// Reads a view from the reply to INFO. None if the server is in no group.
    pub(crate) fn from_info(text: &str) -> Option<View> {
        field(text, "scurry_group_node").map(|_| View { text: text.to_owned() })
    }

    /// Returns the members of the group, including this node.
    pub(crate) fn members(&self) -> impl Iterator<Item = MemberLine<'_>> {
        self.numbered("member").map(|line| MemberLine {
            id: part(line, "id").unwrap_or("-"),
            ip: part(line, "ip").unwrap_or("-"),
            port: part(line, "port").unwrap_or("-"),
            votes: part(line, "votes") == Some("yes"),
            is_connected: part(line, "connected") == Some("yes"),
            is_heard: part(line, "heard") == Some("yes"),
            lag: part(line, "lag").and_then(|lag| lag.parse().ok()),
        })
    }

    /// Returns the node's id.
    pub(crate) fn id(&self) -> &str {
        field(&self.text, "scurry_group_node").unwrap_or("-")
    }

    /// Returns `yes`, or `no` and the reason.
    pub(crate) fn can_lose(&self) -> &str {
        field(&self.text, "can_lose_a_node").unwrap_or("-")
    }

    /// Reports whether the node with this main port is a member.
    pub(super) fn has(&self, port: u16) -> bool {
        self.members().any(|member| member.port == port.to_string())
    }

    /// Returns the number of connected nodes that have a vote.
    pub(super) fn voters(&self) -> usize {
        let is_voter = |line: &&str| {
            part(line, "votes") == Some("yes") && part(line, "connected") == Some("yes")
        };
        self.numbered("member").filter(is_voter).count()
    }

    /// Returns the shards, one per thread.
    pub(crate) fn shards(&self) -> impl Iterator<Item = ShardLine<'_>> {
        let number = |line, name| part(line, name).and_then(|it| it.parse().ok()).unwrap_or(0);
        self.numbered("shard").map(move |line| ShardLine {
            role: part(line, "role").unwrap_or("-"),
            term: number(line, "term"),
            leader: part(line, "leader").filter(|&leader| leader != "none"),
            serves: part(line, "serves") == Some("yes"),
            committed: number(line, "committed"),
            stored: number(line, "stored"),
            applied: number(line, "applied"),
            elections: number(line, "elections"),
        })
    }

    /// Reports whether this node leads all shards and executes requests.
    pub(super) fn serves(&self) -> bool {
        self.shards().next().is_some() && self.shards().all(|shard| shard.serves)
    }

    /// Returns the values of the lines `name0`, `name1` and so on.
    fn numbered(&self, name: &str) -> impl Iterator<Item = &str> {
        (0..).map_while(move |number: u32| field(&self.text, &format!("{name}{number}")))
    }
}

/// Returns a value from a line of `name=value,...`.
fn part<'t>(line: &'t str, name: &str) -> Option<&'t str> {
    line.split(',')
        .find_map(|pair| pair.split_once('=').filter(|(own, _)| *own == name))
        .map(|it| it.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_server_are_understood() {
        let text = "# Replication\r\nrole:slave\r\nscurry_group_node:00000000000000a7\r\n\
            can_lose_a_node:no, no connection to node 2\r\n\
            member0:id=00000000000000a7,votes=yes,connected=yes,peer=127.0.0.1:3,ip=127.0.0.1,port=1,lag=unknown\r\n\
            member1:id=00000000000000a8,votes=yes,connected=no,peer=127.0.0.1:6,ip=127.0.0.1,port=4,lag=unknown\r\n\
            member2:id=00000000000000a9,votes=no,connected=yes,peer=127.0.0.1:9,ip=127.0.0.1,port=7,lag=unknown\r\n\
            shard0:role=leader,term=3,leader=00000000000000a7,serves=yes,committed=9,stored=8,applied=7,elections=2\r\n\
            shard1:role=candidate,term=4,leader=none,serves=no,committed=1,stored=1,applied=1,elections=0\r\n";
        let view = View { text: text.to_owned() };
        assert_eq!((view.id(), view.voters()), ("00000000000000a7", 1));
        let members: Vec<_> = view.members().collect();
        assert_eq!((members.len(), members[2].id, members[2].port), (3, "00000000000000a9", "7"));
        assert_eq!(
            (members[1].votes, members[1].is_connected, members[1].lag),
            (true, false, None)
        );
        assert!(View::from_info("role:master").is_none(), "it is in no group");
        assert_eq!(view.can_lose(), "no, no connection to node 2");
        let shards: Vec<_> = view.shards().collect();
        assert_eq!(shards.len(), 2);
        let ShardLine { role, term, leader, serves, committed, stored, applied, elections } =
            shards[0];
        assert_eq!((role, term, leader, serves), ("leader", 3, Some("00000000000000a7"), true));
        assert_eq!((committed, stored, applied, elections), (9, 8, 7, 2));
        assert_eq!((shards[1].leader, shards[1].serves, view.serves()), (None, false, false));
    }
}
