//! RDMA in a build without it: every use fails with an error that says how to build it.

use super::Rdma;
use crate::server_address::{ServerAddress, Stream};
use anyhow::{Result, bail};
use scurry_server::Adapter;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

const ABSENT: &str =
    "this scurry was built without RDMA: build it with cargo build --release --features rdma";

/// Refuses to listen.
pub(super) fn adapter(listen: SocketAddr, _: &Rdma) -> Result<Arc<dyn Adapter>> {
    bail!("cannot listen on {listen} over RDMA: {ABSENT}")
}

/// Refuses to connect.
pub(crate) fn connect(_: &ServerAddress, _: Duration) -> Result<Box<dyn Stream>> {
    bail!(ABSENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Options {
        #[command(flatten)]
        rdma: Rdma,
    }

    fn told(words: &[&str]) -> Result<Option<Arc<dyn Adapter>>> {
        Options::parse_from([&["scurry"], words].concat()).rdma.adapter()
    }

    #[test]
    fn who_asks_for_rdma_is_told_which_build_has_it() {
        let error = told(&["--rdma-listen", "10.0.0.1:6390"]).unwrap_err().to_string();
        assert!(error.contains("10.0.0.1:6390 over RDMA"), "{error}");
        assert!(error.contains("--features rdma"), "{error}");
        assert!(told(&[]).unwrap().is_none());
    }
}
