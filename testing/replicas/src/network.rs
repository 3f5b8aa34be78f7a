//! A simulated network that carries bytes between nodes.

use scurry_consensus::replica::NodeId;
use scurry_model::Random;
use std::collections::BTreeSet;

/// Maximum number of packets in the queue; when it is full the oldest one is lost.
const PACKETS_MAX: usize = 300;

/// Bytes of frames that a slow link takes at a time: fewer than most appends of two entries have.
const ROOM_FEW: u64 = 100;

/// A packet in flight.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Sender.
    pub from: NodeId,
    /// Receiver.
    pub to: NodeId,
    /// Encoded message.
    pub bytes: Vec<u8>,
}

/// Packets in flight, and links that are cut.
#[derive(Debug, Default)]
pub struct Network {
    packets: Vec<Packet>,
    /// Directed links (from, to) on which nothing is delivered.
    pub cuts: BTreeSet<(NodeId, NodeId)>,
}

impl Network {
    /// Queues a packet.
    pub fn send(&mut self, packet: Packet) {
        if self.packets.len() == PACKETS_MAX {
            self.packets.remove(0);
        }
        self.packets.push(packet);
    }

    /// Returns how many bytes of frames a link takes at a time: few, or any, by the number of packets in flight.
    pub fn room(&self) -> u64 {
        if self.packets.len().is_multiple_of(3) { ROOM_FEW } else { u64::MAX }
    }

    /// Reports whether nothing is in flight.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Removes and returns all packets that are not cut off, in the order in which they were sent.
    pub fn take_all(&mut self) -> Vec<Packet> {
        let packets = std::mem::take(&mut self.packets);
        packets.into_iter().filter(|packet| !self.is_cut(packet)).collect()
    }

    /// Removes one of the oldest `reach` packets, or leaves a duplicate of it in the queue. Packets to receivers that
    /// accept none at the moment stay. Returns None when the packet is lost.
    pub fn remove_packet(
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

    /// Cuts a node off from the others: its sends (`out`), sends to it (`back`), or both.
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
