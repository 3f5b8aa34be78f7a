//! `scurry-lab busy-account`: a healthy client while one account with very many sessions and remembered
//! transactions is charged, shown, copied and deleted. A fresh server for each run.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::Serialize;

use crate::arguments::BusyAccountArguments;
use crate::client::Client;
use crate::clock::Clock;
use crate::figures::{median, rounded};
use crate::filling::info_number;
use crate::healthy::{HealthyClient, HealthyPlan, HealthySetting, create_healthy_accounts};
use crate::populate::fill;
use crate::process::ServerProcess;
use crate::progress::Progress;
use crate::report::{Grid, duration};
use crate::resp::{Value, append};
use crate::target::{Durability, Target};
use crate::testbed::{Testbed, write_json};

/// Systems that have the commands, in the order of the table.
pub const TARGETS: [Target; 2] = [Target::ValkeyModule, Target::Scurry];
const BUSY: &str = "busy";
const COPY: &str = "copy";
/// Beyond all that is charged here.
const BALANCE: &str = "1000000000000";
/// How long the healthy client is watched with nothing done, and at least with everything else.
const ALONE: Duration = Duration::from_secs(1);
const WATCHED_MIN: Duration = Duration::from_millis(200);
/// How often the server is asked whether a snapshot is written.
const LOOK: Duration = Duration::from_millis(10);
/// A snapshot takes no longer.
const SNAPSHOT_MAX: Duration = Duration::from_secs(120);

/// Size of the account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BusyAccount {
    /// Sessions that are open.
    pub open: u32,
    /// Transactions that it remembers.
    pub remembered: u32,
}

/// Thing that is done to the account, in the order in which it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Nothing,
    Debit,
    Get,
    Export,
    Snapshot,
    Dump,
    Restore,
    Unlink,
    Del,
}

impl Deed {
    const ALL: [Deed; 9] = [
        Deed::Nothing,
        Deed::Debit,
        Deed::Get,
        Deed::Export,
        Deed::Snapshot,
        Deed::Dump,
        Deed::Restore,
        Deed::Unlink,
        Deed::Del,
    ];

    fn name(self) -> &'static str {
        match self {
            Deed::Nothing => "nothing",
            Deed::Debit => "SCUR.DEBIT",
            Deed::Get => "SCUR.GET",
            Deed::Export => "SCUR.DUMP",
            Deed::Snapshot => "BGSAVE",
            Deed::Dump => "DUMP",
            Deed::Restore => "RESTORE",
            Deed::Unlink => "UNLINK",
            Deed::Del => "DEL",
        }
    }

    /// Does it; gives the words of a server that refuses.
    fn act(self, client: &mut Client, image: &mut Vec<u8>) -> Result<Option<String>> {
        let reply = match self {
            Deed::Nothing => return Ok(None),
            Deed::Debit => client.call(&["SCUR.DEBIT", BUSY, "one-more", "cent", "1"])?,
            Deed::Get => client.call(&["SCUR.GET", BUSY])?,
            Deed::Export => client.call(&["SCUR.DUMP", BUSY])?,
            Deed::Snapshot => client.call(&["BGSAVE"])?,
            Deed::Dump => client.call(&["DUMP", BUSY])?,
            Deed::Restore => client.call(&[b"RESTORE", COPY.as_bytes(), b"0", image])?,
            Deed::Unlink => client.call(&["UNLINK", COPY])?,
            Deed::Del => client.call(&["DEL", BUSY])?,
        };
        match reply {
            Value::Error(text) => return Ok(Some(text)),
            Value::Integer(0) => return Ok(Some("there is none".to_owned())),
            Value::Bulk(bytes) if self == Deed::Dump => *image = bytes,
            _ if self == Deed::Snapshot => await_snapshot(client)?,
            _ => {}
        }
        Ok(None)
    }
}

/// Comes back when no snapshot is being written.
fn await_snapshot(client: &mut Client) -> Result<()> {
    let (_open, nothing) = channel::<()>();
    let clock = Clock::start();
    loop {
        let reply = client.call(&["INFO", "persistence"])?;
        let info = reply.text().unwrap_or_default();
        match info_number(info, "rdb_bgsave_in_progress") {
            Some(0) => return Ok(()),
            Some(_) => ensure!(clock.elapsed() < SNAPSHOT_MAX, "the snapshot is not written"),
            None => bail!("INFO persistence has no line `rdb_bgsave_in_progress`"),
        }
        let _ = nothing.recv_timeout(LOOK);
    }
}

