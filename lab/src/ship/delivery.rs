//! How many events one core delivers to files from a log that is there, and what is the limit: the store alone, read by
//! a client that drops all, and the disk alone.

use std::fs::File;
use std::io::Write;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::report::{DeliveryRow, Range};
use super::setting::ShipSetting;
use super::shipper::{Shipped, Shipper, Source};
use super::watch;
use crate::clock::Clock;
use crate::data_directory::temporary;
use crate::figures::per;
use crate::scenario::Scenario;

/// The forms of files.
const FORMATS: [&str; 3] = ["json", "protobuf", "parquet"];
/// Bytes of one write to the disk alone.
const WRITE_LEN: usize = 1 << 20;
/// Longest time in which a server stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// The rows, and what the log had.
pub(super) struct Delivery {
    pub(super) rows: Vec<DeliveryRow>,
    /// Events for one request of the load.
    pub(super) events_per_op: f64,
    /// Events per second as JSON, from a server.
    pub(super) json_per_s: f64,
}

/// The runs of one way.
#[derive(Default)]
struct Way {
    name: String,
    runs: Vec<Shipped>,
}

/// Makes a log, and ships it in each form as often as there are runs.
pub(super) fn measure(setting: &ShipSetting<'_>) -> Result<Delivery> {
    let scenario = Scenario {
        seconds: setting.arguments.log_seconds,
        warmup_seconds: 0.0,
        ..setting.scenario.clone()
    };
    let (run, fleet) = setting.load(&scenario, setting.start(&scenario)?, 1)?;
    let server = Source::Server(fleet.first().address());
    let mut ways: Vec<Way> = Vec::new();
    for _ in 0..setting.arguments.runs {
        take(&mut ways, "SCUR.WATCH alone", || watch::drop_all(fleet.first().address()))?;
        for format in FORMATS {
            take(&mut ways, &format!("{format}, from the server"), || {
                Shipper::start(setting, &server, format, &["--once"])?.wait(setting)
            })?;
        }
    }
    let stopped = fleet.first().stop(STOP_TIMEOUT);
    ensure!(stopped, "the server does not stop: {}", fleet.output_tail());
    let files = Source::Files(fleet.first().directory().join("data"));
    let json = ways[1].runs[0];
    for _ in 0..setting.arguments.runs {
        for format in FORMATS {
            take(&mut ways, &format!("{format}, from files of the store"), || {
                Shipper::start(setting, &files, format, &[])?.wait(setting)
            })?;
        }
        take(&mut ways, "the disk alone, bytes of json", || write_alone(setting, &json))?;
    }
    let operations = run.figures.operations.unwrap_or(0).max(1);
    Ok(Delivery {
        events_per_op: json.events as f64 / operations as f64,
        json_per_s: Range::of(&ways[1].runs.iter().map(Shipped::rate).collect::<Vec<_>>()).median,
        rows: ways.into_iter().map(Way::row).collect(),
    })
}

fn take(ways: &mut Vec<Way>, name: &str, run: impl FnOnce() -> Result<Shipped>) -> Result<()> {
    let shipped = run()?;
    match ways.iter_mut().find(|way| way.name == name) {
        Some(way) => way.runs.push(shipped),
        None => ways.push(Way { name: name.to_owned(), runs: vec![shipped] }),
    }
    Ok(())
}

/// Writes as many bytes to one file, and syncs it.
fn write_alone(setting: &ShipSetting<'_>, like: &Shipped) -> Result<Shipped> {
    let directory = temporary(&setting.testbed.place.path)?;
    let block = vec![b'x'; WRITE_LEN];
    let clock = Clock::start();
    let mut file = File::create(directory.path().join("bytes"))?;
    let mut left = usize::try_from(like.bytes)?;
    while left > 0 {
        let len = left.min(WRITE_LEN);
        file.write_all(&block[..len])?;
        left -= len;
    }
    file.sync_data()?;
    let seconds = clock.elapsed().as_secs_f64();
    Ok(Shipped { events: like.events, bytes: like.bytes, seconds, ..Shipped::default() })
}

impl Way {
    fn row(self) -> DeliveryRow {
        let of = |figure: fn(&Shipped) -> f64| {
            Range::of(&self.runs.iter().map(figure).collect::<Vec<_>>())
        };
        let last = self.runs.last().copied().unwrap_or_default();
        DeliveryRow {
            runs: u32::try_from(self.runs.len()).unwrap_or(u32::MAX),
            events: last.events,
            bytes: last.bytes,
            events_per_s: of(Shipped::rate),
            mb_per_s: of(|run| per(run.bytes, run.seconds) / 1e6),
            cpu_us_per_event: of(Shipped::cpu_us),
            memory_last: of(|run| run.memory_last as f64),
            memory_most: of(|run| run.memory_most as f64),
            way: self.name,
        }
    }
}
