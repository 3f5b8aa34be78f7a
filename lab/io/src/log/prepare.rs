//! What it costs to make a segment before it is needed.

use std::fs::{self, File};
use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::ground::{fill, reserve};

/// Bytes of a segment.
const SEGMENT_LEN: usize = 64 << 20;

/// One preparation.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Preparation {
    pub(crate) what: String,
    pub(crate) ms: f64,
    pub(crate) cpu_ms: f64,
}

/// Reserves a segment, fills one with zeros, and gives an old one its new name.
pub(crate) fn measure(directory: &Path) -> Result<Vec<Preparation>> {
    let (path, new) = (directory.join("segment"), directory.join("segment-new"));
    let handle = File::open(directory)?;
    let file = File::create(&path)?;
    let reserved = timed("fallocate 64 MiB, fsync", || {
        reserve(&file, SEGMENT_LEN)?;
        Ok(file.sync_all()?)
    })?;
    let file = File::create(&path)?;
    file.sync_all()?;
    let zeroed = timed("zero-fill 64 MiB, fdatasync", || fill(&file, 0, SEGMENT_LEN))?;
    let recycled = timed("rename an old segment, fsync the directory", || {
        fs::rename(&path, &new)?;
        Ok(handle.sync_all()?)
    })?;
    fs::remove_file(&new)?;
    Ok(vec![reserved, zeroed, recycled])
}

fn timed(what: &str, work: impl FnOnce() -> Result<()>) -> Result<Preparation> {
    let (start, cpu) = (clock::nanos(), clock::cpu_nanos());
    work()?;
    let (ms, cpu_ms) = (clock::nanos() - start, clock::cpu_nanos() - cpu);
    Ok(Preparation { what: what.to_owned(), ms: ms as f64 / 1e6, cpu_ms: cpu_ms as f64 / 1e6 })
}
