//! The slot map of a server with a port per core, as a cluster client gets it: it asks CLUSTER SLOTS once and sends
//! each request to the core that owns its key.

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use crate::resp::Value;

const SLOTS: usize = 16_384;
/// Most nodes that one byte can number.
const NODES_MAX: usize = 256;

/// Ports of a server that get the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Ports {
    /// The main port, which passes on what another core owns.
    #[default]
    Main,
    /// The port of the core that owns the key.
    Cores,
}

impl Ports {
    /// Returns the name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Ports::Main => "main",
            Ports::Cores => "cores",
        }
    }
}

/// Owners of the keys, by hash slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routes {
    addresses: Vec<SocketAddr>,
    /// Index into the addresses, by slot.
    owners: Vec<u8>,
}

impl Routes {
    /// Reads the reply to CLUSTER SLOTS of this server.
    ///
    /// # Errors
    /// When it has no map, or the map leaves a slot without an owner.
    pub fn read(reply: &Value, server: SocketAddr) -> Result<Routes> {
        let ranges = reply.elements();
        ensure!(!ranges.is_empty(), "CLUSTER SLOTS gives no map of the cores: {reply}");
        let mut routes = Routes { addresses: Vec::new(), owners: vec![0; SLOTS] };
        let mut owned = vec![false; SLOTS];
        for range in ranges {
            let wrong = || format!("CLUSTER SLOTS has a range of another shape: {range}");
            let [first, last, node, ..] = range.elements() else { anyhow::bail!(wrong()) };
            let slot = |value: &Value| value.integer().and_then(|slot| usize::try_from(slot).ok());
            let (first, last) = (slot(first).with_context(wrong)?, slot(last).with_context(wrong)?);
            ensure!(first <= last && last < SLOTS, wrong());
            let owner = routes.owner(address(node, server).with_context(wrong)?)?;
            routes.owners[first..=last].fill(owner);
            owned[first..=last].fill(true);
        }
        let orphan = owned.iter().position(|owned| !owned);
        ensure!(
            orphan.is_none(),
            "CLUSTER SLOTS leaves slot {} without an owner",
            orphan.unwrap_or(0)
        );
        Ok(routes)
    }

    /// Creates a partition that only clients know: each server owns an equal share of the slots.
    ///
    /// # Errors
    /// When there are no servers or too many.
    pub fn partition(addresses: Vec<SocketAddr>) -> Result<Routes> {
        let count = addresses.len();
        ensure!((1..=NODES_MAX).contains(&count), "there are 1 to {NODES_MAX} nodes");
        let owner = |slot: usize| u8::try_from(slot * count / SLOTS);
        let owners = (0..SLOTS).map(owner).collect::<Result<_, _>>()?;
        Ok(Routes { addresses, owners })
    }

    fn owner(&mut self, address: SocketAddr) -> Result<u8> {
        let known = self.addresses.iter().position(|known| *known == address);
        let index = known.unwrap_or(self.addresses.len());
        if known.is_none() {
            ensure!(index < NODES_MAX, "CLUSTER SLOTS names more than {NODES_MAX} ports");
            self.addresses.push(address);
        }
        Ok(u8::try_from(index)?)
    }

    /// Returns the addresses, each once.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Returns the owner of a key, as an index into the addresses.
    pub fn owner_of(&self, key: &[u8]) -> u8 {
        self.owners[slot_of(key)]
    }

    /// Returns the owner of each of `count` keys.
    ///
    /// # Errors
    /// When a core owns none of them: its connections would have nothing to request.
    pub fn owners<K: AsRef<[u8]>>(
        &self,
        count: u32,
        connections: u32,
        key: impl Fn(u32) -> K,
    ) -> Result<Owners> {
        let owners: Vec<u8> =
            (0..count).map(|number| self.owner_of(key(number).as_ref())).collect();
        for (index, address) in self.addresses.iter().enumerate() {
            ensure!(
                owners.iter().any(|owner| usize::from(*owner) == index),
                "none of the {count} keys belongs to {address}: use more keys or accounts"
            );
        }
        let nodes = u32::try_from(self.addresses.len())?;
        ensure!(connections >= nodes, "{nodes} cores need at least as many --connections");
        Ok(Owners { owners, nodes, connections })
    }
}

