//! The table of peers keeps what it is to keep, and no more.

use super::support::local;
use crate::code_counts::CodeCounts;
use crate::link::Link;
use crate::peer_rule::{PEERS_MAX, PeerRule};
use crate::peer_table::{Newcomer, PeerTable};
use crate::remote::Remote;
use crate::settings::{UnknownPeers, UnknownPolicy};
use scurry_diameter::peer::{Admission, PeerCounts, PeerIdentity};
use std::sync::Arc;
use tokio::sync::mpsc;

#[test]
fn peers_that_are_long_gone_are_forgotten_except_for_their_totals() {
    let (without_rules, with_rules) = (UnknownPeers::Admit, UnknownPeers::Admit);
    let ruled = PeerRule { host: "ruled.example".to_owned(), ..PeerRule::default() };
    let table = PeerTable::new(vec![ruled], UnknownPolicy { without_rules, with_rules });
    let remote = Remote { address: local(1), is_tls: false, certificate: None };
    let (requests, _posted) = mpsc::channel(1);
    let counts = PeerCounts { requests_in: [1; 7], ..PeerCounts::default() };
    let count = PEERS_MAX + 100;
    for number in 0..count {
        let link = Arc::new(Link::new(number as u64));
        let newcomer = Newcomer { link: &link, remote: &remote, requests: &requests };
        let host = format!("pgw{number}.example");
        let identity = PeerIdentity { host: host.clone(), ..PeerIdentity::default() };
        assert_eq!(table.admit(&identity, &newcomer), Admission::Admit);
        // The first one stays connected.
        if number > 0 {
            link.publish_counts(&counts, &CodeCounts::default());
            table.ended(&host, &link, "it has gone".to_owned());
        }
    }
    let views = table.views();
    assert_eq!(views.len(), PEERS_MAX);
    for kept in ["ruled.example", "pgw0.example"] {
        assert!(views.iter().any(|view| view.host == kept), "{kept}");
    }
    assert_eq!(table.totals().requests_in, [count as u64 - 1; 7]);
}
