//! `scurry ship files`.

use super::deliver;
use super::source::SourceOptions;
use crate::size::Size;
use anyhow::Result;
use clap::Args;
use scurry_sink_files::{FileSink, Layout};
use std::path::PathBuf;

/// Longest time from an event to the end of its file, ms.
const FLUSH_MS: u64 = 60_000;

#[derive(Args, Debug)]
pub(crate) struct ToFiles {
    /// Directory of the files; it is made if it is missing
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Size at which a file is complete before that time
    #[arg(long, value_name = "SIZE", default_value = "64mb")]
    file_size: Size,

    #[command(flatten)]
    source: SourceOptions,
}

impl ToFiles {
    pub(crate) fn run(mut self) -> Result<()> {
        (self.source.takes_tables, self.source.takes_states) = (true, true);
        let layout = match self.source.is_parquet() {
            true => Layout::Parquet,
            false => Layout::Payloads(self.source.form()),
        };
        let file_size = usize::try_from(self.file_size.0)?;
        let sink = FileSink::new(self.directory, layout, file_size);
        deliver(&self.source, FLUSH_MS, Box::new(sink))
    }
}
