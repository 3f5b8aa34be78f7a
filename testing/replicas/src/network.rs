//! A network of bytes between nodes.

use scurry_model::Random;
use scurry_replica::NodeId;
use std::collections::BTreeSet;

/// Packets that wait, at most: older ones are lost.
const PACKETS_MAX: usize = 300;

/// Bytes on their way.
#[derive(Clone, Debug)]
pub struct Packet {
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// The network.
#[derive(Debug, Default)]
pub struct Network {
    packets: Vec<Packet>,
    /// Ways on which nothing comes through: from and to.
    pub cuts: BTreeSet<(NodeId, NodeId)>,
}

impl Network {
    /// Takes a packet.
    pub fn send(&mut self, packet: Packet) {
        if self.packets.len() == PACKETS_MAX {
            self.packets.remove(0);
        }
        self.packets.push(packet);
    }

    /// True when nothing is on its way.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Everything that is on its way, in the order in which it was sent.
    pub fn take_all(&mut self) -> Vec<Packet> {
        let packets = std::mem::take(&mut self.packets);
        packets.into_iter().filter(|packet| !self.is_cut(packet)).collect()
    }

    /// Takes one of the oldest packets out, `reach` of them, or leaves a double of it. Those whose receiver takes
    /// none now wait. None when it is lost.
    pub fn take(
        &mut self,
        random: &mut Random,
        reach: usize,
        double: bool,
        takes: impl Fn(NodeId) -> bool,
    ) -> Option<Packet> {
        let waits = |(_, packet): &(usize, &Packet)| takes(packet.to);
        let oldest = self.packets.iter().enumerate().filter(waits).take(reach);
        let oldest: Vec<usize> = oldest.map(|(at, _)| at).collect();
        let at = *oldest.get(random.below(oldest.len()))?;
        let packet = self.packets.get(at)?.clone();
        if !double {
            self.packets.remove(at);
        }
        Some(packet).filter(|packet| !self.is_cut(packet))
    }

    /// Loses one packet.
    pub fn lose(&mut self, random: &mut Random) {
        if !self.packets.is_empty() {
            let at = random.below(self.packets.len());
            self.packets.remove(at);
        }
    }

    /// Cuts a node off: what it sends, what it is sent, or both.
    pub fn cut(&mut self, node: NodeId, others: &[NodeId], out: bool, back: bool) {
        for other in others.iter().filter(|other| **other != node) {
            if out {
                self.cuts.insert((node, *other));
            }
            if back {
                self.cuts.insert((*other, node));
            }
        }
    }

    fn is_cut(&self, packet: &Packet) -> bool {
        self.cuts.contains(&(packet.from, packet.to))
    }
}
