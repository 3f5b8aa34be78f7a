//! Connections to the ports for nodes that send what no node sends. Without certificates everybody who reaches such a
//! port can speak to it; docs/formats/between-nodes.md has the bytes, which this file writes by itself.

use super::FaultContext;
use crate::group::Group;
use anyhow::{Context, Result, ensure};
use scurry_crash::clock;
use scurry_model::Random;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Threads, and connections that each has open at a time: 192 in all.
const THREADS: usize = 8;
const CONNECTIONS: usize = 24;
/// Timeout of a connection.
const PATIENCE: Duration = Duration::from_millis(300);
/// Length of a greeting's magic, versions, length and checksum.
const HEAD_LEN: usize = 20;
/// Kind of an answer that lets a node send packets.
const WELCOME: u8 = 1;
/// Greatest length of a greeting and of a packet that a node reads.
const GREETING_LEN_MAX: u32 = 256 << 10;
const PACKET_LEN_MAX: u32 = 80 << 20;
/// Random bytes of one connection at most.
const RANDOM_LEN_MAX: usize = 64 << 10;

/// A node's port for nodes, and the greeting of another member to it.
struct NodePort {
    address: SocketAddr,
    greeting: Vec<u8>,
}

/// What the threads of a flood have in common.
#[derive(Default)]
struct FloodProgress {
    is_over: AtomicBool,
    /// Connections that took everything that was sent on them.
    taken: AtomicU64,
    /// Those on which a packet followed a greeting that was welcomed.
    welcomed: AtomicU64,
}

/// Sends garbage to all nodes at once for some seconds. The group must serve while it arrives.
pub(super) fn flood(scene: &mut FaultContext<'_>) -> Result<()> {
    beside(scene, |scene| {
        scene.pass_ms(2_000, 5_000)?;
        scene.group.execute(&[0, 1, 2], "SET garbage written").map(drop)
    })
}

