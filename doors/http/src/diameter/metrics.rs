//! The metrics of a Diameter door. Labels have few values, and so have hosts: a page has so many peers at most.

use scurry_door_diameter::{
    ConnectionFault, ConnectionState, DoorCounts, DoorView, NoticeCounts, OwnCounts, PeerState,
    PeerView,
};
use scurry_server::{Exposition, MetricKind};

use MetricKind::{Counter, Gauge, Histogram};

/// Most peers on a page: those that are connected first.
const PEERS_MAX: usize = 256;
/// Host of clients that are no peers: no peer has an empty name.
const STRANGERS: &str = "";

/// Writes the metrics of a door and of its peers to a page.
pub(crate) fn show(view: &DoorView, page: &mut Exposition) {
    door(&view.counts(), page);
    notices(&view.notices(), page);
    of_peers(view.peers(), &view.requests_to_strangers(), page);
}

fn notices(counts: &NoticeCounts, page: &mut Exposition) {
    let help = "Requests to clients after a top-up or a change of status (RAR, ASR), by what became of them.";
    page.metric("scurry_diameter_notices_total", Counter, help);
    for (outcome, count) in counts.by_outcome() {
        page.sample(&[("outcome", outcome)], count);
    }
}

fn of_peers(mut all: Vec<PeerView>, to_strangers: &OwnCounts, page: &mut Exposition) {
    page.single("scurry_diameter_peers", Gauge, "Peers that are remembered.", all.len());
    all.sort_by_key(|peer| peer.state == PeerState::Absent);
    all.truncate(PEERS_MAX);
    peers(&all, page);
    requests_of_server(&all, to_strangers, page);
}

fn door(counts: &DoorCounts, page: &mut Exposition) {
    let help = "Connections, by what they are doing.";
    page.metric("scurry_diameter_connections", Gauge, help);
    for state in ConnectionState::ALL {
        page.sample(&[("state", state.name())], counts.connections_in(state));
    }
    let help = "Connections that were accepted.";
    page.single("scurry_diameter_connections_accepted_total", Counter, help, counts.accepted);
    let help = "Connections that were refused, or ended for a fault of the peer.";
    page.metric("scurry_diameter_connection_faults_total", Counter, help);
    for fault in ConnectionFault::ALL {
        page.sample(&[("fault", fault.name())], counts.faults_of(fault));
    }
    let help = "Answers to requests of the application, by command and Result-Code.";
    page.metric("scurry_diameter_answers_total", Counter, help);
    for ((command, result), count) in &counts.answers {
        page.sample(&[("command", command), ("code", &result.0.to_string())], count);
    }
    let help = "From when a credit-control request was read until its answer was made.";
    page.metric("scurry_diameter_request_duration_seconds", Histogram, help);
    let buckets = counts.latencies.buckets;
    let mut under = 0;
    let cumulative = buckets.iter().enumerate().map(|(at, count)| {
        under += count;
        let is_last = at + 1 == buckets.len();
        ((!is_last).then(|| (1_u64 << at) as f64 / 1e6), under)
    });
    page.histogram(&[], cumulative, counts.latencies.sum_us as f64 / 1e6);
}

