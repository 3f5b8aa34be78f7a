//! Clients of Redis Sentinel at the threads' ports of three nodes: their connections stay when the leader dies, and
//! they get the address of the new leader.

use crate::nodes::{Client, Nodes};
use nix::sys::signal::Signal;

/// Returns the main port of the leader, as a Sentinel reports it.
fn named(client: &mut Client) -> String {
    client.ask(&["SENTINEL", "get-master-addr-by-name", "scurry"]).expect("an answer")
}

fn open(nodes: &Nodes, node: usize) -> Client {
    Client::connect(nodes.thread_port(node)).expect("it listens")
}

/// Reports whether a message announces the switch from one leader to one of these nodes.
fn is_switched(nodes: &Nodes, said: &str, from: usize, to: &[usize]) -> bool {
    to.iter().any(|to| {
        let (from, to) = (nodes.main_port(from), nodes.main_port(*to));
        said == format!("+switch-master\nscurry 127.0.0.1 {from} 127.0.0.1 {to}\n")
    })
}

#[test]
fn subscribers_hear_which_node_leads_from_now_on() {
    let mut nodes = Nodes::start(3, 2);
    let leader = nodes.leader();
    let others: Vec<usize> = (0..3).filter(|node| *node != leader).collect();
    let [mut plain, mut pushed, mut idle] =
        [others[0], others[1], others[1]].map(|node| open(&nodes, node));
    let at_leader = format!("127.0.0.1\n{}\n", nodes.main_port(leader));
    assert_eq!(named(&mut plain), at_leader);
    let sentinels = plain.ask(&["SENTINEL", "sentinels", "scurry"]).expect("an answer");
    assert!(sentinels.contains(&nodes.thread_port(others[1]).to_string()), "{sentinels}");
    let subscribed = plain.ask(&["SUBSCRIBE", "+switch-master", "+sdown"]).expect("an answer");
    assert_eq!(subscribed, "subscribe\n+switch-master\n:1\n");
    assert_eq!(plain.read().expect("another"), "subscribe\n+sdown\n:2\n");
    assert_eq!(plain.ask(&["PING"]).expect("an answer"), "pong\n\n");
    let refused = plain.ask(&["SENTINEL", "masters"]).expect("an answer");
    assert!(refused.starts_with("-ERR Can't execute 'sentinel|masters'"), "{refused}");
    pushed.ask(&["HELLO", "3", "SETNAME", "listener"]).expect("an answer");
    let subscribed = pushed.ask(&["PSUBSCRIBE", "+switch*", "-*"]).expect("an answer");
    assert_eq!(subscribed, "psubscribe\n+switch*\n:1\n");
    assert_eq!(pushed.read().expect("another"), "psubscribe\n-*\n:2\n");
    idle.ask(&["SUBSCRIBE", "+sdown"]).expect("an answer");
    nodes.signal(leader, Signal::SIGKILL);
    for (listener, front) in [(&mut plain, "message\n"), (&mut pushed, "pmessage\n+switch*\n")] {
        let said = listener.read().expect("it is told");
        let rest = said.strip_prefix(front).unwrap_or_else(|| panic!("{said}"));
        assert!(is_switched(&nodes, rest, leader, &others), "{said}");
    }
    assert_eq!(idle.ask(&["UNSUBSCRIBE"]).expect("an answer"), "unsubscribe\n+sdown\n:0\n");
    assert_eq!(idle.ask(&["PING"]).expect("an answer"), "+PONG");
    nodes.until("another node is named", || {
        let said = named(&mut idle);
        others.iter().any(|node| said.contains(&nodes.main_port(*node).to_string())).then_some(())
    });
    // A client of the leader is told when leadership is handed over.
    nodes.start_again(leader);
    nodes.wait_for_all();
    let at = nodes.leader();
    let mut own = open(&nodes, at);
    own.ask(&["HELLO", "3"]).expect("an answer");
    own.ask(&["SUBSCRIBE", "+switch-master"]).expect("an answer");
    let named = named(&mut own);
    let leads = |node: &usize| named.contains(&nodes.main_port(*node).to_string());
    let (leader, others): (Vec<usize>, Vec<usize>) = (0..3).partition(leads);
    nodes.execute(&["SCUR.REPLICA", "TRANSFER", &nodes.id(others[0])]);
    let said = own.read().expect("it is told");
    let rest = said.strip_prefix("message\n").unwrap_or_else(|| panic!("{said}"));
    assert!(is_switched(&nodes, rest, leader[0], &others), "{said}");
}
