//! `scurry ship usage`.

use super::deliver;
use super::source::SourceOptions;
use crate::size::Size;
use anyhow::{Result, ensure};
use clap::Args;
use scurry_ledger::Span;
use scurry_sink_usage::UsageSink;
use std::path::PathBuf;

/// Longest time from the end of a session to the end of its file, ms.
const FLUSH_MS: u64 = 60_000;

#[derive(Args, Debug)]
pub(crate) struct ToUsage {
    /// Directory of the files; it is made if it is missing
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Write a record of each open session that was used at the end of each such period too, for example 1h or 15m
    #[arg(long, value_name = "SPAN", value_parser = period)]
    period: Option<i64>,

    /// Size at which a file is complete before the time of --flush-ms
    #[arg(long, value_name = "SIZE", default_value = "64mb")]
    file_size: Size,

    #[command(flatten)]
    source: SourceOptions,
}

/// Returns the length of a period, ms.
fn period(text: &str) -> Result<i64, String> {
    let span = Span::parse_ms(text.as_bytes()).and_then(Span::new);
    span.map(Span::ms).ok_or_else(|| format!("{text:?} is no span: write it as 15m, 1h or 1d"))
}

impl ToUsage {
    pub(crate) fn run(self) -> Result<()> {
        ensure!(
            self.source.has_all_events(),
            "usage records are sums of all events: leave out --event and --unit"
        );
        let file_size = usize::try_from(self.file_size.0)?;
        let sink = UsageSink::new(self.directory, file_size, self.period);
        deliver(&self.source, FLUSH_MS, Box::new(sink))
    }
}
