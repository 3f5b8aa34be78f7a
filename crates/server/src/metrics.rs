//! Renders the cores' counts as metrics. Labels have few values: cores, commands of the table, kinds of memory, units
//! (a store has as many as its accounts use).

pub(crate) mod certificates;
pub(crate) mod exposition;
mod parts;

use crate::mail::report::CoreReport;
use crate::metrics::exposition::{Exposition, MetricKind};
use crate::settings::Settings;
use crate::shared::Shared;
use parts::{accounts, commands, group, log, memory, process, rdma, totals};
use scurry_group::view::View;
use scurry_tls::Expiry;
use std::sync::Arc;

/// Reports of the cores for one page of metrics.
pub struct Measurement {
    /// By core; None for a core that has not answered in time.
    pub(crate) cores: Vec<Option<CoreReport>>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) shared: Arc<Shared>,
    /// End of the validity of the certificate that is shown to clients.
    pub(crate) certificate: Option<Expiry>,
    pub(crate) password_hashes: u64,
    /// None for a store on one machine.
    pub(crate) group: Option<Arc<View>>,
    /// When it was measured.
    pub(crate) uptime_ms: i64,
}

impl Measurement {
    /// Returns why the server should get no requests at present; None when it should.
    pub fn trouble(&self) -> Option<String> {
        for (core, report) in self.cores.iter().enumerate() {
            let Some(CoreReport { report, .. }) = report else {
                return Some(format!("core {core} does not answer"));
            };
            if report.durable.failed {
                return Some(format!("the log of core {core} has failed: see the server's log"));
            }
            // While another node leads, clients write there, so a full log here is no reason.
            if report.durable.full && self.group.as_ref().is_none_or(|view| view.leads()) {
                return Some(format!("the log of core {core} has no room: writes are refused"));
            }
        }
        let view = self.group.as_ref().filter(|view| !view.serves_all())?;
        match view.leader(0) {
            Some(leader) if leader.id != view.node && leader.is_connected => None,
            Some(leader) if leader.id != view.node => Some(format!(
                "node {} of the group leads, at {}, and is not connected to this one",
                leader.id, leader.addresses.ip
            )),
            Some(_) => Some("this node was elected and has not taken over yet".to_owned()),
            None => Some(format!("no node of the group leads: {}", view.no_leader_reason())),
        }
    }

    /// Returns the certificates that are shown to clients and to other nodes, with the ends of their validity, as
    /// [`show_certificates`](certificates::show_certificates) takes them.
    pub fn certificates(&self) -> [(&'static str, Option<Expiry>); 2] {
        [("clients", self.certificate), ("nodes", self.shared.node_certificate.get())]
    }

    /// Renders the page for Prometheus.
    pub fn page(&self) -> Exposition {
        page(self)
    }
}

/// Renders the page of a server.
fn page(measurement: &Measurement) -> Exposition {
    let source = Source::of(measurement);
    let mut page = Exposition::default();
    for part in [process, commands, accounts, totals, log, group, memory, rdma] {
        part(&source, &mut page);
    }
    page
}

/// The page's reports, and the names of cores as labels.
struct Source<'a> {
    measurement: &'a Measurement,
    /// Cores that have answered, with their labels.
    cores: Vec<(String, &'a CoreReport)>,
}

impl<'a> Source<'a> {
    fn of(measurement: &'a Measurement) -> Source<'a> {
        let said = measurement.cores.iter().flatten();
        let cores = said.map(|report| (report.core.to_string(), report)).collect();
        Source { measurement, cores }
    }

    /// Adds a metric with a value for each core.
    fn each_core<V: std::fmt::Display>(
        &self,
        page: &mut Exposition,
        (name, kind, help): (&'static str, MetricKind, &str),
        value: impl Fn(&CoreReport) -> V,
    ) {
        page.metric(name, kind, help);
        for (core, report) in &self.cores {
            page.sample(&[("core", core)], value(report));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execute::commands::example_view::view;
    use crate::users::Users;
    use std::net::SocketAddr;

    fn measurement(group: Option<View>) -> Measurement {
        let address: SocketAddr = ([127, 0, 0, 1], 6_389).into();
        Measurement {
            cores: Vec::new(),
            settings: Arc::new(Settings::new(address, Users::new(None, &[]).expect("no users"))),
            shared: Arc::new(Shared::new(address, vec![address], 1)),
            certificate: None,
            password_hashes: 0,
            group: group.map(Arc::new),
            uptime_ms: 0,
        }
    }

    #[test]
    fn a_node_of_a_group_shows_it_and_a_server_by_itself_has_none() {
        let page = |group| measurement(group).page().into_text();
        assert!(!page(None).contains("scurry_group"));
        let led = page(Some(view(1, Some(1), 2)));
        for line in [
            "scurry_group_can_lose_a_node 1",
            "scurry_group_info{node=\"0000000000000001\"} 1",
            "scurry_group_member_connected{node=\"0000000000000002\",address=\"10.0.0.2:6389\"} 1",
            "scurry_group_member_votes{node=\"0000000000000003\"} 1",
            "scurry_group_member_lag_entries{node=\"0000000000000003\"} 5",
            "scurry_group_leader{core=\"1\",node=\"0000000000000001\"} 1",
            "scurry_group_members 3",
            "scurry_group_members_connected 3",
            "scurry_group_role{core=\"1\",role=\"leader\"} 1",
            "scurry_group_serves{core=\"1\"} 1",
            "scurry_group_term{core=\"0\"} 7",
            "scurry_group_elections_total{core=\"0\"} 2",
            "scurry_group_committed_sequence{core=\"0\"} 100",
            "scurry_group_stored_sequence{core=\"0\"} 101",
            "scurry_group_applied_sequence{core=\"0\"} 99",
        ] {
            assert!(led.lines().any(|shown| shown == line), "{line}: {led}");
        }
        assert!(!led.contains("scurry_group_cannot_lose_a_node{"), "{led}");
        let mut parted = view(1, Some(1), 2);
        parted.shards[1].leader = Some(parted.members[1].id);
        let parted = page(Some(parted));
        assert!(
            parted.contains("cannot_lose_a_node{why=\"the shards have different leaders"),
            "{parted}"
        );
        let nobody = page(Some(view(1, None, 1)));
        assert!(nobody.contains("scurry_group_can_lose_a_node 0"));
        let why = "scurry_group_cannot_lose_a_node{why=\"shard 0 has no leader\"} 1";
        assert!(nobody.contains(why), "{nobody}");
        assert!(!nobody.contains("scurry_group_leader{"), "{nobody}");
        assert!(!nobody.contains("scurry_group_member_lag_entries{"), "{nobody}");
    }

    #[test]
    fn a_node_that_does_not_lead_should_get_work_while_it_reaches_the_one_that_does() {
        let trouble = |group| measurement(group).trouble();
        assert_eq!(trouble(None), None);
        assert_eq!(trouble(Some(view(1, Some(1), 2))), None);
        let mut another = view(1, Some(2), 2);
        assert_eq!(trouble(Some(another.clone())), None);
        another.members[1].is_connected = false;
        let away = trouble(Some(another)).expect("it is away");
        assert!(
            away.contains("0000000000000002 of the group leads, at 10.0.0.2, and is not"),
            "{away}"
        );
        let nobody = trouble(Some(view(1, None, 2))).expect("nobody leads");
        assert!(nobody.contains("no node of the group leads: an election"), "{nobody}");
        let mut soon = view(1, Some(1), 2);
        soon.shards[1].serves = false;
        assert!(trouble(Some(soon)).expect("soon").contains("not taken over yet"));
    }
}
