//! The load of live sessions.

use anyhow::{Context, Result, ensure};

use super::{Bench, System, addresses, settle};
use crate::audit::{Expected, audit_charging, audit_replicas};
use crate::client::Client;
use crate::filling::{Filling, info_number};
use crate::names::account_text;
use crate::populate::create_accounts;
use crate::progress::Progress;
use crate::row::Run;
use crate::target::probe_charging;
use crate::workload::{LiveCounts, LiveWorkload, Workload};

impl Bench<'_> {
    pub(super) fn live(
        &self,
        number: u32,
        fleet: &System,
        client: &mut Client,
        progress: &Progress,
    ) -> Result<(Run, Option<Filling>)> {
        let scenario = self.scenario;
        let plan = scenario.live.as_ref().context("the scenario has no live sessions")?;
        let dialect = self.target.dialect().context("this target does no charging")?;
        self.target.prepare(scenario.kind, client, self.library)?;
        if let Err(error) = probe_charging(client, dialect) {
            return Ok((Run::failed(number, format!("failed audit: probe: {error:#}")), None));
        }
        let accounts = scenario.accounts;
        let filling = self.fill(fleet, client, accounts, progress, |client, progress| {
            create_accounts(client, dialect, &plan.create(&account_text(0)), accounts, progress)
        })?;
        let (sessions, seed) = (scenario.sessions, scenario.seed);
        let mut workload = LiveWorkload::new(plan, dialect, accounts, sessions, seed);
        let routes = self.routes(fleet, client)?;
        if let Some(routes) = &routes {
            workload.route(routes.owners(accounts, scenario.connections, account_text)?);
        }
        let before = self.store_counts(client)?;
        let addresses = addresses(fleet, routes.as_ref());
        let mut run = self.load(number, &mut workload, fleet, client, addresses, progress)?;
        let counts = workload.counts();
        run.live = Some(counts);
        let verdict = self.verdict(workload.errors(), || {
            ensure!(
                workload.wrong() == 0 && counts.replays == counts.duplicates,
                "{} requests were sent twice and {} called themselves repeated; {} answers differ \
                 from what their first was",
                counts.duplicates,
                counts.replays,
                workload.wrong()
            );
            if let (Some(before), Some(after)) = (before, self.store_counts(client)?) {
                same_counts(counts, before, after)?;
            }
            let expected = Expected {
                unit: plan.unit.as_str(),
                credited_per_account: plan.credit,
                without_credit: 0,
                consumed: workload.consumed(),
                consumed_total: workload.consumed().iter().map(|one| i128::from(*one)).sum(),
                alone: true,
                as_created: None,
            };
            audit_charging(client, dialect, &expected, seed)?;
            self.audit_backups(fleet, || audit_charging(client, dialect, &expected, seed))?;
            fleet.wait_until_equal(self.interrupted)?;
            audit_replicas(&mut fleet.connect_replicas()?, dialect, &expected)
        });
        settle(&mut run, verdict, filling.as_ref(), progress);
        Ok((run, filling))
    }

    /// Returns the store's own counts of denials and replays, where it has them.
    fn store_counts(&self, client: &mut Client) -> Result<Option<[u64; 2]>> {
        if !self.target.is_scurry() {
            return Ok(None);
        }
        let reply = client.call(&["INFO"])?;
        let info = reply.text().unwrap_or_default();
        let number = |name| info_number(info, name).with_context(|| format!("INFO has no {name}"));
        Ok(Some([number("denials")?, number("replays")?]))
    }
}

/// Checks that the store counted as many denials and replays as its clients received.
fn same_counts(counts: LiveCounts, before: [u64; 2], after: [u64; 2]) -> Result<()> {
    let counted = [after[0] - before[0], after[1] - before[1]];
    let expected = [counts.denials, counts.replays];
    ensure!(
        counted == expected,
        "the store has counted {} denials and {} replays, its clients {} and {}",
        counted[0],
        counted[1],
        expected[0],
        expected[1]
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_differ_are_found() {
        let counts = LiveCounts { denials: 3, replays: 2, ..LiveCounts::default() };
        assert!(same_counts(counts, [10, 5], [13, 7]).is_ok());
        for after in [[12, 7], [13, 8]] {
            assert!(same_counts(counts, [10, 5], after).is_err());
        }
    }
}
