//! `scurry cluster down`.

use super::local::Local;
use crate::store::count_text;
use anyhow::Result;
use std::path::Path;

pub(super) fn run(dir: &Path) -> Result<()> {
    let mut local = Local::existing(dir)?;
    match local.stop(dir)? {
        0 => println!("no node was running"),
        count => println!(
            "{} stopped; the data is in {}",
            count_text(count as u64, "node"),
            dir.display()
        ),
    }
    Ok(())
}
