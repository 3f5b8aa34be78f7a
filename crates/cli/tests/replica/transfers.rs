//! SCUR.TRANSFER in a group: every transfer arrives once, however often its leader is killed or hands over.

use crate::nodes::{Client, Nodes};
use nix::sys::signal::Signal;

/// Accounts of the test; with two threads they are spread over both.
const ACCOUNTS: [&str; 6] = ["ann", "ben", "cleo", "dan", "eve", "fred"];
/// First credit of each account.
const CREDIT: i64 = 1_000;
/// Transfers that are sent before each change of the leader.
const TRANSFERS: usize = 40;

/// Returns the places of the payer and of the payee, and the amount of a transfer by its number.
fn parties(number: usize) -> (usize, usize, usize) {
    let (payer, step) = (number % ACCOUNTS.len(), 1 + number / 7 % (ACCOUNTS.len() - 1));
    (payer, (payer + step) % ACCOUNTS.len(), 1 + number % 3)
}

fn words(number: usize) -> [String; 7] {
    let (payer, payee, amount) = parties(number);
    let (payer, payee) = (ACCOUNTS[payer], ACCOUNTS[payee]);
    let (id, amount) = (format!("t{number}"), amount.to_string());
    ["SCUR.TRANSFER", payer, &id, "cent", &amount, payee, "main"].map(str::to_owned)
}

/// Sends a transfer to the leader, if there is one, without waiting for its answer.
fn send(client: &mut Client, number: usize) {
    let words = words(number);
    client.send(&words.each_ref().map(String::as_str));
}

/// Waits until a transfer has arrived.
fn arrives(nodes: &Nodes, number: usize) {
    let words = words(number);
    let words = words.each_ref().map(String::as_str);
    nodes.until("a transfer arrives", || {
        nodes.try_execute(&words).filter(|reply| reply.ends_with("+arrived"))
    });
}

/// Returns what each account should have after this many transfers.
fn expected(count: usize) -> [i64; 6] {
    let mut balances = [CREDIT; 6];
    for number in 0..count {
        let (payer, payee, amount) = parties(number);
        let amount = i64::try_from(amount).expect("it is small");
        balances[payer] -= amount;
        balances[payee] += amount;
    }
    balances
}

#[test]
fn transfers_arrive_once_however_often_the_leader_changes() {
    let mut nodes = Nodes::start(3, 2);
    for account in ACCOUNTS {
        nodes.execute(&["SCUR.CREATE", account, "BUCKET", "main", "cent", &CREDIT.to_string()]);
    }
    let mut count = 0;
    for round in 0..4 {
        let leader = nodes.leader();
        let mut client = Client::connect(nodes.main_port(leader)).expect("it listens");
        for number in count..count + TRANSFERS {
            send(&mut client, number);
        }
        // The leader goes with some steps done and others not; the other answers are lost.
        for _ in 0..5 + 10 * round {
            client.read().expect("an answer");
        }
        count += TRANSFERS;
        if round % 2 == 0 {
            nodes.signal(leader, Signal::SIGKILL);
            nodes.start_again(leader);
        } else {
            let next = nodes.id((leader + 1) % nodes.count());
            nodes.try_execute(&["SCUR.REPLICA", "TRANSFER", &next]);
        }
        nodes.wait_for_all();
    }
    (0..count).for_each(|number| arrives(&nodes, number));
    for (account, balance) in ACCOUNTS.iter().zip(expected(count)) {
        let holds = nodes.execute(&["SCUR.HOLDS", account]);
        assert!(holds.contains(&format!("\nmain\ncent\n:{balance}\n:0\n")), "{account}: {holds}");
    }
}