fn peers(all: &[PeerView], page: &mut Exposition) {
    let help = "1 for the state that the peer is in.";
    page.metric("scurry_diameter_peer_state", Gauge, help);
    for peer in all {
        for state in PeerState::ALL {
            let labels = [("host", &peer.host[..]), ("state", state.name())];
            page.sample(&labels, u8::from(peer.state == state));
        }
    }
    let help = "When the peer connected or disconnected last.";
    page.metric("scurry_diameter_peer_state_since_timestamp_seconds", Gauge, help);
    for peer in all {
        page.sample(&[("host", &peer.host)], peer.since_ms as f64 / 1e3);
    }
    let help = "Always 1; why the last connection of the peer ended or was refused.";
    page.metric("scurry_diameter_peer_last_error", Gauge, help);
    for peer in all {
        if let Some(why) = &peer.last_error {
            page.sample(&[("host", &peer.host), ("why", why)], 1);
        }
    }
    let help = "Requests of the peer.";
    page.metric("scurry_diameter_peer_requests_total", Counter, help);
    for peer in all {
        by_name(page, peer, "command", peer.requests());
    }
    let help = "Answers to the peer's requests of the application, by Result-Code.";
    page.metric("scurry_diameter_peer_answers_total", Counter, help);
    for peer in all {
        for (code, count) in peer.totals.answers.iter() {
            page.sample(&[("host", &peer.host), ("code", &code.0.to_string())], count);
        }
    }
    let help = "Requests of the peer whose connection ended before the answer was ready.";
    page.metric("scurry_diameter_peer_dropped_answers_total", Counter, help);
    for peer in all {
        page.sample(&[("host", &peer.host)], peer.totals.dropped_answers);
    }
    let help = "What went wrong on connections of the peer; watchdog: it was silent for too long.";
    page.metric("scurry_diameter_peer_errors_total", Counter, help);
    for peer in all {
        by_name(page, peer, "error", peer.errors());
    }
}

