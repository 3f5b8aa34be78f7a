//! A file as the target of a copy.

use super::copy::{Moved, Target};
use super::export_file::Writer;
use super::item::TransferItem;
use anyhow::{Context, Result};
use scurry_cluster_client::Totals;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

pub(super) struct FileTarget {
    path: PathBuf,
    writer: Writer<BufWriter<File>>,
}

impl FileTarget {
    pub(super) fn create(path: &Path) -> Result<FileTarget> {
        let file = File::create_new(path)
            .with_context(|| format!("{} cannot be made: choose a new name", path.display()))?;
        let writer = Writer::new(BufWriter::new(file));
        let writer = writer.with_context(|| wrong(path))?;
        Ok(FileTarget { path: path.to_owned(), writer })
    }
}

fn wrong(path: &Path) -> String {
    format!("{} cannot be written: is the disk full?", path.display())
}

impl Target for FileTarget {
    fn put(&mut self, items: &[TransferItem]) -> Result<()> {
        self.writer.put(items).with_context(|| wrong(&self.path))
    }

    fn finish(self, totals: &Totals, moved: &Moved) -> Result<()> {
        let written = || -> Result<()> {
            let file = self.writer.finish(totals, moved.keys())?.into_inner()?;
            Ok(file.sync_all()?)
        };
        written().with_context(|| wrong(&self.path))
    }
}
