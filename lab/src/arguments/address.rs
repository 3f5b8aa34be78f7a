//! `--address dragonfly=127.0.0.1:6379`: the address of a system that the lab does not start itself.

use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use anyhow::{Context, Result, ensure};

use crate::target::Target;

/// Target and its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetAddress {
    /// System under test.
    pub target: Target,
    /// Address that it listens on.
    pub address: SocketAddr,
}

impl FromStr for TargetAddress {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<TargetAddress> {
        let (name, place) = text.split_once('=').context("say NAME=HOST:PORT")?;
        let target = Target::parse(name)?;
        ensure!(target.may_be_addressed(), "{name} is started by the lab: leave its --address out");
        let found = place.to_socket_addrs().with_context(|| format!("{place} is no HOST:PORT"))?;
        let address = found.into_iter().next().context("the host has no address")?;
        Ok(TargetAddress { target, address })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_plain_store() {
        let found: TargetAddress = "keydb=127.0.0.1:7".parse().unwrap();
        assert_eq!(found.target, Target::KeyDb);
        for name in ["tarantool+lua", "tigerbeetle", "aerospike"] {
            let found: TargetAddress = format!("{name}=127.0.0.1:7").parse().unwrap();
            assert_eq!(found.target.name(), name);
        }
        assert_eq!(found.address, SocketAddr::from(([127, 0, 0, 1], 7)));
        for (text, expected) in [
            ("keydb", "NAME=HOST:PORT"),
            ("mongo=127.0.0.1:7", "no target `mongo`"),
            ("scurry=127.0.0.1:7", "started by the lab"),
            ("keydb=127.0.0.1", "no HOST:PORT"),
        ] {
            let error = format!("{:#}", text.parse::<TargetAddress>().unwrap_err());
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