/// Everything that `--json` writes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BusyAccountReport {
    /// Load, server and machine.
    #[serde(flatten)]
    pub setting: HealthySetting,
    /// Size of the account.
    #[serde(flatten)]
    pub size: BusyAccount,
    /// One for each target and thing that is done.
    pub rows: Vec<BusyAccountRow>,
}

/// One thing that is done, in every run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BusyAccountRow {
    /// System under test.
    pub target: String,
    /// Product and version of it.
    pub version: String,
    /// Thing that is done.
    pub deed: String,
    /// From the request to the end of its reply, of a snapshot to its end, ms; one for each run.
    pub took_ms: Vec<f64>,
    /// The longest that the healthy client has waited meanwhile, ms.
    pub longest_ms: Vec<f64>,
    /// The longest that the laboratory itself has held one of its requests up, ms: part of the wait.
    pub own_longest_ms: Vec<f64>,
    /// Reason why it was not done, in the words of the server where it refuses; none where it was.
    pub refused: Option<String>,
}

/// Measures, prints the table and writes it.
///
/// # Errors
/// When no server can be measured, one does not start, or the healthy client was not served rightly.
pub fn busy_account(arguments: &BusyAccountArguments) -> Result<()> {
    let (plan, size) = (arguments.healthy.plan()?, arguments.size()?);
    let testbed = Testbed::prepare(&arguments.common)?;
    testbed.bind_loader()?;
    let mut report =
        BusyAccountReport { setting: HealthySetting::new(plan, &testbed), size, rows: Vec::new() };
    for target in arguments.chosen() {
        let name = target.name();
        let progress = Progress::new(name, testbed.quiet, 0.0);
        let begun = report.rows.len();
        for _ in 0..arguments.runs {
            testbed.go_on()?;
            let command = testbed.command(target, Durability::None, &testbed.scurry)?;
            let server = ServerProcess::start(&command, &testbed.interrupted)?;
            let run = Run { testbed: &testbed, server: &server, plan, size, progress: &progress };
            let seen = match run.seen() {
                Ok(seen) => seen,
                Err(error) => bail!("{name}: {}", testbed.fault(&error, &server.output_tail())?),
            };
            if report.rows.len() == begun {
                let version = target.identify(&mut server.client()?)?.version;
                report.rows.extend(Deed::ALL.map(|deed| BusyAccountRow {
                    target: name.to_owned(),
                    version: version.clone(),
                    deed: deed.name().to_owned(),
                    ..BusyAccountRow::default()
                }));
            }
            for (row, seen) in report.rows[begun..].iter_mut().zip(seen) {
                row.took_ms.push(seen.took_ms);
                row.longest_ms.push(seen.longest_ms);
                row.own_longest_ms.push(seen.own_longest_ms);
                row.refused = seen.refused;
            }
        }
    }
    print!("{}", report.render());
    write_json(arguments.common.json.as_deref(), &report)
}

/// Measurements of one thing that was done.
#[derive(Debug, Default)]
struct Seen {
    took_ms: f64,
    longest_ms: f64,
    own_longest_ms: f64,
    refused: Option<String>,
}

/// One fresh server.
struct Run<'t> {
    testbed: &'t Testbed,
    server: &'t ServerProcess,
    plan: HealthyPlan,
    size: BusyAccount,
    progress: &'t Progress,
}

