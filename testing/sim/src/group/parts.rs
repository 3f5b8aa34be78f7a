//! Snapshots from the leader to nodes that lack entries which its log no longer has. This stands for the threads of a
//! server: one reads parts on the leader, one writes them on the receiver. Lost parts are sent again, or the snapshot
//! is given up.

use super::machine::Machine;
use super::running::Input;
use super::sending::Receiving;
use super::trio::GroupSim;
use scurry_consensus::replica::{ByteCount, Index, NodeId};
use scurry_consensus::shard::{ReceivedSnapshot, base_from};
use scurry_engine::{Disk, File, clear_incoming, incoming_name};

impl GroupSim {
    /// Returns the sender and the receiver of each snapshot that is being sent.
    pub(super) fn sendings(&self) -> Vec<(NodeId, NodeId)> {
        let up = self.machines.values().filter(|machine| machine.is_up());
        let of = |machine: &Machine| {
            let running = machine.running.as_ref();
            running.map(|running| {
                running.sending.keys().map(|to| (machine.id, *to)).collect::<Vec<_>>()
            })
        };
        up.filter_map(of).flatten().collect()
    }

    /// Sends one part of a snapshot. Returns false if that was not possible.
    pub(super) fn send_part(&mut self, from: NodeId, to: NodeId) -> bool {
        let ways = [(from, to), (to, from)];
        let is_cut = ways.iter().any(|way| self.network.cuts.contains(way));
        let is_there = self.machines.get(&to).is_some_and(|machine| machine.is_up());
        if is_cut || !is_there {
            // A sender without an answer gives up after some time.
            if self.random.one_in(4) {
                self.sent(from, to, Err("the node does not answer".to_owned()));
            }
            return false;
        }
        // The receiver first puts an earlier snapshot in its place.
        let target = self.machines[&to].running.as_ref();
        if target.is_some_and(|running| running.group.is_exchanging()) {
            return false;
        }
        match self.part(from, to) {
            Ok(None) => true,
            Ok(Some(index)) => {
                self.sent(from, to, Ok(index));
                true
            }
            Err(why) => {
                self.trace.add(format!("no snapshot from {from} to {to}: {why}"));
                self.sent(from, to, Err(why));
                false
            }
        }
    }

    fn sent(&mut self, from: NodeId, to: NodeId, outcome: Result<Index, String>) {
        let source = self.machines.get_mut(&from).and_then(|machine| machine.running.as_mut());
        if let Some(source) = source {
            source.sending.remove(&to);
            source.inputs.push_back(Input::Sent { to, outcome });
        }
    }

    /// Transfers the next part. Returns the entry at which the receiver's log now begins, once the snapshot is in use.
    fn part(&mut self, from: NodeId, to: NodeId) -> Result<Option<Index>, String> {
        let text = |error: std::io::Error| error.to_string();
        let part_len = 1 + self.random.below(self.plan.part_len);
        let source = self.machines.get_mut(&from).ok_or("no source")?;
        let mut source_disk = source.disk.clone();
        let sending = source.running.as_mut().and_then(|running| running.sending.get_mut(&to));
        let sending = sending.ok_or("nothing is sent")?;
        if sending.file.is_none() {
            sending.file = Some(sending.offer.open(&mut source_disk, self.log).map_err(text)?);
        }
        let (number, offer) = (sending.number, sending.offer.clone());
        let target = self.machines.get_mut(&to).ok_or("no target")?;
        let mut disk = target.disk.clone();
        let running = target.running.as_mut().ok_or("it is down")?;
        if running.received == Some((from, number)) {
            return Ok(Some(offer.base.index));
        }
        let is_known =
            running.receiving.as_ref().is_some_and(|r| (r.from, r.number) == (from, number));
        // The first contact: the receiver accepts a snapshot only from its leader, and creates a file for it.
        if !is_known {
            if running.group.leader() != Some(from) {
                return Err("it offers a snapshot and does not lead".to_owned());
            }
            clear_incoming(&mut disk).map_err(text)?;
            let name = incoming_name(offer.base.sequence.get(), offer.begun.get());
            let file = Some(disk.create(&name, 0).map_err(text)?);
            running.receiving =
                Some(Receiving { from, number, file, have: ByteCount(0), is_refused: false });
            self.trace.add(format!("{from} sends {to} a snapshot behind {:?}", offer.base));
            return Ok(None);
        }
        let Some(receiving) = running.receiving.as_ref() else { return Ok(None) };
        if receiving.is_refused {
            return Err("the node does not take it".to_owned());
        }
        if receiving.file.is_none() {
            // The file is complete, and the receiver's group has not used it yet.
            return Ok(None);
        }
        let have = receiving.have;
        let mut bytes = vec![0; part_len.min((offer.len - have).in_memory())];
        let source = self.machines.get_mut(&from).and_then(|machine| machine.running.as_mut());
        let sending = source.and_then(|running| running.sending.get_mut(&to));
        let read = sending.and_then(|sending| sending.file.as_mut()).ok_or("nothing is sent")?;
        if read.read_at(have.get(), &mut bytes).map_err(text)? < bytes.len() {
            return Err("the file ends".to_owned());
        }
        let target = self.machines.get_mut(&to).and_then(|machine| machine.running.as_mut());
        let target = target.ok_or("it is down")?;
        let receiving = target.receiving.as_mut().ok_or("nothing is received")?;
        let file = receiving.file.as_mut().ok_or("nothing is received")?;
        file.write_at(receiving.have.get(), &bytes).map_err(text)?;
        receiving.have += ByteCount::of(&bytes);
        if receiving.have == offer.len {
            file.sync().map_err(text)?;
            disk.sync_dir().map_err(text)?;
            receiving.file = None;
            let base = base_from(&offer.base)?;
            let came = ReceivedSnapshot { from, number, offer: Box::new(offer), base };
            target.inputs.push_back(Input::Came(Box::new(came)));
        }
        Ok(None)
    }
}
