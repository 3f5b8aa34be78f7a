//! A build without the feature `nats`.

use super::ToNats;
use anyhow::{Result, bail};

pub(super) fn run(_: ToNats) -> Result<()> {
    bail!(
        "this build has no NATS: take a release, or build with `cargo build --release -p scurry-cli --features nats`"
    )
}
