//! The flags of `scurry-lab http2-memory`.

use anyhow::{Result, ensure};
use clap::Args;

use super::CommonArguments;
use crate::scenario::CONNECTIONS_MAX;

/// `scurry-lab http2-memory`.
#[derive(Clone, Debug, Args)]
pub struct Http2MemoryArguments {
    /// Idle connections. A tenth of them have 100 open requests each in another step, and a 250th are at the bounds.
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    pub connections: u32,

    /// The server and the output.
    #[command(flatten)]
    pub common: CommonArguments,
}

impl Http2MemoryArguments {
    /// Checks the number of connections.
    ///
    /// # Errors
    /// When it is out of range.
    pub fn check(&self) -> Result<()> {
        ensure!(
            (1..=CONNECTIONS_MAX).contains(&self.connections),
            "--connections must be 1 to {CONNECTIONS_MAX}"
        );
        Ok(())
    }
}
