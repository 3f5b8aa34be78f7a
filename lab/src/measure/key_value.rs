//! The loads of plain keys and values, and of an index on the value.

use anyhow::{Context, Result};

use super::{Bench, System, addresses, settle};
use crate::audit::{audit_index, audit_key_value};
use crate::client::Client;
use crate::filling::Filling;
use crate::names::key_text;
use crate::populate::{put_records, set_keys};
use crate::progress::Progress;
use crate::row::Run;
use crate::scenario::KeyValue;
use crate::target::probe_key_value;
use crate::workload::{IndexWorkload, KeyValueWorkload, Workload};

impl Bench<'_> {
    pub(super) fn key_value(
        &self,
        kv: &KeyValue,
        number: u32,
        fleet: &System,
        client: &mut Client,
        progress: &Progress,
    ) -> Result<(Run, Option<Filling>)> {
        let scenario = self.scenario;
        let echo = self.target.is_echo();
        if !echo && let Err(error) = probe_key_value(client) {
            return Ok((Run::failed(number, format!("failed audit: probe: {error:#}")), None));
        }
        let mut workload = KeyValueWorkload::new(kv, scenario.sessions, scenario.seed, echo);
        let filling = self.fill(fleet, client, kv.filled(), progress, |client, progress| {
            set_keys(client, &mut workload, progress)
        })?;
        if let Some(driver) = fleet.driver() {
            let (mut run, tally) =
                self.drive(number, &key_value_words(kv), fleet, driver, client, progress)?;
            // The audit needs to know which writes the driver's load has made.
            workload.take(&tally.records, tally.wrong);
            let verdict = self.verdict(&run.errors, || {
                audit_key_value(client, &workload, scenario.seed)?;
                self.audit_backups(fleet, || audit_key_value(client, &workload, scenario.seed))
            });
            settle(&mut run, verdict, filling.as_ref(), progress);
            return Ok((run, filling));
        }
        let routes = self.routes(fleet, client)?;
        if let Some(routes) = &routes {
            workload.route(routes.owners(kv.keys, scenario.connections, key_text)?);
        }
        let addresses = addresses(fleet, routes.as_ref());
        let mut run = self.load(number, &mut workload, fleet, client, addresses, progress)?;
        let verdict = self.verdict(workload.errors(), || {
            audit_key_value(client, &workload, scenario.seed)?;
            self.audit_backups(fleet, || audit_key_value(client, &workload, scenario.seed))?;
            // Replicas are audited after they have caught up.
            fleet.wait_until_equal(self.interrupted)?;
            for replica in &mut fleet.connect_replicas()? {
                audit_key_value(replica, &workload, scenario.seed).context("a replica")?;
            }
            Ok(())
        });
        settle(&mut run, verdict, filling.as_ref(), progress);
        Ok((run, filling))
    }

    /// Audits the backups of members: stops one member without a handover and queries the others again.
    pub(super) fn audit_backups(
        &self,
        fleet: &System,
        audit: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        if self.copies.replicas == 0 || !self.target.has_members() {
            return Ok(());
        }
        fleet.stop_last()?;
        audit().context("after one of the members was stopped")
    }

    pub(super) fn index(
        &self,
        kv: &KeyValue,
        number: u32,
        fleet: &System,
        client: &mut Client,
        progress: &Progress,
    ) -> Result<(Run, Option<Filling>)> {
        let scenario = self.scenario;
        let dialect = self.target.index_dialect().context("this target has no index")?;
        self.target.prepare(scenario.kind, client, self.library)?;
        let mut workload = IndexWorkload::new(kv, dialect, scenario.sessions, scenario.seed);
        let filling = self.fill(fleet, client, kv.keys, progress, |client, progress| {
            put_records(client, &mut workload, progress)
        })?;
        if let Some(driver) = fleet.driver() {
            let (mut run, tally) =
                self.drive(number, &key_value_words(kv), fleet, driver, client, progress)?;
            workload.take(&tally.records, tally.wrong);
            let verdict =
                self.verdict(&run.errors, || audit_index(client, &workload, scenario.seed));
            settle(&mut run, verdict, filling.as_ref(), progress);
            return Ok((run, filling));
        }
        let addresses = addresses(fleet, None);
        let mut run = self.load(number, &mut workload, fleet, client, addresses, progress)?;
        let verdict =
            self.verdict(workload.errors(), || audit_index(client, &workload, scenario.seed));
        settle(&mut run, verdict, filling.as_ref(), progress);
        Ok((run, filling))
    }
}

/// Returns the parameters of the mix for an external driver.
pub(super) fn key_value_words(kv: &KeyValue) -> Vec<(&'static str, String)> {
    vec![
        ("value_size", kv.value_size.to_string()),
        ("get", kv.get_share.to_string()),
        ("set", kv.set_share.to_string()),
        ("del", kv.del_share.to_string()),
        ("batch", kv.batch.unwrap_or(0).to_string()),
    ]
}
