//! Finds free ports on this machine.

use anyhow::{Result, bail};
use std::net::{Ipv4Addr, TcpListener};

/// Range searched for free blocks, below the ephemeral ports that the kernel gives to clients.
const PORTS: std::ops::Range<u16> = 21_000..32_000;

/// Returns the first of `count` consecutive free ports: the requested block, or any.
pub(crate) fn free_ports(first: Option<u16>, count: u16) -> Result<u16> {
    if let Some(first) = first {
        return match taken(first, count) {
            None => Ok(first),
            Some(port) => bail!(
                "port {port} is taken: stop what listens there, or give another --port ({count} \
                 ports from there on are needed)"
            ),
        };
    }
    // Processes that start at the same time begin their search at different blocks.
    let blocks = (PORTS.end - PORTS.start) / count;
    let begin = u16::try_from(std::process::id() % u32::from(blocks.max(1))).unwrap_or(0);
    for block in 0..blocks {
        let first = PORTS.start + (begin + block) % blocks * count;
        if taken(first, count).is_none() {
            return Ok(first);
        }
    }
    bail!("no {count} free ports between {} and {}: give --port", PORTS.start, PORTS.end)
}

/// Returns the first of these ports that cannot be bound.
fn taken(first: u16, count: u16) -> Option<u16> {
    (first..first.saturating_add(count))
        .find(|&port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_err())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_is_named_and_passed_over() {
        let _lock = crate::machine::CHILDREN.lock().expect("no test has failed");
        let first = free_ports(None, 4).expect("ports");
        let other = TcpListener::bind((Ipv4Addr::LOCALHOST, first + 2)).expect("it was free");
        let error = free_ports(Some(first), 4).expect_err("one is taken").to_string();
        assert!(error.contains(&format!("port {} is taken", first + 2)), "{error}");
        assert_ne!(free_ports(None, 4).expect("ports"), first);
        drop(other);
        assert_eq!(free_ports(Some(first), 4).expect("all are free"), first);
    }
}
