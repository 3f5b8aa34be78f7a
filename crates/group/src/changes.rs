//! Log lines about the group: members that are lost or return, leaders, and when clients are refused. Each view is
//! compared with the one before it, so that each change is logged once.

use crate::view::{Member, View};
use scurry_consensus::shard::ShardView;

/// How long clients wait before they are refused, ms. A shorter election is not worth a warning.
const REFUSED_AFTER_MS: i64 = 1_000;

/// One line of the log: a warning or information.
#[derive(Debug, PartialEq, Eq)]
enum ChangeLine {
    Alarm(String),
    Note(String),
}

/// The previous view, and what was logged about service.
#[derive(Default)]
pub(super) struct Changes {
    before: Option<View>,
    /// Since when no commands are executed, ms of uptime. None while they are.
    unserved_ms: Option<i64>,
    /// The reason that was last logged for refusing clients. None after service was restored.
    told: Option<String>,
}

impl Changes {
    /// Logs what has changed since the previous view.
    pub(super) fn tell(&mut self, view: &View, now_ms: i64) {
        for line in self.take_lines(view, now_ms) {
            match line {
                ChangeLine::Alarm(text) => tracing::warn!("{text}"),
                ChangeLine::Note(text) => tracing::info!("{text}"),
            }
        }
    }

    fn take_lines(&mut self, view: &View, now_ms: i64) -> Vec<ChangeLine> {
        let mut lines = Vec::new();
        if self.before.as_ref() != Some(view) {
            let before = self.before.replace(view.clone());
            tell_members(before.as_ref(), view, &mut lines);
            tell_leaders(before.as_ref(), view, &mut lines);
        }
        self.tell_service(view, now_ms, &mut lines);
        lines
    }

    fn tell_service(&mut self, view: &View, now_ms: i64, lines: &mut Vec<ChangeLine>) {
        let Some(why) = why_unserved(view) else {
            self.unserved_ms = None;
            if self.told.take().is_some() {
                let by = view.leader(0).filter(|leader| leader.id != view.node);
                let by = by.map_or("this node".to_owned(), |leader| format!("node {}", leader.id));
                lines.push(ChangeLine::Note(format!("clients are served again: {by} leads")));
            }
            return;
        };
        let since_ms = *self.unserved_ms.get_or_insert(now_ms);
        if now_ms - since_ms >= REFUSED_AFTER_MS && self.told.as_ref() != Some(&why) {
            lines.push(ChangeLine::Alarm(format!("clients are refused: {why}")));
            self.told = Some(why);
        }
    }
}

/// Returns why clients of this node are not served. None if this node or another leader serves them.
fn why_unserved(view: &View) -> Option<String> {
    if let Some(shard) = view.shards.iter().position(|shard| shard.leader.is_none()) {
        return Some(format!("no node leads shard {shard}: {}", view.no_leader_reason()));
    }
    let waits = |shard: &ShardView| shard.leader == Some(view.node) && !shard.serves;
    let shard = view.shards.iter().position(waits)?;
    Some(format!(
        "this node leads shard {shard} and has not taken over: it rebuilds its memory, or a majority has not \
         stored what it has"
    ))
}

/// Adds lines about members that are lost, reached again, stalled or removed.
fn tell_members(before: Option<&View>, view: &View, lines: &mut Vec<ChangeLine>) {
    let was = |id| before.and_then(|before| before.member(id));
    let others = view.members.iter().filter(|member| member.id != view.node);
    for member in others {
        let Member { id, addresses, is_connected, has_stalled: stands_still, .. } = member;
        let before = was(*id);
        let peer = addresses.peer;
        let reached = || {
            let all = view.voters().count();
            format!("this node reaches {} of {all} with a vote, itself included", view.reached())
        };
        match (before.is_some_and(Member::is_reached), member.is_reached()) {
            (true, false) => {
                let silent =
                    if *is_connected { ", silent on a connection that stands" } else { "" };
                lines.push(ChangeLine::Alarm(format!(
                    "node {id} at {peer} is lost{silent}: {}. See whether it runs, and whether nodes reach each \
                     other",
                    reached()
                )));
            }
            (false, true) => {
                lines.push(ChangeLine::Note(format!(
                    "node {id} at {peer} is connected: {}",
                    reached()
                )));
            }
            _ => {}
        }
        match (before.is_some_and(|before| before.has_stalled), *stands_still) {
            (false, true) => lines.push(ChangeLine::Alarm(format!(
                "node {id} at {peer} has stored nothing for a second: its disk is full or stands still, or it \
                 does itself"
            ))),
            (true, false) => {
                lines.push(ChangeLine::Note(format!("node {id} at {peer} stores again what it lacks")));
            }
            _ => {}
        }
    }
    let gone = before.into_iter().flat_map(|before| &before.members);
    for Member { id, .. } in gone.filter(|member| view.member(member.id).is_none()) {
        lines.push(ChangeLine::Note(format!("node {id} is no member any more")));
    }
}