/// Owner of each numbered key, which decides the keys that a session may use: its connection goes to one core.
#[derive(Clone, Debug)]
pub struct Owners {
    owners: Vec<u8>,
    nodes: u32,
    connections: u32,
}

impl Owners {
    /// Reports whether the key's owner is the core of this session's connection. The loader assigns sessions to
    /// connections, and connections to cores, in turn.
    #[inline]
    pub fn serves(&self, session: u32, key: u32) -> bool {
        u32::from(self.owners[key as usize]) == session % self.connections % self.nodes
    }
}

/// Parses the address of a node: `[ip, port, ...]`. An empty ip means the server's.
fn address(node: &Value, server: SocketAddr) -> Option<SocketAddr> {
    let [ip, port, ..] = node.elements() else { return None };
    let port = port.integer().and_then(|port| u16::try_from(port).ok())?;
    let ip = match ip.text() {
        Some(text) if !text.is_empty() => text.parse().ok()?,
        _ => server.ip(),
    };
    Some(SocketAddr::new(ip, port))
}

/// Returns the slot of a key: CRC16 of the key, or of the text within its first braces.
fn slot_of(key: &[u8]) -> usize {
    let tag = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        rest.iter().position(|byte| *byte == b'}').filter(|length| *length > 0).map(|l| &rest[..l])
    });
    usize::from(crc16(tag.unwrap_or(key))) % SLOTS
}

/// Computes CRC-16/XMODEM, as the cluster specification requires.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0u16, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(text: &str) -> Value {
        Value::read(text.replace('|', "\r\n").as_bytes()).unwrap().1
    }

    const TWO: &str =
        "*2|*3|:0|:8191|*3|$0||:7001|$1|a|*3|:8192|:16383|*3|$9|127.0.0.1|:7002|$1|b|";

    #[test]
    fn slots_are_those_of_the_cluster_specification() {
        assert_eq!(crc16(b"123456789"), 0x31C3);
        assert_eq!(slot_of(b"foo"), 12_182);
        assert_eq!(slot_of(b"{user1000}.following"), slot_of(b"user1000"));
        assert_eq!(slot_of(b"foo{}{bar}"), usize::from(crc16(b"foo{}{bar}")) % SLOTS);
        assert_eq!(slot_of(b"foo{{bar}}zap"), slot_of(b"{bar"));
    }

    #[test]
    fn each_slot_has_its_port() {
        let server = SocketAddr::from(([127, 0, 0, 1], 7000));
        let routes = Routes::read(&reply(TWO), server).unwrap();
        let ports: Vec<u16> = routes.addresses().iter().map(SocketAddr::port).collect();
        assert_eq!(ports, [7001, 7002]);
        assert_eq!(routes.owner_of(b"foo"), 1);
        let owners = routes.owners(100, 4, |number| format!("key:{number}")).unwrap();
        for number in 0..100u32 {
            let owner = u32::from(routes.owner_of(format!("key:{number}").as_bytes()));
            assert!(owners.serves(owner, number) && owners.serves(owner + 6, number));
            assert!(!owners.serves(owner + 1, number));
        }
        let error = routes.owners(1, 4, |_| "foo").unwrap_err().to_string();
        assert!(error.contains("7001"), "{error}");
        assert!(routes.owners(100, 1, |number| format!("key:{number}")).is_err());
    }

    #[test]
    fn a_partition_gives_every_node_as_many_slots() {
        let ports = [7001, 7002, 7003].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        let routes = Routes::partition(ports.to_vec()).unwrap();
        assert_eq!(routes.addresses(), ports);
        for node in 0..3 {
            let slots = routes.owners.iter().filter(|owner| **owner == node).count();
            assert!((5_461..=5_462).contains(&slots), "{slots}");
        }
        assert!(Routes::partition(Vec::new()).is_err());
    }

    #[test]
    fn a_map_with_holes_or_none_is_refused() {
        let server = SocketAddr::from(([127, 0, 0, 1], 7000));
        for (text, expected) in [
            ("-ERR cluster support disabled|", "no map of the cores: error ERR cluster"),
            (&*TWO.replace(":8192", ":8193"), "slot 8192 without an owner"),
            ("*1|*2|:0|:16383|", "another shape"),
            ("*1|*3|:0|:16384|*2|$0||:1|", "another shape"),
        ] {
            let error = Routes::read(&reply(text), server).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
