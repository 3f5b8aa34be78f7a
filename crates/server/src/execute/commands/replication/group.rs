//! A node's role in its group, in Redis's words and in lines of INFO.

use crate::execute::commands::Lines;
use crate::net::port::PortKind;
use scurry_consensus::replica::Role;
use scurry_consensus::shard::ShardView;
use scurry_group::view::{Member, View};
use scurry_resp::Reply;

/// The role of a node, as the clients of one of its ports see it.
pub(in crate::execute::commands) struct PortRole<'v> {
    view: &'v View,
    port: PortKind,
    /// The shard that stands for all: that of the port, or the first.
    shard: u16,
}

impl PortRole<'_> {
    pub(in crate::execute::commands) fn of(view: &View, port: PortKind, core: u16) -> PortRole<'_> {
        let shard = match port {
            PortKind::Core => core,
            PortKind::Main => 0,
        };
        PortRole { view, port, shard }
    }

    pub(in crate::execute::commands) fn leader(&self) -> Option<&Member> {
        self.view.leader(self.shard)
    }

    /// Reports whether this node leads.
    pub(in crate::execute::commands) fn leads(&self) -> bool {
        self.leader().is_some_and(|leader| leader.id == self.view.node)
    }

    /// Returns the port by which clients of this port reach another node.
    pub(in crate::execute::commands) fn port_of(&self, member: &Member) -> u16 {
        match self.port {
            PortKind::Main => member.addresses.main,
            PortKind::Core => {
                member.addresses.cores.get(usize::from(self.shard)).copied().unwrap_or(0)
            }
        }
    }

    /// Returns the connected nodes other than the leader.
    fn replicas(&self) -> impl Iterator<Item = &Member> {
        let leader = self.leader().map(|leader| leader.id);
        let takes = move |member: &&Member| Some(member.id) != leader && member.is_connected;
        self.view.members.iter().filter(takes)
    }

    /// Returns the sum of the sequences of all shards: committed ones on the leader, applied ones elsewhere.
    pub(super) fn offset(&self) -> u64 {
        let shards = self.view.shards.iter();
        let leads = self.leads();
        let offset = |shard: &ShardView| if leads { shard.committed } else { shard.applied };
        shards.map(|shard| offset(shard).get()).sum()
    }

    fn offset_of(&self, member: &Member) -> u64 {
        self.offset().saturating_sub(member.lag.unwrap_or(0))
    }

    /// Answers ROLE.
    pub(super) fn role(&self, reply: &mut Reply<'_>) {
        if self.leads() {
            reply.array(3);
            reply.text("master");
            reply.unsigned(self.offset());
            reply.array(self.replicas().count());
            for member in self.replicas() {
                reply.array(3);
                reply.text(&member.addresses.ip.to_string());
                reply.text(&self.port_of(member).to_string());
                reply.text(&self.offset_of(member).to_string());
            }
            return;
        }
        let (host, port) = self.leader_address();
        reply.array(5);
        reply.text("slave");
        reply.text(&host);
        reply.integer(i64::from(port));
        reply.text(if self.has_link() { "connected" } else { "connect" });
        reply.unsigned(self.offset());
    }

    /// Writes the lines of INFO that clients look at.
    pub(super) fn describe(&self, lines: &mut Lines) {
        if self.leads() {
            lines.line("role", "master");
            lines.line("connected_slaves", self.replicas().count());
            for (number, member) in self.replicas().enumerate() {
                lines.line(
                    &format!("slave{number}"),
                    format_args!(
                        "ip={},port={},state={},offset={}",
                        member.addresses.ip,
                        self.port_of(member),
                        if member.votes || member.observes { "online" } else { "send_bulk" },
                        self.offset_of(member),
                    ),
                );
            }
            return;
        }
        let (host, port) = self.leader_address();
        lines.line("role", "slave");
        lines.line("master_host", host);
        lines.line("master_port", port);
        lines.line("master_link_status", if self.has_link() { "up" } else { "down" });
        lines.line("master_sync_in_progress", 0);
        lines.line("slave_repl_offset", self.offset());
        lines.line("slave_read_only", 1);
        lines.line("connected_slaves", 0);
    }

    /// Returns the leader's address and port; an empty string and 0 without a leader.
    fn leader_address(&self) -> (String, u16) {
        self.leader().map_or((String::new(), 0), |leader| {
            (leader.addresses.ip.to_string(), self.port_of(leader))
        })
    }

    fn has_link(&self) -> bool {
        self.leader().is_some_and(|leader| leader.is_connected)
    }
}

/// Returns the word for a node's role in a shard.
pub(crate) fn word(role: Role) -> &'static str {
    match role {
        Role::Leader => "leader",
        Role::Follower => "follower",
        Role::Candidate => "candidate",
        Role::Learner => "learner",
    }
}

