//! `scurry backup`: copies a data directory into a new one, also while a server is running on the source.

use crate::size::format_bytes;
use crate::store::{
    CopiedCore, CoreSource, Cut, DataDirectory, Progress, Target, copy_core, core_name, count_text,
};
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  scurry backup /var/lib/scurry --to /backup/scurry-monday
  scurry inspect /backup/scurry-monday
  scurry restore /backup/scurry-monday --to /var/lib/scurry-new";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Backup {
    /// The data directory; a server may be running on it
    #[arg(value_name = "DIR")]
    source: PathBuf,

    /// Where the copy goes: a directory that is not there yet, or empty
    #[arg(long, value_name = "PATH")]
    to: PathBuf,
}

impl Backup {
    pub(crate) fn run(self) -> Result<()> {
        let source = DataDirectory::open(&self.source)?;
        let manifest = source.manifest()?;
        source.ensure_begun()?;
        let target = Target::open(&self.to, &self.source, manifest)?;
        let unfinished =
            || format!("the backup is not complete: remove {} and try again", self.to.display());
        let mut bar = Progress::new();
        let cut = Cut::find(&source).with_context(unfinished)?;
        let (mut sum, mut sequences, mut is_grouped) = (0, Vec::new(), false);
        for (core, (_, path)) in (0..).zip(source.cores()) {
            let place = (manifest.generation, core);
            let least = source.least(core).with_context(unfinished)?;
            let end = cut.as_ref().map(|cut| cut.end(core));
            let source = CoreSource { path: &path, least, end };
            let copied = copy_core(source, &target, place, &mut bar).with_context(unfinished)?;
            tell(&core_name(manifest.generation, core), &copied);
            sum += copied.bytes;
            is_grouped |= copied.committed.is_some();
            sequences.push(copied.last);
        }
        // A server that starts with another number of threads rewrites the data and removes the old files. The manifest
        // then differs, and the copy is a mix of both.
        let after = DataDirectory::open(&self.source).with_context(unfinished)?;
        ensure!(
            after.manifest == Some(manifest),
            "{} was divided among other threads while it was copied: remove {} and try again",
            self.source.display(),
            self.to.display()
        );
        target.finish(&sequences).with_context(unfinished)?;
        cut.iter().for_each(Cut::tell_if_lowered);
        println!("backup in {}: {}, checked", self.to.display(), format_bytes(sum));
        if is_grouped {
            println!(
                "it is a copy of what a node of a group has: `scurry restore` makes a store of one machine of it"
            );
        }
        Ok(())
    }
}

/// Prints one line about the copy of a core: its last sequence, its files and its bytes.
pub(crate) fn tell(name: &str, copied: &CopiedCore) {
    for note in &copied.notes {
        eprintln!("scurry: {note}");
    }
    let files = count_text(copied.files as u64, "file");
    let behind = match copied.committed {
        Some(committed) if committed < copied.last => {
            format!(", and it is not known of what is behind {committed} that it is committed")
        }
        _ => String::new(),
    };
    println!(
        "{name}: up to sequence {}, {files}, {}{behind}",
        copied.last,
        format_bytes(copied.bytes)
    );
}
