//! The load of charging sessions, and that of the yardstick, which does no charging.

use anyhow::{Context, Result};

use super::{Bench, System, addresses, replays_are_none, settle};
use crate::audit::{Expected, audit_charging, audit_hash_fields, audit_replicas};
use crate::capacity_check::check as check_room;
use crate::client::Client;
use crate::dialect::Dialect;
use crate::filling::Filling;
use crate::names::account_text;
use crate::populate::{add_counters, copy_account, create_charging_accounts, set_hashes};
use crate::progress::Progress;
use crate::routes::Routes;
use crate::row::Run;
use crate::scenario::{Charging, Operation, ScenarioKind};
use crate::target::{Target, network_door, probe_charging, probe_two_phase};
use crate::workload::{ChargingPlan, ChargingWorkload, HashFieldsWorkload, Workload};

impl Bench<'_> {
    pub(super) fn charge(
        &self,
        charging: &Charging,
        number: u32,
        fleet: &mut System,
        client: &mut Client,
        progress: &Progress,
    ) -> Result<(Run, Option<Filling>)> {
        let dialect = self.target.dialect().context("this target does no charging")?;
        let scenario = self.scenario;
        self.target.prepare(ScenarioKind::Charging, client, self.library)?;
        if !self.target.is_echo()
            && let Err(error) = self.probe(client, dialect)
        {
            return Ok((Run::failed(number, format!("failed audit: probe: {error:#}")), None));
        }
        let accounts = scenario.accounts;
        if self.target == Target::Scurry && self.address.is_none() {
            let buckets = charging.bucket.iter().map(|bucket| bucket.count).sum();
            check_room(accounts, buckets, self.durability.keeps().then_some(self.place))?;
        }
        let mut kept = None;
        let filling = self.fill(fleet, client, accounts, progress, |client, progress| {
            let created = if self.target.keeps_accounts_in_keys() { 1 } else { accounts };
            create_charging_accounts(client, dialect, charging, created, progress)?;
            add_counters(client, dialect, charging, created, progress)?;
            if created < accounts {
                kept = Some(copy_account(client, accounts, progress)?);
            }
            Ok(())
        })?;
        let expected = |consumed, consumed_total| Expected {
            as_created: kept.as_deref(),
            unit: charging.unit.as_str(),
            credited_per_account: charging.credited_per_account(),
            without_credit: charging.without_credit,
            consumed,
            consumed_total,
            alone: true,
        };
        if let Some(driver) = fleet.driver() {
            let (mut run, tally) =
                self.drive(number, &charging_words(charging), fleet, driver, client, progress)?;
            let verdict = self.verdict(&run.errors, || {
                replays_are_none(tally.replays)?;
                let total = tally.records.iter().map(|&amount| i128::from(amount)).sum();
                let expected = expected(tally.records.as_slice(), total);
                audit_charging(client, dialect, &expected, scenario.seed)
            });
            settle(&mut run, verdict, filling.as_ref(), progress);
            return Ok((run, filling));
        }
        let routes = self.routes(fleet, client)?;
        let owners = |routes: &Routes| routes.owners(accounts, scenario.connections, account_text);
        let mut workload = ChargingWorkload::new(&ChargingPlan {
            charging,
            dialect,
            accounts,
            sessions: scenario.sessions,
            seed: scenario.seed,
            opaque: self.target.is_echo(),
            routes: routes.as_ref().map(owners).transpose()?,
        })?;
        let mut addresses = addresses(fleet, routes.as_ref());
        if self.target.has_network_door() {
            addresses = addresses.into_iter().map(network_door).collect();
        }
        let mut run = self.load(number, &mut workload, fleet, client, addresses, progress)?;
        if self.revives {
            run.revival =
                Some(self.snapshot_and_restart(&mut workload, fleet, client, progress)?);
        }
        let verdict = self.verdict(workload.errors(), || {
            replays_are_none(workload.replays())?;
            let expected = expected(workload.consumed(), workload.consumed_total());
            audit_charging(client, dialect, &expected, scenario.seed)?;
            self.audit_backups(fleet, || {
                audit_charging(client, dialect, &expected, scenario.seed)
            })?;
            fleet.wait_until_equal(self.interrupted)?;
            audit_replicas(&mut fleet.connect_replicas()?, dialect, &expected)
        });
        settle(&mut run, verdict, filling.as_ref(), progress);
        Ok((run, filling))
    }

    fn probe(&self, client: &mut Client, dialect: Dialect) -> Result<()> {
        if self.target.is_two_phase() {
            return probe_two_phase(client, dialect);
        }
        probe_charging(client, dialect)
    }

    pub(super) fn hash_fields(
        &self,
        number: u32,
        fleet: &System,
        client: &mut Client,
        progress: &Progress,
    ) -> Result<(Run, Option<Filling>)> {
        let scenario = self.scenario;
        let (accounts, seed) = (scenario.accounts, scenario.seed);
        let mut workload = HashFieldsWorkload::new(accounts, scenario.sessions, seed);
        let filling = self.fill(fleet, client, accounts, progress, |client, progress| {
            set_hashes(client, &mut workload, progress)
        })?;
        let addresses = addresses(fleet, None);
        let mut run = self.load(number, &mut workload, fleet, client, addresses, progress)?;
        let verdict =
            self.verdict(workload.errors(), || audit_hash_fields(client, &workload, seed));
        settle(&mut run, verdict, filling.as_ref(), progress);
        Ok((run, filling))
    }
}

/// Returns the parameters of the charging loop for an external driver.
fn charging_words(charging: &Charging) -> Vec<(&'static str, String)> {
    let operations: Vec<&str> = charging.operations().into_iter().map(Operation::name).collect();
    vec![
        ("unit", charging.unit.as_str().to_owned()),
        ("item", charging.item_key.to_string()),
        ("requested", charging.requested.to_string()),
        ("used_update", charging.used_update.to_string()),
        ("used_terminate", charging.used_terminate.to_string()),
        ("operations", operations.join(",")),
    ]
}
