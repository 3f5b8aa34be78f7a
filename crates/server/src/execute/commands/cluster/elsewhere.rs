//! Errors for requests that a node of a group does not execute, because another node leads or none does. The requests
//! have had no effect: the errors redirect the client, or say why there is no node to go to.

use super::topology::moved;
use crate::execute::client::Client;
use crate::execute::node::Node;
use crate::net::port::PortKind;
use crate::slots::Slots;
use scurry_group::view::{Member, View};
use scurry_resp::table::{Spec, Spread};
use scurry_resp::{Args, slot};

/// The last reply on a connection to the main port of a node that another node leads.
pub(crate) const ANOTHER_LEADS: &str =
    "READONLY another node leads now: connect again, and this port leads to it";

/// Age in ms up to which a node that follows answers reads after READONLY.
const AGE_MS_MAX: u64 = 5_000;

/// Returns the error for a request that shows or changes the group's data, if this node does not execute it; None if it
/// does.
#[inline]
pub(crate) fn elsewhere(
    node: &Node,
    client: &Client,
    spec: &Spec,
    args: Args<'_>,
) -> Option<String> {
    let view = node.view.as_deref()?;
    if node.shared.slots.cores() == 1 && node.durable.executes() {
        return None;
    }
    let place =
        EntryPort { executes: node.durable.executes(), ..EntryPort::of(node, view, client.port) };
    let slots = spec.key_positions(args).map(|position| slot(args.at(position)));
    let said = place.refusal(slots)?;
    if !client.reads_replicas {
        return Some(said);
    }
    match can_show(node, view, client, spec, args) {
        true => None,
        false => Some(passed_on(spec, said)),
    }
}

/// Reports whether a node that follows may answer a request with what it has: a read of a client that said READONLY, of
/// keys of this core, while this node has lately had all that the leader had.
#[cold]
fn can_show(node: &Node, view: &View, client: &Client, spec: &Spec, args: Args<'_>) -> bool {
    let is_own = |position| node.shared.slots.owner_of(args.at(position)) == node.core;
    is_plain_read(spec)
        && client.port == PortKind::Core
        // A transaction is executed by one node, and invalidations come from the leader.
        && client.transaction.is_none()
        && client.tracking.is_none()
        && spec.key_positions(args).all(is_own)
        && node.durable.follows()
        && view.shown_age_ms(node.core, node.clock.read().uptime_ms).is_some_and(|age| age <= AGE_MS_MAX)
}

/// Reports whether a command reads keys out of memory, and nothing else.
fn is_plain_read(spec: &Spec) -> bool {
    spec.keys.0 != 0 && spec.flags.contains(&"readonly") && spec.spread != Spread::Log
}

/// Turns the error into one for a client that reads from replicas. MOVED would tell it nothing new, and it would ask a
/// replica again. ASK sends this one read to the leader and leaves the client's map as it is.
#[cold]
fn passed_on(spec: &Spec, said: String) -> String {
    let reads = spec.keys.0 != 0 && spec.flags.contains(&"readonly");
    match said.strip_prefix("MOVED ") {
        Some(place) if reads => format!("ASK {place}"),
        _ => said,
    }
}

/// Returns the error for part of a request from another core that this core does not execute.
#[cold]
pub(crate) fn not_here(node: &Node) -> String {
    let place = node.view.as_deref().map(|view| EntryPort::of(node, view, PortKind::Main));
    let said = place.and_then(|place| place.of_core(node.core, 0));
    said.unwrap_or_else(|| not_yet(node.core))
}

/// The port and core through which a request arrived.
struct EntryPort<'v> {
    view: &'v View,
    slots: Slots,
    port: PortKind,
    core: u16,
    /// Whether the core executes commands; it knows before the view shows it.
    executes: bool,
}

impl EntryPort<'_> {
    fn of<'v>(node: &Node, view: &'v View, port: PortKind) -> EntryPort<'v> {
        EntryPort { view, slots: node.shared.slots, port, core: node.core, executes: false }
    }

    /// Returns the error for a request with keys in these slots, or without keys.
    fn refusal(&self, mut slots: impl Iterator<Item = u16>) -> Option<String> {
        match (self.port, slots.next()) {
            (PortKind::Core, Some(slot)) => self.of_core(self.slots.owner(slot), slot),
            // A core's port stands for its slots.
            (PortKind::Core, None) => self.of_core(self.core, *self.slots.range(self.core).start()),
            (PortKind::Main, None) => {
                (0..self.slots.cores()).find_map(|core| self.of_core(core, 0))
            }
            (PortKind::Main, Some(first)) => {
                let mut all = std::iter::once(first).chain(slots);
                all.find_map(|slot| self.of_core(self.slots.owner(slot), slot))
            }
        }
    }

    fn of_core(&self, core: u16, slot: u16) -> Option<String> {
        let shard = self.view.shards.get(usize::from(core));
        let is_own = core == self.core;
        let serves = if is_own { self.executes } else { shard.is_some_and(|shard| shard.serves) };
        if serves && (is_own || self.port == PortKind::Main) {
            return None;
        }
        let Some(leader) = self.view.leader(core) else {
            return Some(format!(
                "CLUSTERDOWN no node leads shard {core}: {}",
                self.view.no_leader_reason()
            ));
        };
        let is_here = leader.id == self.view.node;
        Some(match self.port {
            _ if is_here && !serves => not_yet(core),
            PortKind::Core => self.moved(leader, core, slot),
            // The client connected while this node led: clients take this error as the end of a primary.
            PortKind::Main => ANOTHER_LEADS.to_owned(),
        })
    }

    fn moved(&self, leader: &Member, core: u16, slot: u16) -> String {
        let port = leader.addresses.cores.get(usize::from(core)).copied().unwrap_or(0);
        moved(slot, &leader.addresses.ip.to_string(), port)
    }
}