/// Adds lines about leaders: shards with a new leader or term, shards that this node no longer leads, and shards that
/// it serves now.
fn tell_leaders(before: Option<&View>, view: &View, lines: &mut Vec<ChangeLine>) {
    let was = |at: usize| before.and_then(|before| before.shards.get(at));
    let shards = || view.shards.iter().enumerate();
    let own = Some(view.node);
    let lost = shards()
        .filter(|(at, shard)| was(*at).is_some_and(|was| was.leader == own) && shard.leader != own);
    if let Some(named) = names(lost) {
        lines.push(ChangeLine::Note(format!("this node leads no more: {named}")));
    }
    let is_new = |(at, shard): &(usize, &ShardView)| {
        let was = was(*at).map(|was| (was.leader, was.term));
        shard.leader.is_some() && was != Some((shard.leader, shard.term))
    };
    for leader in view.members.iter().map(|member| member.id) {
        let led = shards().filter(is_new).filter(|(_, shard)| shard.leader == Some(leader));
        if let Some(named) = names(led) {
            let who =
                if Some(leader) == own { "this node".to_owned() } else { format!("node {leader}") };
            lines.push(ChangeLine::Note(format!("{who} leads: {named}")));
        }
    }
    let serves =
        shards().filter(|(at, shard)| shard.serves && !was(*at).is_some_and(|was| was.serves));
    if let Some(named) = names(serves) {
        lines.push(ChangeLine::Note(format!("this node serves: {named}")));
    }
}