/// Writes all that a node knows of its group.
pub(super) fn lines(view: &View, now_ms: i64, lines: &mut Lines) {
    lines.line("scurry_group_node", view.node);
    let why = view.cannot_lose(now_ms);
    let can_lose = why.map_or("yes".to_owned(), |why| format!("no, {why}"));
    lines.line("can_lose_a_node", can_lose);
    lines.line("clock_off_ms", view.clock_off_ms);
    let waits = view.waits.as_ref().map_or(String::new(), |why| format!(", more waits: {why}"));
    lines.line("protocol", format_args!("{}{waits}", view.required));
    for (number, member) in view.members.iter().enumerate() {
        let word = |is: bool| if is { "yes" } else { "no" };
        let addresses = &member.addresses;
        lines.line(
            &format!("member{number}"),
            format_args!(
                "id={},votes={},observes={},connected={},heard={},peer={},ip={},port={},lag={}",
                member.id,
                word(member.votes),
                word(member.observes),
                word(member.is_connected),
                word(member.health.is_some()),
                addresses.peer,
                addresses.ip,
                addresses.main,
                member.lag.map_or("unknown".to_owned(), |lag| lag.to_string()),
            ),
        );
    }
    for (number, shard) in (0_u16..).zip(&view.shards) {
        lines.line(
            &format!("shard{number}"),
            format_args!(
                "role={},term={},leader={},serves={},committed={},stored={},applied={},elections={},base={},compared={},age_ms={}",
                word(shard.role),
                shard.term.get(),
                shard.leader.map_or("none".to_owned(), |id| id.to_string()),
                if shard.serves { "yes" } else { "no" },
                shard.committed.get(),
                shard.stored.get(),
                shard.applied.get(),
                shard.elections,
                shard.base.get(),
                shard.compared.get(),
                view.age_ms(number).map_or("unknown".to_owned(), |age| age.to_string()),
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::commands::example_view::{said, view};

    fn described(view: &View, port: PortKind) -> String {
        let mut text = Lines(String::new());
        PortRole::of(view, port, 1).describe(&mut text);
        text.0.replace("\r\n", " ")
    }

    #[test]
    fn the_leader_is_a_master_of_those_that_are_connected() {
        let mut view = view(1, Some(1), 2);
        let main = PortRole::of(&view, PortKind::Main, 1);
        let expected = "*3 master :200 *2 *3 10.0.0.2 6389 200 *3 10.0.0.3 6389 195";
        assert_eq!(said(|reply| main.role(reply)), expected);
        let core = PortRole::of(&view, PortKind::Core, 1);
        let expected = "*3 master :200 *2 *3 10.0.0.2 6391 200 *3 10.0.0.3 6391 195";
        assert_eq!(said(|reply| core.role(reply)), expected);
        view.members[1].is_connected = false;
        view.members[2].votes = false;
        assert_eq!(
            described(&view, PortKind::Main),
            "role:master connected_slaves:1 \
             slave0:ip=10.0.0.3,port=6389,state=send_bulk,offset=195 "
        );
    }

    #[test]
    fn another_node_is_a_slave_of_the_leader_or_of_nobody() {
        let mut led = view(1, Some(3), 2);
        let role = |view: &View| said(|reply| PortRole::of(view, PortKind::Main, 0).role(reply));
        assert_eq!(role(&led), "*5 slave 10.0.0.3 :6389 connected :198");
        let lines = described(&led, PortKind::Core);
        assert!(lines.starts_with("role:slave master_host:10.0.0.3 master_port:6391 "), "{lines}");
        assert!(lines.contains("master_link_status:up "), "{lines}");
        led.members[2].is_connected = false;
        assert_eq!(role(&led), "*5 slave 10.0.0.3 :6389 connect :198");
        let nobody = view(1, None, 2);
        assert_eq!(role(&nobody), "*5 slave  :0 connect :198");
        assert!(described(&nobody, PortKind::Main).contains("master_link_status:down "));
    }

    #[test]
    fn lines_tell_all_that_is_known() {
        let mut text = Lines(String::new());
        lines(&view(1, Some(1), 2), 0, &mut text);
        for line in [
            "scurry_group_node:0000000000000001",
            "can_lose_a_node:yes",
            "clock_off_ms:-3",
            "protocol:4",
            "member2:id=0000000000000003,votes=yes,observes=no,connected=yes,heard=yes,peer=10.0.0.3:7389,\
             ip=10.0.0.3,port=6389,lag=5",
            "shard1:role=leader,term=7,leader=0000000000000001,serves=yes,committed=100,stored=101,\
             applied=99,elections=2,base=7,compared=98,age_ms=120",
        ] {
            assert!(text.0.contains(&format!("{line}\r\n")), "{line}: {}", text.0);
        }
        let mut nobody = Lines(String::new());
        lines(&view(2, None, 1), 0, &mut nobody);
        assert!(nobody.0.contains("can_lose_a_node:no, shard 0 has no leader\r\n"), "{}", nobody.0);
        let said = |change: fn(&mut View), now_ms| {
            let (mut view, mut text) = (view(1, Some(1), 2), Lines(String::new()));
            change(&mut view);
            lines(&view, now_ms, &mut text);
            text.0
        };
        let still = said(|_| {}, 1_001);
        assert!(still.contains("no, this node has not looked at its group for 1001 ms"), "{still}");
        let waits = said(|view| view.waits = Some("node 3 is away".to_owned()), 0);
        assert!(waits.contains("protocol:4, more waits: node 3 is away\r\n"), "{waits}");
        let lost = said(|view| view.members[2].is_connected = false, 0);
        assert!(lost.contains("can_lose_a_node:no, no connection to node"), "{lost}");
        let silent = said(|view| view.members[2].health = None, 0);
        assert!(silent.contains("can_lose_a_node:no, nothing was heard of node"), "{silent}");
        let joining = said(|view| view.members[2].votes = false, 0);
        assert!(joining.contains("can_lose_a_node:no, 2 of 3 nodes have a vote"), "{joining}");
        assert!(nobody.0.contains("leader=none,serves=no") && nobody.0.contains("lag=unknown"));
    }
}