/// Sends garbage to all nodes while something else happens.
pub(super) fn beside(
    scene: &mut FaultContext<'_>,
    meanwhile: impl FnOnce(&mut FaultContext<'_>) -> Result<()>,
) -> Result<()> {
    let ports = ports(scene.group)?;
    // Without this the packets behind the greetings might reach no node.
    scene.group.until("a right greeting is welcomed", |_| {
        ports.iter().try_for_each(|port| {
            let kind = greet(&mut connect(port)?, &port.greeting)?;
            ensure!(kind == WELCOME, "the answer has kind {kind}");
            Ok(())
        })
    })?;
    let progress = FloodProgress::default();
    let seeds: Vec<u64> = (0..THREADS).map(|_| scene.random.next_u64()).collect();
    thread::scope(|scope| {
        for seed in seeds {
            let (ports, progress) = (&ports, &progress);
            scope.spawn(move || send_garbage(ports, Random::new(seed), progress));
        }
        let outcome = meanwhile(scene);
        progress.is_over.store(true, Ordering::Relaxed);
        outcome
    })?;
    let [taken, welcomed] = [progress.taken, progress.welcomed].map(AtomicU64::into_inner);
    ensure!(taken > 0 && welcomed > 0, "{taken} connections, {welcomed} of them as a member");
    Ok(())
}

/// Opens connections to random ports, sends garbage on each, and closes them after a moment, until it is over.
fn send_garbage(ports: &[NodePort], mut random: Random, progress: &FloodProgress) {
    while !progress.is_over.load(Ordering::Relaxed) {
        let mut open = Vec::new();
        for _ in 0..CONNECTIONS {
            let port = &ports[random.below(ports.len())];
            // A node may refuse it at any moment: only that the node goes on is asked here.
            if let Ok(mut stream) = connect(port) {
                if let Ok(welcomed) = write_garbage(&mut stream, port, &mut random) {
                    progress.taken.fetch_add(1, Ordering::Relaxed);
                    progress.welcomed.fetch_add(u64::from(welcomed), Ordering::Relaxed);
                }
                open.push(stream);
            }
        }
        let end = clock::ns() + random.between(0, 300) * 1_000_000;
        for stream in &mut open {
            // What a node says is read until the end of the moment: it may also close the connection.
            while clock::ns() < end && stream.read(&mut [0; 4_096]).is_ok_and(|len| len > 0) {}
        }
    }
}

/// Sends one kind of garbage. Returns whether it was a packet on a connection that was welcomed.
fn write_garbage(stream: &mut TcpStream, port: &NodePort, random: &mut Random) -> Result<bool> {
    let greeting = &port.greeting;
    match random.below(8) {
        0 => stream.write_all(&bytes(random, RANDOM_LEN_MAX))?,
        1 => stream.write_all(&greeting[..random.below(greeting.len())])?,
        2 => {
            // A bit of a greeting is another.
            let mut wrong = greeting.clone();
            wrong[random.below(greeting.len())] ^= 1 << random.below(8);
            stream.write_all(&wrong)?;
        }
        3 => {
            let mut long = greeting[..HEAD_LEN].to_vec();
            let len = random.pick(&[GREETING_LEN_MAX, GREETING_LEN_MAX + 1, u32::MAX]);
            long[12..16].copy_from_slice(&len.to_le_bytes());
            stream.write_all(&long)?;
            stream.write_all(&bytes(random, RANDOM_LEN_MAX))?;
        }
        4 => {
            // It speaks a version that no node knows.
            let mut unknown = greeting.clone();
            unknown[8..12].copy_from_slice(&[200, 0, 200, 0]);
            stream.write_all(&unknown)?;
        }
        _ => {
            let kind = greet(stream, greeting)?;
            stream.write_all(&packet(random))?;
            return Ok(kind == WELCOME);
        }
    }
    Ok(false)
}

/// Returns a packet that no node may accept: it must close the connection.
fn packet(random: &mut Random) -> Vec<u8> {
    let body = bytes(random, 4_096);
    let framed = |len: u32, body: &[u8]| {
        let head = [len.to_le_bytes(), checksum(body).to_le_bytes()].concat();
        [&head, body].concat()
    };
    let own_len = u32::try_from(body.len()).unwrap_or(u32::MAX);
    match random.below(4) {
        // Longer than packets can be, or as long as they can be and soon over.
        0 => framed(random.pick(&[PACKET_LEN_MAX, PACKET_LEN_MAX + 1, u32::MAX]), &body),
        // The checksum is that of other bytes.
        1 => {
            let mut wrong = framed(own_len, &body);
            wrong[4] ^= 1;
            wrong
        }
        // The checksum is right, and the kind is none.
        2 => {
            let mut body = body;
            body[0] = 200;
            framed(own_len, &body)
        }
        // More frames than a packet can have.
        _ => {
            let mut body = body;
            body[0] = 1;
            body[3..7].fill(0);
            body[7..11].copy_from_slice(&u32::MAX.to_le_bytes());
            framed(own_len, &body)
        }
    }
}

/// Returns random bytes: at least the fixed fields of a packet.
fn bytes(random: &mut Random, len_max: usize) -> Vec<u8> {
    let len = 32 + random.below(len_max);
    (0..len).map(|_| random.next_u64().to_le_bytes()[3]).collect()
}

fn connect(port: &NodePort) -> Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&port.address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Sends a greeting. Returns the kind of its answer.
fn greet(stream: &mut TcpStream, greeting: &[u8]) -> Result<u8> {
    stream.write_all(greeting)?;
    let mut answer = [0; HEAD_LEN + 1];
    stream.read_exact(&mut answer).context("no answer to a greeting")?;
    Ok(answer[HEAD_LEN])
}

/// Returns the ports of all nodes, each with a greeting of the node after it.
fn ports(group: &Group) -> Result<Vec<NodePort>> {
    let count = group.nodes.len();
    (0..count).map(|target| port(group, target, (target + 1) % count)).collect()
}

fn port(group: &Group, target: usize, from: usize) -> Result<NodePort> {
    let mut fields = vec![1];
    fields.extend(store(group, target)?.to_le_bytes());
    for node in [from, target] {
        fields.extend(u64::from_str_radix(&group.nodes[node].status()?.id, 16)?.to_le_bytes());
    }
    // The addresses are the true ones, so that no node looks for another elsewhere.
    let own: SocketAddr = group.nodes[from].peer().parse()?;
    let (machine, ports) = group.nodes[from].client_ports();
    let (main, threads) = ports.split_first().context("no ports")?;
    let count = u16::try_from(threads.len())?.to_le_bytes();
    fields.extend(count);
    put_ip(&mut fields, own.ip());
    fields.extend(own.port().to_le_bytes());
    put_ip(&mut fields, machine.parse()?);
    fields.extend(main.to_le_bytes());
    fields.extend(count);
    threads.iter().for_each(|port| fields.extend(port.to_le_bytes()));
    let mut greeting = b"SCURNODE\x01\0\x04\0".to_vec();
    greeting.extend(u32::try_from(fields.len())?.to_le_bytes());
    greeting.extend(checksum(&fields).to_le_bytes());
    greeting.extend(fields);
    Ok(NodePort { address: group.nodes[target].peer().parse()?, greeting })
}

/// Returns the number by which the nodes of a group know each other: that of the log of its first thread, which is made
/// of the number of the store and its generation.
fn store(group: &Group, node: usize) -> Result<u64> {
    let manifest = std::fs::read_to_string(group.nodes[node].store().join("MANIFEST"))?;
    let field = |name: &str| {
        let found = manifest.lines().find_map(|line| line.strip_prefix(name));
        found.with_context(|| format!("no {name}in {manifest}"))
    };
    let generation: u64 = field("generation ")?.parse()?;
    Ok(u64::from_str_radix(field("store ")?, 16)? ^ generation << 16)
}

fn put_ip(out: &mut Vec<u8>, ip: IpAddr) {
    match ip {
        IpAddr::V4(ip) => {
            out.push(4);
            out.extend(ip.octets());
        }
        IpAddr::V6(ip) => {
            out.push(6);
            out.extend(ip.octets());
        }
    }
}

/// Returns the crc32c of these bytes, computed bit by bit.
fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = (sum >> 1) ^ if sum & 1 == 1 { 0x82f6_3b78 } else { 0 };
        }
    }
    !sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_crc32c() {
        // The check value that the catalogue of checksums gives for these nine digits.
        assert_eq!(checksum(b"123456789"), 0xe306_9283);
    }
}
