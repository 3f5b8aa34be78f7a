//! Views of a group of three, for tests of replies.

use scurry_consensus::replica::{Index, NodeId, Role, Sequence, Term};
use scurry_consensus::shard::{Health, ShardView};
use scurry_group::view::{Addresses, Member, View};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

pub(crate) fn id(number: u64) -> NodeId {
    NodeId::new(number).expect("not 0")
}

/// Builds the view of nodes 1, 2 and 3 at 10.0.0.1, .2 and .3, all voting and connected. It is the view of node `own`;
/// node `leader` leads every thread.
pub(crate) fn view(own: u64, leader: Option<u64>, threads: u16) -> View {
    let member = |number: u8| {
        let ip = IpAddr::V4(Ipv4Addr::new(10, 0, 0, number));
        Member {
            id: id(number.into()),
            addresses: Addresses {
                peer: SocketAddr::new(ip, 7_389),
                ip,
                main: 6_389,
                cores: (6_390..).take(threads.into()).collect(),
            },
            votes: true,
            is_connected: true,
            is_silent: false,
            health: Some(Health {
                stores: true,
                could_lead: true,
                observes: false,
                voters: (1..=3).map(id).collect(),
                hears: (1..=3).filter(|other| *other != u64::from(number)).map(id).collect(),
            }),
            observes: false,
            has_stalled: false,
            is_behind: false,
            lag: (leader == Some(own)).then_some(if number == 3 { 5 } else { 0 }),
        }
    };
    let role = match leader {
        Some(leader) if leader == own => Role::Leader,
        Some(_) => Role::Follower,
        None => Role::Candidate,
    };
    let shard = ShardView {
        role,
        term: Term(7),
        leader: leader.map(id),
        serves: leader == Some(own),
        committed: Sequence(100),
        stored: Sequence(101),
        applied: Sequence(99),
        elections: 2,
        base: Index(7),
        compared: Sequence(98),
        age_ticks: Some(4),
    };
    View {
        node: id(own),
        shown_ms: 0,
        tick_ms: 30,
        clock_off_ms: -3,
        required: 4,
        waits: None,
        members: (1..=3).map(member).collect(),
        shards: vec![shard; threads.into()],
    }
}

/// Returns a reply as text.
pub(crate) fn said(write: impl FnOnce(&mut scurry_resp::Reply<'_>)) -> String {
    let mut out = Vec::new();
    write(&mut scurry_resp::Reply::new(&mut out, scurry_resp::Protocol::Resp2));
    let text = String::from_utf8(out).expect("text");
    // Lengths of strings would only make the expectations long.
    let is_len = |line: &&str| !line.starts_with('$') || *line == "$-1";
    text.split("\r\n").filter(is_len).collect::<Vec<_>>().join(" ").trim_end().to_owned()
}
