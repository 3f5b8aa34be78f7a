//! `scurry-lab expiry`: very many things fall due at once while a healthy client goes on. A fresh
//! server for each kind.

mod kind;
mod report;

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde::Serialize;

use crate::arguments::ExpiryArguments;
use crate::client::Client;
use crate::clock::unix_ms;
use crate::figures::rounded;
use crate::healthy::{HealthyClient, HealthyPlan, create_healthy_accounts};
use crate::process::ServerProcess;
use crate::progress::Progress;
use crate::resp::Value;
use crate::sampler::resident_bytes;
use crate::testbed::{Testbed, write_json};
pub use kind::ExpiryKind;
use kind::Schedule;
pub use report::{ExpiryReport, ExpiryRow};

/// How often the server is asked how much is left.
const LOOK: Duration = Duration::from_millis(10);
/// A backlog that is not gone after this never goes.
const BACKLOG_MS_MAX: i64 = 120_000;
/// Just before the first falls due all must still be there.
const EVE_MS: i64 = 100;

/// How many fall due, and when.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ExpiryPlan {
    /// How many.
    pub count: u32,
    /// Milliseconds over which things fall due evenly.
    pub spread_ms: u32,
    /// Seconds from the first write to the first falling due.
    pub lead_seconds: f64,
    /// Seconds that the healthy client is watched before and after.
    pub seconds: f64,
}

/// Runs every kind, prints the table, and says whether all of them expired in order.
///
/// # Errors
/// When the arguments are wrong, a server does not start, or nothing could be measured.
pub fn expiry(arguments: &ExpiryArguments) -> Result<bool> {
    let (healthy, plan) = (arguments.healthy.plan()?, arguments.plan()?);
    let testbed = Testbed::prepare(&arguments.common)?;
    testbed.bind_loader()?;
    let mut report = ExpiryReport::new(healthy, plan, &testbed);
    for kind in arguments.chosen() {
        testbed.go_on()?;
        let progress = Progress::new(kind.name(), testbed.quiet, 0.0);
        let dusk = Dusk { testbed: &testbed, healthy, plan, kind, progress: &progress };
        let row = dusk.row()?;
        progress.note(&row.summary());
        report.rows.push(row);
    }
    print!("{}", report.render());
    write_json(arguments.common.json.as_deref(), &report)?;
    if report.rows.iter().all(|row| row.not_measured.is_some()) {
        bail!(
            "nothing could be measured: {}",
            report.rows[0].not_measured.as_deref().unwrap_or("")
        );
    }
    Ok(report.rows.iter().all(|row| row.failed.is_none()))
}

/// One kind.
struct Dusk<'a> {
    testbed: &'a Testbed,
    healthy: HealthyPlan,
    plan: ExpiryPlan,
    kind: ExpiryKind,
    progress: &'a Progress,
}