/// Returns the shards with their terms as text. None for no shards.
fn names<'a>(shards: impl Iterator<Item = (usize, &'a ShardView)>) -> Option<String> {
    let named: Vec<String> =
        shards.map(|(at, shard)| format!("shard {at} in term {}", shard.term.get())).collect();
    (!named.is_empty()).then(|| named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Addresses;
    use scurry_consensus::replica::{Index, NodeId, Role, Sequence, Term};
    use std::net::SocketAddr;

    fn node(number: u64) -> NodeId {
        NodeId::new(number).unwrap()
    }

    /// Returns a view of node 1 with three members and two shards. `connected` are the connected nodes, and `leader`
    /// leads both shards in `term`.
    fn view(connected: &[u64], leader: Option<u64>, term: u64) -> View {
        let member = |number: u64| {
            let peer = SocketAddr::from(([10, 0, 0, 1], 7389));
            let addresses = Addresses { peer, ip: peer.ip(), main: 1, cores: vec![2, 3] };
            Member {
                id: node(number),
                addresses,
                votes: true,
                is_connected: number == 1 || connected.contains(&number),
                is_silent: false,
                health: None,
                lag: None,
                observes: false,
                has_stalled: false,
                is_behind: false,
            }
        };
        let shard = ShardView {
            role: Role::Follower,
            term: Term(term),
            leader: leader.map(node),
            serves: leader == Some(1),
            committed: Sequence(0),
            stored: Sequence(0),
            applied: Sequence(0),
            elections: 0,
            base: Index(0),
            compared: Sequence(0),
            age_ticks: None,
        };
        View {
            node: node(1),
            shown_ms: 0,
            tick_ms: 30,
            clock_off_ms: 0,
            required: 1,
            waits: None,
            members: (1..=3).map(member).collect(),
            shards: vec![shard.clone(), shard],
        }
    }

    /// Returns the lines for a view, and asserts that they are not logged twice.
    fn told(changes: &mut Changes, view: &View, now_ms: i64) -> Vec<String> {
        let lines = changes.take_lines(view, now_ms);
        assert_eq!(changes.take_lines(view, now_ms), [], "it is told once");
        let text = |line| match line {
            ChangeLine::Alarm(text) => format!("WARN {text}"),
            ChangeLine::Note(text) => format!("INFO {text}"),
        };
        lines.into_iter().map(text).collect()
    }

    #[test]
    fn each_change_is_told_once() {
        let mut changes = Changes::default();
        assert_eq!(told(&mut changes, &view(&[], None, 0), 0), [""; 0]);
        assert_eq!(
            told(&mut changes, &view(&[2, 3], Some(1), 1), 10),
            [
                "INFO node 0000000000000002 at 10.0.0.1:7389 is connected: this node reaches 3 of 3 with a vote, \
                 itself included",
                "INFO node 0000000000000003 at 10.0.0.1:7389 is connected: this node reaches 3 of 3 with a vote, \
                 itself included",
                "INFO this node leads: shard 0 in term 1, shard 1 in term 1",
                "INFO this node serves: shard 0 in term 1, shard 1 in term 1",
            ]
        );
        assert_eq!(
            told(&mut changes, &view(&[3], Some(1), 1), 20),
            [
                "WARN node 0000000000000002 at 10.0.0.1:7389 is lost: this node reaches 2 of 3 with a vote, itself \
              included. See whether it runs, and whether nodes reach each other"
            ]
        );
        assert_eq!(
            told(&mut changes, &view(&[3], Some(3), 2), 30),
            [
                "INFO this node leads no more: shard 0 in term 2, shard 1 in term 2",
                "INFO node 0000000000000003 leads: shard 0 in term 2, shard 1 in term 2",
            ]
        );
    }

    #[test]
    fn a_node_that_says_nothing_is_lost_although_its_connection_stands() {
        let mut changes = Changes::default();
        let mut seen = view(&[2, 3], Some(1), 1);
        told(&mut changes, &seen, 0);
        seen.members[1].is_silent = true;
        let said = told(&mut changes, &seen, 10);
        assert!(
            said[0].starts_with(
                "WARN node 0000000000000002 at 10.0.0.1:7389 is lost, silent on a connection that stands: this \
                 node reaches 2 of 3"
            ),
            "{said:?}"
        );
        seen.members[1].is_silent = false;
        assert!(told(&mut changes, &seen, 20)[0].contains("is connected"));
    }

    #[test]
    fn an_election_is_no_alarm_and_no_majority_is_one_until_somebody_leads() {
        let mut changes = Changes::default();
        told(&mut changes, &view(&[2, 3], Some(2), 1), 0);
        assert_eq!(told(&mut changes, &view(&[2, 3], None, 1), 10), [""; 0]);
        assert_eq!(told(&mut changes, &view(&[2, 3], None, 1), 1_009), [""; 0]);
        assert_eq!(told(&mut changes, &view(&[2, 3], Some(2), 2), 1_009).len(), 1, "who leads");
        told(&mut changes, &view(&[2], None, 2), 2_000);
        let said = told(&mut changes, &view(&[2], None, 2), 3_000);
        assert_eq!(
            said,
            [
                "WARN clients are refused: no node leads shard 0: an election is under way: try again"
            ]
        );
        let said = told(&mut changes, &view(&[], None, 2), 3_010);
        assert!(said[0].contains("node 0000000000000002 at 10.0.0.1:7389 is lost"), "{said:?}");
        assert!(
            said[1].starts_with(
                "WARN clients are refused: no node leads shard 0: this node reaches 1 of the 3"
            ),
            "{said:?}"
        );
        let said = told(&mut changes, &view(&[2], Some(2), 3), 9_000);
        assert_eq!(said[2], "INFO clients are served again: node 0000000000000002 leads");
        assert_eq!(told(&mut changes, &view(&[2], Some(2), 3), 99_000), [""; 0]);
    }

    #[test]
    fn a_leader_that_does_not_take_over_says_so() {
        let mut changes = Changes::default();
        let mut led = view(&[2, 3], Some(1), 1);
        led.shards[1].serves = false;
        told(&mut changes, &led, 0);
        let said = told(&mut changes, &led, 1_000);
        assert!(said[0].contains("this node leads shard 1 and has not taken over"), "{said:?}");
        led.shards[1].serves = true;
        assert_eq!(
            told(&mut changes, &led, 1_010),
            [
                "INFO this node serves: shard 1 in term 1",
                "INFO clients are served again: this node leads"
            ]
        );
    }
}