impl Run<'_> {
    fn seen(&self) -> Result<Vec<Seen>> {
        let mut control = self.server.client()?;
        create_healthy_accounts(&mut control, self.plan.accounts)?;
        self.fill(&mut control)?;
        let healthy = HealthyClient::start(self.plan, self.server.address())?;
        let mut seen = thread::scope(|scope| {
            let deeds = scope.spawn(|| self.act(&healthy));
            deeds.join().map_err(|_| anyhow!("the client of the busy account panicked"))?
        })?;
        let healthy = healthy.finish()?;
        healthy.audit(&mut control).context("the healthy client's accounts")?;
        for (seen, phase) in seen.iter_mut().zip(&healthy.phases[1..]) {
            seen.longest_ms = rounded(phase.latency_us.max / 1e3, 3);
            seen.own_longest_ms = rounded(phase.own_delay_us.max / 1e3, 3);
        }
        Ok(seen)
    }

    /// Makes the account.
    fn fill(&self, client: &mut Client) -> Result<()> {
        let balance = ["SCUR.CREATE", BUSY, "BUCKET", "main", "cent", BALANCE];
        let reply = client.call(&balance)?;
        ensure!(!matches!(reply, Value::Error(_)), "the account is not created: {reply}");
        let mut step = |done: usize, total: usize| {
            self.progress.filling(done, total);
            self.testbed.go_on()
        };
        fill(client, self.size.remembered, &mut step, |number, out| {
            append(&["SCUR.DEBIT", BUSY, &format!("txn-{number:08}"), "cent", "1"], out);
        })?;
        fill(client, self.size.open, &mut step, |number, out| {
            let session = format!("open-{number:08}");
            let words = ["0", "TCC", "3600000", "ITEM", "1", "cent", "REQUESTED", "100"];
            append(&[&["SCUR.RESERVE", BUSY, &session][..], &words].concat(), out);
        })
    }

    /// Does one thing after the other, each in a phase of the healthy client.
    fn act(&self, healthy: &HealthyClient) -> Result<Vec<Seen>> {
        // The healthy client shares this core and must not wait for it.
        rustix::process::nice(19).context("lowering the priority beside the healthy client")?;
        let mut client = self.server.client()?;
        let mut image = Vec::new();
        // The warm-up.
        healthy.wait(WATCHED_MIN, self.testbed)?;
        Deed::ALL
            .iter()
            .map(|deed| {
                self.testbed.go_on()?;
                healthy.begin_phase();
                let clock = Clock::start();
                let refused = deed.act(&mut client, &mut image)?;
                let took = clock.elapsed();
                let watched = if *deed == Deed::Nothing { ALONE } else { WATCHED_MIN };
                healthy.wait(watched.saturating_sub(took), self.testbed)?;
                let took_ms = rounded(took.as_secs_f64() * 1e3, 3);
                Ok(Seen { took_ms, refused, ..Seen::default() })
            })
            .collect()
    }
}

impl BusyAccountReport {
    /// As text.
    pub fn render(&self) -> String {
        let mut grid =
            Grid::new(&["<target", "<what is done", "it takes", "longest wait", "own", "<"]);
        for row in &self.rows {
            let shown =
                |values: &[f64]| median(values).map_or("-".to_owned(), |ms| duration(1e3 * ms));
            let is_done = row.refused.is_none();
            grid.push(vec![
                row.target.clone(),
                row.deed.clone(),
                if is_done { shown(&row.took_ms) } else { "-".to_owned() },
                shown(&row.longest_ms),
                shown(&row.own_longest_ms),
                row.refused.as_ref().map_or(String::new(), |why| format!("refused: {why}")),
            ]);
        }
        let runs = self.rows.first().map_or(0, |row| row.took_ms.len());
        format!(
            "\n{}one account with {} open sessions and {} remembered transactions; medians of {runs} \
             runs\n{}",
            grid.render(),
            self.size.open,
            self.size.remembered,
            self.setting.words()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_shown_and_what_is_refused_took_no_time() {
        let row = |deed: Deed, refused: Option<&str>| BusyAccountRow {
            target: "scurry".to_owned(),
            deed: deed.name().to_owned(),
            took_ms: vec![3.0, 1.0, 2.0],
            longest_ms: vec![0.3, 0.1, 0.5],
            own_longest_ms: vec![0.05],
            refused: refused.map(str::to_owned),
            ..BusyAccountRow::default()
        };
        let rows = vec![row(Deed::Dump, None), row(Deed::Restore, Some("ERR too long"))];
        let text = BusyAccountReport { rows, ..BusyAccountReport::default() }.render();
        let lines: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(lines.contains(&vec!["scurry", "DUMP", "2.00ms", "300us", "50us"]), "{text}");
        assert!(text.contains("refused: ERR too long"), "{text}");
    }
}
