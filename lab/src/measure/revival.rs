//! A snapshot under load, and a restart after a kill: how long both take, compared with the time of the disk alone for
//! as many bytes.

use anyhow::{Context, Result, ensure};

use super::system::System;
use super::{Bench, addresses};
use crate::client::Client;
use crate::clock::Clock;
use crate::cores::Cores;
use crate::dialect::Dialect;
use crate::figures::rounded;
use crate::files::{StartFiles, write_alone};
use crate::names::account_text;
use crate::progress::Progress;
use crate::requests::get;
use crate::row::RestartFigures;
use crate::scenario::Scenario;
use crate::snapshotter::Snapshots;
use crate::workload::Workload;

/// Timeout of a snapshot.
const SNAPSHOT_SECONDS_MAX: f64 = 900.0;
const NUMBER: u32 = 1;

impl Bench<'_> {
    /// Loads until a snapshot is written, kills the server, restarts it, and measures the disk alone for both.
    /// Afterwards the client is connected to the restarted server.
    pub(super) fn snapshot_and_restart<W: Workload>(
        &self,
        workload: &mut W,
        system: &mut System,
        client: &mut Client,
        progress: &Progress,
    ) -> Result<RestartFigures> {
        let longer = Scenario {
            seconds: SNAPSHOT_SECONDS_MAX,
            warmup_seconds: 0.0,
            ..self.scenario.clone()
        };
        progress.note("writing a snapshot under the load");
        let bench = Bench { scenario: &longer, snapshots: Snapshots::One, ..self.clone() };
        let to = addresses(system, None);
        let during = bench.load(NUMBER, workload, system, client, to, progress)?.figures;
        let seconds = during.log.as_ref().and_then(|log| log.snapshot_seconds);
        let snapshot_seconds = seconds.context("the server keeps nothing: use fsync or write")?;
        let fleet = system.fleet_mut().context("the lab kills what it has started alone")?;
        let directory = fleet.first().directory().to_owned();
        fleet.kill(0)?;
        let mut files = StartFiles::find(&directory)?;
        let (snapshot_bytes, start_bytes) = (files.snapshot_bytes, files.bytes()?);
        files.forget()?;
        progress.note("killed; starting again");
        // Nothing else runs, so the restart may use all cores for its extra threads.
        let cores: Vec<usize> = self.cores.map(Cores::all).unwrap_or_default();
        let clock = Clock::start();
        fleet.start_first_on(&cores, self.interrupted)?;
        *client = system.connect()?;
        let reply = client.call(&Dialect::Scur.arguments(&get(&account_text(0))))?;
        ensure!(!reply.entry("buckets").elements().is_empty(), "an account is {reply}");
        let start_seconds = clock.elapsed().as_secs_f64();
        progress.note("started; reading and writing as many bytes with the disk alone");
        self.go_on()?;
        let read_alone_seconds = files.read_alone()?;
        self.go_on()?;
        let write_alone_seconds = write_alone(&directory, snapshot_bytes)?;
        Ok(RestartFigures {
            during,
            snapshot_bytes,
            snapshot_seconds,
            write_alone_seconds: rounded(write_alone_seconds, 3),
            start_bytes,
            start_seconds: rounded(start_seconds, 3),
            read_alone_seconds: rounded(read_alone_seconds, 3),
        })
    }
}