fn not_yet(core: u16) -> String {
    format!(
        "CLUSTERDOWN this node was elected for shard {core} and has not taken over yet: try again"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::commands::example_view::view;

    fn refusal(view: &View, port: PortKind, core: u16, slots: &[u16]) -> Option<String> {
        let threads = u16::try_from(view.shards.len()).expect("few");
        let executes = view.shards[usize::from(core)].serves;
        let place = EntryPort { view, slots: Slots::new(threads), port, core, executes };
        place.refusal(slots.iter().copied())
    }

    #[test]
    fn the_leader_executes_and_its_threads_send_each_other_what_is_theirs() {
        let view = view(1, Some(1), 3);
        for slots in [&[][..], &[1], &[1, 16_000]] {
            assert_eq!(refusal(&view, PortKind::Main, 0, slots), None, "{slots:?}");
        }
        assert_eq!(refusal(&view, PortKind::Core, 2, &[]), None);
        assert_eq!(refusal(&view, PortKind::Core, 2, &[16_000]), None);
        let moved = refusal(&view, PortKind::Core, 2, &[1]);
        assert_eq!(moved.as_deref(), Some("MOVED 1 10.0.0.1:6390"));
    }

    #[test]
    fn another_node_sends_to_the_leader_also_what_has_no_key() {
        let view = view(1, Some(3), 3);
        let core = |slots: &[u16]| refusal(&view, PortKind::Core, 1, slots);
        assert_eq!(core(&[16_000]).as_deref(), Some("MOVED 16000 10.0.0.3:6392"));
        assert_eq!(core(&[6_000]).as_deref(), Some("MOVED 6000 10.0.0.3:6391"));
        assert_eq!(core(&[]).as_deref(), Some("MOVED 5462 10.0.0.3:6391"));
        for slots in [&[][..], &[1]] {
            let said = refusal(&view, PortKind::Main, 0, slots).expect("another leads");
            assert!(said.starts_with("READONLY another node leads"), "{said}");
        }
    }

    #[test]
    fn a_read_of_who_reads_from_replicas_is_sent_on_and_nothing_else() {
        let spec = |name: &str| scurry_resp::table::find(name.as_bytes()).expect(name);
        let moved = "MOVED 16000 10.0.0.3:6392";
        let said = |name: &str| passed_on(spec(name), moved.to_owned());
        for name in ["GET", "MGET", "TTL", "SCUR.GET"] {
            assert_eq!(said(name), "ASK 16000 10.0.0.3:6392", "{name}");
        }
        for name in ["SET", "SCUR.DEBIT", "DBSIZE", "WATCH"] {
            assert_eq!(said(name), moved, "{name}");
        }
        for (name, is_read) in
            [("GET", true), ("SCUR.GET", true), ("SCUR.STATEMENT", false), ("DBSIZE", false)]
        {
            assert_eq!(is_plain_read(spec(name)), is_read, "{name}");
        }
        assert!(!is_plain_read(spec("SET")) && !is_plain_read(spec("WATCH")));
        let down = "CLUSTERDOWN no node leads shard 0";
        assert_eq!(passed_on(spec("GET"), down.to_owned()), down);
    }

    #[test]
    fn who_has_no_leader_says_what_is_missing() {
        let mut nobody = view(1, None, 1);
        for port in [PortKind::Main, PortKind::Core] {
            for slots in [&[][..], &[1]] {
                let said = refusal(&nobody, port, 0, slots).expect("nobody leads");
                let expected =
                    "CLUSTERDOWN no node leads shard 0: an election is under way: try again";
                assert_eq!(said, expected);
            }
        }
        nobody.members[1].is_connected = false;
        let said = refusal(&nobody, PortKind::Core, 0, &[1]).expect("nobody leads");
        assert!(said.contains("an election"), "two of three are enough: {said}");
        nobody.members[2].is_connected = false;
        let said = refusal(&nobody, PortKind::Core, 0, &[1]).expect("nobody leads");
        assert!(
            said.contains("reaches 1 of the 3 nodes") && said.contains("2 are needed"),
            "{said}"
        );
    }

    #[test]
    fn who_has_come_to_lead_executes_nothing_before_it_serves() {
        let mut view = view(1, Some(1), 2);
        view.shards[1].serves = false;
        for port in [PortKind::Main, PortKind::Core] {
            let said = refusal(&view, port, 1, &[16_000]).expect("it does not serve");
            assert!(said.starts_with("CLUSTERDOWN this node was elected for shard 1"), "{said}");
        }
        assert_eq!(refusal(&view, PortKind::Main, 0, &[1]), None);
        assert!(refusal(&view, PortKind::Main, 0, &[]).is_some());
    }
}
