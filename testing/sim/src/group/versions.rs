//! Versions of the nodes: an operator upgrades a node when it starts, and takes that back while another one has the older
//! version. An older node reads no digests of memory (docs/adr/0050-what-is-new-waits.md).

use super::machine::{Machine, NEWER, OLDER};
use super::trio::{GroupSim, NODES};
use crate::world::CheckResult;
use scurry_consensus::replica::NodeId;

/// Least ticks between two passes in which the memory of the nodes is compared.
const DIGEST_ROUND_TICKS: u32 = 3;

impl GroupSim {
    /// Draws the version with which a node that is down starts. A node that replaces another one has the newer version: an
    /// older one would be refused when all members have the newer.
    pub(super) fn draw_version(&mut self, id: NodeId) {
        if id.get() > NODES as u64 {
            return;
        }
        let is_older = |machine: &Machine| !machine.is_gone && machine.speaks == OLDER;
        let may_go_back = self.ids(is_older).iter().any(|other| *other != id);
        let is_drawn = self.versions.one_in(2);
        let Some(machine) = self.machines.get_mut(&id) else { return };
        let before = machine.speaks;
        match (before == NEWER && may_go_back, before == OLDER) {
            (true, _) if is_drawn => machine.speaks = OLDER,
            (_, true) if is_drawn => machine.speaks = NEWER,
            _ => {}
        }
        if machine.speaks != before {
            self.counts.versions += 1;
            self.trace.add(format!("{id} speaks version {} now", machine.speaks));
        }
    }

    /// Lets a node write digests when all members know them, as the host of a server does.
    pub(super) fn allow_digests(&mut self, id: NodeId) {
        let others = self.spoken(id);
        let Some(machine) = self.machines.get_mut(&id) else { return };
        let (required, speaks) = (&mut machine.required, machine.speaks);
        let Some(running) = machine.running.as_mut() else { return };
        if running.group.has_digests() {
            required.note_logged(NEWER);
        }
        let speak = speaks == NEWER && required.all_members_speak(NEWER, others.as_deref());
        running.group.write_digests(speak.then_some(DIGEST_ROUND_TICKS));
    }

    /// Returns the other members, each with the version of a connection to it; None if this node does not lead.
    fn spoken(&self, id: NodeId) -> Option<Vec<(NodeId, Option<u16>)>> {
        let group = &self.machines.get(&id)?.running.as_ref()?.group;
        let version = |node| {
            let ways = [(id, node), (node, id)];
            let is_cut = ways.iter().any(|way| self.network.cuts.contains(way));
            let other = self.machines.get(&node).filter(|other| other.running.is_some() && !is_cut);
            (node, other.map(|other| other.speaks))
        };
        let others = group.replica.membership().nodes().filter(|node| *node != id);
        (group.leads() && group.is_settled()).then(|| others.map(version).collect())
    }
}

/// Checks that a node whose log has a digest knows digests.
pub(super) fn check_version(speaks: u16, id: NodeId) -> CheckResult {
    match speaks {
        OLDER => Err(format!("{id} has the older version, and its log has a digest")),
        _ => Ok(()),
    }
}
