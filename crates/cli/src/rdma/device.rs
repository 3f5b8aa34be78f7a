//! RDMA in a build with it: the settings of a server, and the stream of a client.

use super::Rdma;
use crate::server_address::{CONNECT_PATIENCE, ServerAddress, Stream};
use anyhow::{Context, Result, bail, ensure};
use scurry_rdma::Stream as RdmaStream;
use scurry_rdma_proto::{Handling, Settings, WINDOW_LEN_MAX, WINDOW_LEN_MIN};
use scurry_rdma_server::RdmaSettings;
use scurry_server::Adapter;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Windows of a connection that are of any use.
const WINDOWS_MAX: usize = 16;
/// A core that spins for longer is no core for others.
const SPIN_US_MAX: u64 = 100_000;

/// The adapter that the options ask for, or which of them is wrong.
pub(super) fn adapter(listen: SocketAddr, wanted: &Rdma) -> Result<Arc<dyn Adapter>> {
    let mut settings = RdmaSettings::new(listen);
    if let Some(size) = wanted.window {
        let len = usize::try_from(size.0).unwrap_or(usize::MAX);
        let fits = (WINDOW_LEN_MIN..=WINDOW_LEN_MAX).contains(&len);
        ensure!(fits, "--rdma-window must be 64kb to 16mb");
        settings.connection.window_len = len;
    }
    if let Some(size) = wanted.max_pinned {
        let least = 2 * settings.connection.window_len as u64;
        ensure!(size.0 >= least, "--rdma-max-pinned must have room for two windows");
        settings.pinned_max = size.0;
    }
    if let Some(list) = &wanted.tuning {
        tune(&mut settings, list).context("in --rdma-tuning")?;
    }
    Ok(Arc::new(settings))
}

impl Stream for RdmaStream {}

/// A stream to a server over RDMA, which waits so long for each reply.
pub(crate) fn connect(server: &ServerAddress, patience: Duration) -> Result<Box<dyn Stream>> {
    server.first(|address| {
        let mut stream = RdmaStream::connect(address, Settings::default(), CONNECT_PATIENCE)?;
        stream.set_timeout(Some(patience));
        Ok(Box::new(stream) as Box<dyn Stream>)
    })
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
        assert_eq!(tuned("").unwrap().connection, Settings::default());
    }

    #[test]
    fn what_cannot_be_tuned_is_refused() {
        for (list, expected) in [
            ("output", "NAME=VALUE"),
            ("output=maybe", "in-place or copied"),
            // Removed: a peer could change its request while the server parsed it in place.
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
