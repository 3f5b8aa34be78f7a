//! The load of usage reports and refills, while the totals are read.

use anyhow::{Context, Result};

use super::{Bench, System, addresses, replays_are_none, settle};
use crate::audit::audit_usage;
use crate::client::Client;
use crate::filling::Filling;
use crate::names::account_text;
use crate::populate::create_accounts;
use crate::progress::Progress;
use crate::routes::Routes;
use crate::row::Run;
use crate::target::{probe_charging, probe_refill};
use crate::totals_poller::TotalsPoller;
use crate::workload::{UsageWorkload, Workload};

impl Bench<'_> {
    pub(super) fn usage(
        &self,
        number: u32,
        fleet: &System,
        client: &mut Client,
        progress: &Progress,
    ) -> Result<(Run, Option<Filling>)> {
        let scenario = self.scenario;
        let plan = scenario.usage.as_ref().context("the scenario has no usage")?;
        let dialect = self.target.dialect().context("this target does no charging")?;
        self.target.prepare(scenario.kind, client, self.library)?;
        let probed = probe_charging(client, dialect).and_then(|()| probe_refill(client, dialect));
        if let Err(error) = probed {
            return Ok((Run::failed(number, format!("failed audit: probe: {error:#}")), None));
        }
        let accounts = scenario.accounts;
        let filling = self.fill(fleet, client, accounts, progress, |client, progress| {
            create_accounts(client, dialect, &plan.create(&account_text(0)), accounts, progress)
        })?;
        let (sessions, seed) = (scenario.sessions, scenario.seed);
        let mut workload = UsageWorkload::new(plan, dialect, accounts, sessions, seed);
        let routes = self.routes(fleet, client)?;
        let owners = |routes: &Routes| routes.owners(accounts, scenario.connections, account_text);
        if let Some(routes) = &routes {
            workload.route(owners(routes)?);
        }
        let asks = dialect.has_totals() && plan.totals_seconds > 0.0;
        let teller = asks
            .then(|| TotalsPoller::start(fleet.connect()?, plan.unit.as_str(), plan.totals_seconds))
            .transpose()?;
        let addresses = addresses(fleet, routes.as_ref());
        let mut run = self.load(number, &mut workload, fleet, client, addresses, progress)?;
        let told = teller.map(TotalsPoller::finish);
        run.denials = Some(workload.denials());
        let verdict = self.verdict(workload.errors(), || {
            replays_are_none(workload.replays())?;
            run.totals = told.transpose()?;
            audit_usage(client, dialect, plan, workload.users(), seed)
        });
        settle(&mut run, verdict, filling.as_ref(), progress);
        Ok((run, filling))
    }
}
