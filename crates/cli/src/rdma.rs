//! The options of `scurry serve` about RDMA: in the file of settings they are the table `[rdma]`.

use crate::size::Size;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use scurry_server::{Handling, RDMA_WINDOW_LEN_MAX, RDMA_WINDOW_LEN_MIN, RdmaSettings};
use serde::Deserialize;
use std::net::SocketAddr;

/// Windows of a connection that are of any use.
const WINDOWS_MAX: usize = 16;
/// A core that spins for longer is no core for others.
const SPIN_US_MAX: u64 = 100_000;

#[derive(Args, Debug, Default, Deserialize)]
#[command(next_help_heading = "RDMA")]
#[serde(deny_unknown_fields)]
pub(crate) struct Rdma {
    /// Speak RESP over RDMA here too (Valkey over RDMA), to peers of a network that is trusted. Needs
    /// libibverbs, librdmacm and a device that has this address [default: TCP alone]
    #[arg(long = "rdma-listen", id = "rdma_listen", value_name = "ADDR:PORT")]
    pub(crate) listen: Option<SocketAddr>,

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
    /// Settings of the transport; none without an address.
    pub(crate) fn settings(&self) -> Result<Option<RdmaSettings>> {
        let Rdma { listen, max_pinned: pinned, window, tuning } = self;
        let Some(listen) = *listen else {
            let alone = pinned.is_none() && window.is_none() && tuning.is_none();
            ensure!(alone, "the options of RDMA are for --rdma-listen");
            return Ok(None);
        };
        let mut settings = RdmaSettings::new(listen);
        if let Some(size) = *window {
            let len = usize::try_from(size.0).unwrap_or(usize::MAX);
            let fits = (RDMA_WINDOW_LEN_MIN..=RDMA_WINDOW_LEN_MAX).contains(&len);
            ensure!(fits, "--rdma-window must be 64kb to 16mb");
            settings.connection.window_len = len;
        }
        if let Some(size) = *pinned {
            let least = 2 * settings.connection.window_len as u64;
            ensure!(size.0 >= least, "--rdma-max-pinned must have room for two windows");
            settings.pinned_max = size.0;
        }
        if let Some(list) = tuning {
            tune(&mut settings, list).context("in --rdma-tuning")?;
        }
        Ok(Some(settings))
    }
}

fn tune(settings: &mut RdmaSettings, list: &str) -> Result<()> {
    let connection = &mut settings.connection;
    for entry in list.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        let (name, value) =
            entry.split_once('=').with_context(|| format!("{entry:?} is not NAME=VALUE"))?;
        match name {
            "output" => connection.output = handling(value)?,
            "windows" => connection.windows = number(name, value, 1, WINDOWS_MAX as u64)? as usize,
            "inline" => connection.inline_max = number(name, value, 0, 4096)? as usize,
            "signal" => connection.signal_every = number(name, value, 1, 1024)? as usize,
            "doorbells" => {
                connection.batch_doorbells = match value {
                    "batched" => true,
                    "each" => false,
                    _ => bail!("doorbells are batched or each, not {value:?}"),
                }
            }
            "spin" => settings.spin_us_max = number(name, value, 0, SPIN_US_MAX)?,
            _ => bail!(
                "{name:?} cannot be tuned: output, windows, inline, signal, doorbells and \
                 spin can"
            ),
        }
    }
    Ok(())
}

fn handling(value: &str) -> Result<Handling> {
    match value {
        "in-place" => Ok(Handling::InPlace),
        "copied" => Ok(Handling::Copied),
        _ => bail!("bytes are handled in-place or copied, not {value:?}"),
    }
}

fn number(name: &str, value: &str, least: u64, most: u64) -> Result<u64> {
    let number = value.parse().ok().filter(|number| (least..=most).contains(number));
    number.with_context(|| format!("{name} must be {least} to {most}, and is {value:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_server::RdmaConnection;

    fn tuned(list: &str) -> Result<RdmaSettings> {
        let mut settings = RdmaSettings::new(([127, 0, 0, 1], 1).into());
        tune(&mut settings, list).map(|()| settings)
    }

    #[test]
    fn every_technique_can_be_switched() {
        let list = "output=copied, windows=1,inline=0,signal=1,doorbells=each,spin=0";
        let settings = tuned(list).unwrap();
        let connection = settings.connection;
        assert_eq!(connection.output, Handling::Copied);
        assert_eq!((connection.windows, connection.inline_max, connection.signal_every), (1, 0, 1));
        assert!(!connection.batch_doorbells && settings.spin_us_max == 0);
        let back = tuned("output=in-place,doorbells=batched").unwrap().connection;
        assert_eq!(back.output, Handling::InPlace);
        assert!(back.batch_doorbells);
        assert_eq!(tuned("").unwrap().connection, RdmaConnection::default());
    }

    #[test]
    fn what_cannot_be_tuned_is_refused() {
        for (list, expected) in [
            ("output", "NAME=VALUE"),
            ("output=maybe", "in-place or copied"),
            // It was once; a peer could change what was being read.
            ("input=in-place", "cannot be tuned"),
            ("windows=0", "windows must be 1 to 16"),
            ("spin=a", "spin must be"),
            ("color=red", "cannot be tuned"),
        ] {
            let error = format!("{:#}", tuned(list).unwrap_err());
            assert!(error.contains(expected), "{list}: {error}");
        }
    }
}
