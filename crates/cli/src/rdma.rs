//! The options of `scurry serve` about RDMA. What a build with the feature `rdma` makes of them is in
//! `rdma/device.rs`; another build knows the options too, and says which one has it.

#[cfg_attr(not(feature = "rdma"), path = "rdma/absent.rs")]
mod device;

use crate::size::Size;
use anyhow::{Result, ensure};
use clap::Args;
use scurry_server::RdmaSettings;
use serde::Deserialize;
use std::net::SocketAddr;

pub(crate) use device::connect;

#[derive(Args, Debug)]
#[command(next_help_heading = "RDMA")]
pub(crate) struct Rdma {
    /// Speak RESP over RDMA here too (Valkey over RDMA), to peers of a network that is trusted. Needs
    /// libibverbs, librdmacm and a device that has this address [default: TCP alone]
    #[arg(long, value_name = "ADDR:PORT")]
    rdma_listen: Option<SocketAddr>,

    /// Memory that may be pinned for all connections over RDMA together [default: 1gb]
    #[arg(long, value_name = "SIZE")]
    rdma_max_pinned: Option<Size>,

    /// Length of the windows that peers write into, 64kb to 16mb [default: 256kb]
    #[arg(long, value_name = "SIZE")]
    rdma_window: Option<Size>,

    /// How it is done, as NAME=VALUE with commas between: input and output (in-place or copied),
    /// windows (1 to 16), inline (bytes, 0 for none), signal (one request of so many), doorbells
    /// (batched or each), spin (microseconds, 0 for never). docs/rdma.md says what each is for
    #[arg(long, value_name = "LIST")]
    rdma_tuning: Option<String>,
}

/// The same in the file of settings.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RdmaTable {
    listen: Option<SocketAddr>,
    max_pinned: Option<Size>,
    window: Option<Size>,
    tuning: Option<String>,
}

impl Rdma {
    /// What the command line says, else the file; none without an address.
    pub(crate) fn settings(&self, file: &RdmaTable) -> Result<Option<RdmaSettings>> {
        let wanted = RdmaTable {
            listen: self.rdma_listen.or(file.listen),
            max_pinned: self.rdma_max_pinned.or(file.max_pinned),
            window: self.rdma_window.or(file.window),
            tuning: self.rdma_tuning.clone().or_else(|| file.tuning.clone()),
        };
        let Some(listen) = wanted.listen else {
            let RdmaTable { max_pinned, window, tuning, .. } = wanted;
            let alone = max_pinned.is_none() && window.is_none() && tuning.is_none();
            ensure!(alone, "the options of RDMA are for --rdma-listen");
            return Ok(None);
        };
        device::settings(listen, &wanted).map(Some)
    }
}
