//! What a piece leaves in the directory for the next one, beside the nodes.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// What is kept of a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) accounts: u32,
    /// Requests a second. None until it is measured.
    pub(super) rate: Option<u32>,
    /// Pieces that were begun.
    pub(super) pieces: u64,
    /// Number from which ids are unused.
    pub(super) serial: u64,
    /// True if each node has its own network and device.
    pub(super) has_devices: bool,
    /// Main port of the first node.
    pub(super) first_port: u16,
    /// True if the last piece ended with audits that found nothing wrong.
    pub(super) is_clean: bool,
}

impl Kept {
    pub(super) fn new(accounts: u32, has_devices: bool, first_port: u16) -> Kept {
        let (rate, pieces, serial, is_clean) = (None, 0, 0, true);
        Kept { accounts, rate, pieces, serial, has_devices, first_port, is_clean }
    }

    /// Reads it. None if the directory has none.
    pub(super) fn read(directory: &Path) -> Result<Option<Kept>> {
        let path = directory.join("soak.json");
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.with_context(|| format!("{}", path.display()))?,
        };
        serde_json::from_str(&text).with_context(|| format!("{}", path.display()))
    }

    pub(super) fn write(&self, directory: &Path) -> Result<()> {
        let path = directory.join("soak.json");
        fs::write(&path, serde_json::to_vec_pretty(self)?)
            .with_context(|| format!("{}", path.display()))
    }

    /// Returns the file with what was acknowledged.
    pub(super) fn acknowledged(directory: &Path) -> PathBuf {
        directory.join("acknowledged")
    }
}
