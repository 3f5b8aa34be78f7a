//! The load of an index on the value.

use anyhow::{Context, Result};

use super::key_value::key_value_words;
use super::{Bench, System, addresses, settle};
use crate::audit::audit_index;
use crate::client::Client;
use crate::filling::Filling;
use crate::populate::put_records;
use crate::progress::Progress;
use crate::row::Run;
use crate::scenario::KeyValue;
use crate::workload::{IndexWorkload, Workload};

impl Bench<'_> {
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