impl Dusk<'_> {
    /// A server that cannot be started ends the run; what goes wrong in it is a row.
    fn row(&self) -> Result<ExpiryRow> {
        let server = self.testbed.start(&[])?;
        let mut row = ExpiryRow::new(self.kind);
        let mut control = Client::connect(server.address())?;
        if let Some(why) = self.kind.refusal(&mut control)? {
            row.not_measured = Some(format!("the server does not know it: {why}"));
            return Ok(row);
        }
        if let Err(error) = self.watch(&server, &mut control, &mut row) {
            row.failed = Some(self.testbed.fault(&error, &server.output_tail())?);
        }
        Ok(row)
    }

    fn watch(
        &self,
        server: &ServerProcess,
        control: &mut Client,
        row: &mut ExpiryRow,
    ) -> Result<()> {
        create_healthy_accounts(control, self.healthy.accounts)?;
        let count = u64::from(self.plan.count);
        self.kind.prepare(control, self.plan.count, &mut |done, total| self.step(done, total))?;
        let gone = Gone::look(self.kind, control)?;
        let schedule = self.fill(control)?;
        row.rss_filled = resident_bytes(server.pid())?;
        row.rss_peak = row.rss_filled;
        let client = HealthyClient::start(self.healthy, server.address())?;
        self.wait_until(&client, schedule.begin - whole_ms(self.plan.seconds))?;
        client.begin_phase();
        self.wait_until(&client, schedule.begin - EVE_MS)?;
        let early = Gone::look(self.kind, control)?.since(&gone, count);
        ensure!(early == 0, "{early} of {count} were gone before they were due");
        self.wait_until(&client, schedule.begin)?;
        client.begin_phase();
        loop {
            let now = unix_ms();
            let left = count - Gone::look(self.kind, control)?.since(&gone, count);
            row.rss_peak = row.rss_peak.max(resident_bytes(server.pid())?);
            if left == 0 {
                row.gone_after_ms = now - schedule.end;
                break;
            }
            ensure!(
                now < schedule.end + BACKLOG_MS_MAX && !client.has_failed(),
                "{left} of {count} are still there {} ms after the last fell due",
                now - schedule.end
            );
            self.wait_until(&client, now + i64::try_from(LOOK.as_millis())?)?;
        }
        client.begin_phase();
        self.wait_until(&client, unix_ms() + whole_ms(self.plan.seconds))?;
        row.rss_after = resident_bytes(server.pid())?;
        let healthy = client.finish()?;
        healthy.audit(control).context("the healthy client's accounts")?;
        let mut phases = healthy.phases.into_iter().skip(1);
        row.before = phases.next().unwrap_or_default();
        row.during = phases.next().unwrap_or_default();
        row.after = phases.next().unwrap_or_default();
        Ok(())
    }

    /// Writes everything that will fall due.
    fn fill(&self, control: &mut Client) -> Result<Schedule> {
        let begin = unix_ms() + whole_ms(self.plan.lead_seconds);
        let schedule = Schedule::new(begin, self.plan.spread_ms, self.plan.count);
        let mut step = |done: usize, total: usize| self.step(done, total);
        self.kind.fill(control, &schedule, &mut step)?;
        let left = begin - unix_ms() - whole_ms(self.plan.seconds);
        ensure!(
            left >= 0,
            "filling took {} ms longer than the lead of {} s allows: give more --lead",
            -left,
            rounded(self.plan.lead_seconds, 1)
        );
        Ok(schedule)
    }

    fn step(&self, done: usize, total: usize) -> Result<()> {
        self.progress.filling(done, total);
        self.testbed.go_on()
    }

    fn wait_until(&self, client: &HealthyClient, time: i64) -> Result<()> {
        let left = u64::try_from(time - unix_ms()).unwrap_or(0);
        client.wait(Duration::from_millis(left), self.testbed)
    }
}

/// The server's counts from which it shows how many are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Gone {
    keys: u64,
    expiries: u64,
    /// The kind vanishes with its key; else its account stays and the timer's Commit is counted.
    with_key: bool,
}

impl Gone {
    fn look(kind: ExpiryKind, client: &mut Client) -> Result<Gone> {
        let with_key = kind.vanishes();
        let mut gone = Gone { keys: 0, expiries: 0, with_key };
        if with_key {
            let reply = client.call(&["DBSIZE"])?;
            gone.keys = number(&reply).with_context(|| format!("DBSIZE answers {reply}"))?;
        } else {
            let reply = client.call(&["INFO", "scurry"])?;
            let info = reply.text().unwrap_or_default();
            gone.expiries = crate::filling::info_number(info, "expiries")
                .context("INFO scurry has no line `expiries`")?;
        }
        Ok(gone)
    }

    /// How many of `count` are gone since they were written, from a look before that.
    fn since(&self, empty: &Gone, count: u64) -> u64 {
        let gone = if self.with_key {
            count - self.keys.saturating_sub(empty.keys).min(count)
        } else {
            self.expiries.saturating_sub(empty.expiries)
        };
        gone.min(count)
    }
}

fn number(reply: &Value) -> Option<u64> {
    reply.integer().and_then(|number| u64::try_from(number).ok())
}

/// Seconds as whole milliseconds.
fn whole_ms(seconds: f64) -> i64 {
    let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_is_counted_by_keys_or_by_commits() {
        let keys = |keys| Gone { keys, expiries: 0, with_key: true };
        let empty = keys(5);
        assert_eq!([15, 12, 5, 4].map(|now| keys(now).since(&empty, 10)), [0, 3, 10, 10]);
        let commits = |expiries| Gone { keys: 0, expiries, with_key: false };
        let empty = commits(2);
        let since = |now| commits(now).since(&empty, 10);
        assert_eq!([2, 5, 12, 13].map(since), [0, 3, 10, 10]);
    }
}
