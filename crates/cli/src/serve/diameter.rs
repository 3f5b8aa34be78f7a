//! The doors to networks as `scurry serve` and `scurry diameter` have it: where it listens, and what SIGHUP reads again.

use super::Options;
use crate::toml_file;
use anyhow::Result;
use scurry_door_diameter::{DiameterDoor, DiameterReloader, DiameterSection};
use scurry_door_http::NchfDoor;
use std::path::Path;

/// Prints where a door listens. Not a log line: scripts that start a door wait for it, at any log level.
pub(crate) fn tell_addresses(door: &DiameterDoor) {
    if let Some(address) = door.address() {
        eprintln!("diameter listening on {address}");
    }
    if let Some(address) = door.tls_address() {
        eprintln!("diameter listening on {address} with TLS");
    }
}

/// Takes the table of services and the peers of a file for later requests and connections. An error is logged, and the
/// old ones stay in use.
pub(crate) fn reload_diameter(path: &Path, reloader: &DiameterReloader) {
    let outcome = read(path).and_then(|options| {
        let peers = options.diameter.as_ref().map_or(&[][..], DiameterSection::peers);
        Ok(reloader.replace(options.service_table()?, peers.to_vec())?)
    });
    match outcome {
        Ok(()) => tracing::info!("services and peers in {} are taken", path.display()),
        Err(error) => tracing::error!("services and peers are not taken: {error:#}"),
    }
}

/// Takes the table of services of a file for later requests of 5G. An error is logged, and the old one stays in use.
pub(crate) fn reload_nchf(path: &Path, door: &NchfDoor) {
    let table = read(path).and_then(|options| options.service_table());
    match table.and_then(|table| Ok(door.reload(table)?)) {
        Ok(()) => tracing::info!("services in {} are taken over HTTP", path.display()),
        Err(error) => tracing::error!("services are not taken over HTTP: {error:#}"),
    }
}

/// Reads the settings of a file, without a command line.
pub(crate) fn read(path: &Path) -> Result<Options> {
    let mut options: Options = toml_file::read(path, "settings")?;
    options.config = Some(path.to_owned());
    Ok(options)
}
