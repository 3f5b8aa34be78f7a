//! The options of `scurry serve` about RDMA: in the file of settings they are the table `[rdma]`. A build
//! with the feature `rdma` makes settings of them in `rdma/device.rs`; another says which build has it.

#[cfg_attr(not(feature = "rdma"), path = "rdma/absent.rs")]
mod device;

use crate::option_values::Address;
use crate::size::Size;
use anyhow::{Result, ensure};
use clap::Args;
use scurry_server::Adapter;
use serde::Deserialize;
use std::sync::Arc;

pub(crate) use device::connect;

#[derive(Args, Debug, Default, Deserialize)]
#[command(next_help_heading = "RDMA")]
#[serde(deny_unknown_fields, expecting = "a table of settings, [rdma]")]
pub(crate) struct Rdma {
    /// Speak RESP over RDMA here too (Valkey over RDMA), to peers of a network that is trusted. Needs
    /// libibverbs, librdmacm and a device that has this address [default: TCP alone]
    #[arg(long = "rdma-listen", id = "rdma_listen", value_name = "ADDR:PORT")]
    pub(crate) listen: Option<Address>,

    /// Memory that may be pinned for all connections over RDMA together [default: 1gb]
    #[arg(long = "rdma-max-pinned", id = "rdma_max_pinned", value_name = "SIZE")]
    pub(crate) max_pinned: Option<Size>,

    /// Length of the windows that peers write into, 64kb to 16mb [default: 256kb]
    #[arg(long = "rdma-window", id = "rdma_window", value_name = "SIZE")]
    pub(crate) window: Option<Size>,

    /// How it is done, as NAME=VALUE with commas between: input and output (in-place or copied),
    /// windows (1 to 16), inline (bytes, 0 for none), signal (one request of so many), doorbells
    /// (batched or each), spin (microseconds, 0 for never). docs/rdma.md says what each is for
    #[arg(long = "rdma-tuning", id = "rdma_tuning", value_name = "LIST")]
    pub(crate) tuning: Option<String>,
}

impl Rdma {
    /// The adapter that the server is to listen on; none without an address.
    pub(crate) fn adapter(&self) -> Result<Option<Arc<dyn Adapter>>> {
        let Rdma { listen, max_pinned: pinned, window, tuning } = self;
        let Some(listen) = *listen else {
            let alone = pinned.is_none() && window.is_none() && tuning.is_none();
            ensure!(alone, "the options of RDMA are for --rdma-listen");
            return Ok(None);
        };
        device::adapter(listen.0, self).map(Some)
    }
}