/// Writes the counts of a peer that are not 0.
fn by_name(
    page: &mut Exposition,
    peer: &PeerView,
    label: &str,
    counts: impl Iterator<Item = (&'static str, u64)>,
) {
    for (name, count) in counts.filter(|(_, count)| *count > 0) {
        page.sample(&[("host", &peer.host), (label, name)], count);
    }
}

fn requests_of_server(all: &[PeerView], to_strangers: &OwnCounts, page: &mut Exposition) {
    let help = "Requests of this server that were sent to the peer.";
    page.metric("scurry_diameter_peer_sent_requests_total", Counter, help);
    for peer in all {
        by_name(page, peer, "command", peer.own_requests());
    }
    let help = "Requests of this server for sessions, by outcome and Result-Code of the answer.";
    page.metric("scurry_diameter_peer_request_outcomes_total", Counter, help);
    let of_peers = all.iter().map(|peer| (&peer.host[..], &peer.own));
    for (host, own) in of_peers.chain([(STRANGERS, to_strangers)]) {
        for (command, counts) in own.iter() {
            let answered = counts.answered.iter();
            let answered = answered.map(|(code, count)| ("answered", code.0.to_string(), count));
            let others = [
                ("unanswered", counts.unanswered),
                ("not_connected", counts.not_connected),
                ("not_sent", counts.not_sent),
            ];
            let others = others.map(|(outcome, count)| (outcome, String::new(), count));
            for (outcome, code, count) in answered.chain(others).filter(|(.., count)| *count > 0) {
                let labels =
                    [("host", host), ("command", command), ("outcome", outcome), ("code", &code)];
                page.sample(&labels, count);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_door_diameter::PeerTotals;

    fn peer(host: &str, state: PeerState) -> PeerView {
        PeerView {
            host: host.to_owned(),
            realm: "example".to_owned(),
            address: None,
            state,
            tls: false,
            totals: PeerTotals::default(),
            own: OwnCounts::default(),
            last_error: None,
            since_ms: 1_500,
        }
    }

    #[test]
    fn a_peer_has_its_errors_and_what_became_of_requests_to_it() {
        let mut pgw = peer("pgw", PeerState::Suspect);
        pgw.totals.counts.errors = [1, 2, 3, 4, 5, 6, 7];
        pgw.totals.counts.requests_out[4] = 9;
        pgw.totals.dropped_answers = 8;
        pgw.own.re_auth.answered.note(scurry_diameter::ResultCode(2002));
        pgw.own.re_auth.unanswered = 2;
        pgw.own.abort.not_sent = 3;
        pgw.last_error = Some("it has \"gone\"".to_owned());
        let mut strangers = OwnCounts::default();
        strangers.abort.not_connected = 4;
        let mut page = Exposition::default();
        of_peers(vec![pgw], &strangers, &mut page);
        let page = page.into_text();
        let errors = [
            "frame",
            "wrong_state",
            "refused",
            "unasked_answer",
            "unanswered",
            "table_full",
            "watchdog",
        ];
        let errors = errors.iter().enumerate().map(|(at, error)| {
            let name = "scurry_diameter_peer_errors_total";
            format!("{name}{{host=\"pgw\",error=\"{error}\"}} {}", at + 1)
        });
        let others = [
            "state{host=\"pgw\",state=\"suspect\"} 1",
            "state{host=\"pgw\",state=\"open\"} 0",
            "state_since_timestamp_seconds{host=\"pgw\"} 1.5",
            "last_error{host=\"pgw\",why=\"it has \\\"gone\\\"\"} 1",
            "dropped_answers_total{host=\"pgw\"} 8",
            "sent_requests_total{host=\"pgw\",command=\"re-auth\"} 9",
            "request_outcomes_total{host=\"pgw\",command=\"re-auth\",outcome=\"answered\",code=\"2002\"} 1",
            "request_outcomes_total{host=\"pgw\",command=\"re-auth\",outcome=\"unanswered\",code=\"\"} 2",
            "request_outcomes_total{host=\"pgw\",command=\"abort-session\",outcome=\"not_sent\",code=\"\"} 3",
            "request_outcomes_total{host=\"\",command=\"abort-session\",outcome=\"not_connected\",code=\"\"} 4",
        ];
        let others = others.map(|rest| format!("scurry_diameter_peer_{rest}"));
        for line in errors.chain(others) {
            assert!(page.lines().any(|shown| shown == line), "{line} is not in {page}");
        }
    }

    #[test]
    fn a_page_has_a_bound_and_those_that_are_connected_first() {
        let mut all: Vec<PeerView> =
            (0..1_000).map(|number| peer(&format!("pgw{number}"), PeerState::Absent)).collect();
        all[999].state = PeerState::Open;
        let mut page = Exposition::default();
        of_peers(all, &OwnCounts::default(), &mut page);
        let page = page.into_text();
        assert!(page.contains("\nscurry_diameter_peers 1000\n"), "{page}");
        let hosts = page.matches("state_since_timestamp_seconds{host=").count();
        assert_eq!(hosts, PEERS_MAX);
        assert!(page.contains("{host=\"pgw999\",state=\"open\"} 1"), "{page}");
    }

    #[test]
    fn every_fault_and_state_has_its_own_line() {
        let mut counts = DoorCounts { accepted: 99, ..DoorCounts::default() };
        for fault in ConnectionFault::ALL {
            counts.faults[fault as usize] = 100 + fault as u64;
        }
        for state in ConnectionState::ALL {
            counts.connections[state as usize] = 200 + state as u64;
        }
        counts.latencies.buckets = [1; 25];
        counts.latencies.sum_us = 2_500_000;
        let mut page = Exposition::default();
        door(&counts, &mut page);
        let page = page.into_text();
        let faults = [
            "too_many",
            "too_many_unidentified",
            "tls",
            "no_capabilities",
            "before_capabilities",
            "unknown_peer",
            "election_lost",
            "refused",
            "frame",
            "slow_message",
            "write_timeout",
            "watchdog",
        ];
        let faults = faults.iter().enumerate().map(|(at, fault)| {
            format!("scurry_diameter_connection_faults_total{{fault=\"{fault}\"}} {}", 100 + at)
        });
        let states = ["handshake", "wait_capabilities", "open", "suspect", "closing"];
        let states = states.iter().enumerate().map(|(at, state)| {
            format!("scurry_diameter_connections{{state=\"{state}\"}} {}", 200 + at)
        });
        let others = [
            "scurry_diameter_connections_accepted_total 99",
            "scurry_diameter_request_duration_seconds_bucket{le=\"0.000001\"} 1",
            "scurry_diameter_request_duration_seconds_bucket{le=\"8.388608\"} 24",
            "scurry_diameter_request_duration_seconds_bucket{le=\"+Inf\"} 25",
            "scurry_diameter_request_duration_seconds_sum 2.5",
            "scurry_diameter_request_duration_seconds_count 25",
        ];
        for line in faults.chain(states).chain(others.map(str::to_owned)) {
            assert!(page.lines().any(|shown| shown == line), "{line} is not in {page}");
        }
    }
}
