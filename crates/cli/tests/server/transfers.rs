//! SCUR.TRANSFER from a client's view: between threads, and over kills of the server.

use crate::store::{Directory, kill};
use crate::support::{Client, Server};

/// Accounts of the test; with two threads they are spread over both.
const ACCOUNTS: [&str; 6] = ["ann", "ben", "cleo", "dan", "eve", "fred"];
/// Most looks at a transfer that is under way, one after the other.
const TRIES_MAX: usize = 1_000_000;
/// First credit of each account.
const CREDIT: i64 = 1_000;

fn create(client: &mut Client) {
    for account in ACCOUNTS {
        client.ask(
            &format!("SCUR.CREATE {account} BUCKET main cent {CREDIT}"),
            "*2\r\n+OK\r\n:1\r\n",
        );
    }
}

/// Returns the payer, the payee and the amount of a transfer by its number.
fn parties(number: usize) -> (&'static str, &'static str, usize) {
    let (payer, step) = (number % ACCOUNTS.len(), 1 + number / 7 % (ACCOUNTS.len() - 1));
    (ACCOUNTS[payer], ACCOUNTS[(payer + step) % ACCOUNTS.len()], 1 + number % 3)
}

fn command(number: usize) -> String {
    let (payer, payee, amount) = parties(number);
    format!("SCUR.TRANSFER {payer} t{number} cent {amount} {payee} main\r\n")
}

/// Reads the answer to a TRANSFER, and returns its last line.
fn state(client: &mut Client) -> String {
    let lines: Vec<String> = (0..5).map(|_| client.line()).collect();
    assert_eq!((lines[0].as_str(), lines[1].as_str()), ("*4", "+OK"), "{lines:?}");
    lines[4].clone()
}

/// Returns the units that an account of one bucket has available and held.
fn balance(client: &mut Client, account: &str) -> (i64, i64) {
    client.send(format!("SCUR.HOLDS {account}\r\n"));
    let mut lines = Vec::new();
    while lines.last().is_none_or(|line| line != "next") {
        lines.push(client.line());
    }
    assert_eq!(client.line(), "$-1", "no other page");
    let number = |line: &String| line.strip_prefix(':')?.parse().ok();
    let numbers: Vec<i64> = lines.iter().filter_map(number).collect();
    let [_version, available, held, ..] = numbers[..] else { panic!("{lines:?}") };
    (available, held)
}

/// Waits until every transfer up to this number has arrived, and compares each balance with what it should be.
fn all_have_arrived(client: &mut Client, count: usize) {
    let mut tries = 0;
    let mut expected = ACCOUNTS.map(|_| CREDIT);
    let place = |name| ACCOUNTS.iter().position(|account| *account == name).expect("one of them");
    for number in 0..count {
        let (payer, payee, amount) = parties(number);
        let amount = i64::try_from(amount).expect("it is small");
        expected[place(payer)] -= amount;
        expected[place(payee)] += amount;
        loop {
            client.send(command(number));
            if state(client) == "+arrived" {
                break;
            }
            tries += 1;
            assert!(tries < TRIES_MAX, "{number} has not arrived");
        }
    }
    let balances = ACCOUNTS.map(|account| balance(client, account));
    assert_eq!(balances, expected.map(|amount| (amount, 0)));
}

#[test]
fn transfers_between_threads_arrive_once() {
    let server = Server::start(&["--threads", "2"]);
    let mut client = server.connect();
    create(&mut client);
    for number in 0..300 {
        client.send(command(number));
    }
    for _ in 0..300 {
        assert_eq!(state(&mut client), "+in_transit");
    }
    all_have_arrived(&mut client, 300);
}

#[test]
fn transfers_arrive_once_however_often_the_server_is_killed() {
    let directory = Directory::make();
    let mut server = directory.serve("fsync", "2");
    create(&mut server.connect());
    let mut count = 0;
    for round in 0..6 {
        let mut client = server.connect();
        for number in count..count + 40 {
            client.send(command(number));
        }
        // The server is killed with some steps done and others not; the last answers are lost.
        for _ in 0..10 + 5 * round {
            assert_eq!(state(&mut client), "+in_transit");
        }
        count += 40;
        drop(client);
        kill(server);
        server = directory.serve("fsync", "2");
    }
    let mut client = server.connect();
    all_have_arrived(&mut client, count);
}

#[test]
fn a_transfer_to_nobody_comes_back_from_another_thread() {
    let server = Server::start(&["--threads", "2"]);
    let mut client = server.connect();
    create(&mut client);
    for payee in ["nobody", "no-one"] {
        let command = format!("SCUR.TRANSFER ann to-{payee} cent 30 {payee} main\r\n");
        client.send(&command);
        assert_eq!(state(&mut client), "+in_transit");
        for tries in 0.. {
            client.send(&command);
            let first = client.line();
            if first.starts_with("-UNKNOWN_ACCOUNT 20 the payee refused the transfer") {
                break;
            }
            (0..4).for_each(|_| drop(client.line()));
            assert!(tries < TRIES_MAX, "{first:?}");
        }
    }
    assert_eq!(balance(&mut client, "ann"), (CREDIT, 0));
}

#[test]
fn transfers_of_deleted_accounts_credit_no_account_of_the_same_name() {
    let server = Server::start(&["--threads", "2"]);
    let (mut payer, mut eraser) = (server.connect(), server.connect());
    create(&mut payer);
    for round in 0..200 {
        let (payee, ids) = (ACCOUNTS[1 + round % 5], 0..20);
        let transfers = ids.map(|id| format!("SCUR.TRANSFER ann t{id} cent 1 {payee} main\r\n"));
        payer.send(transfers.collect::<String>());
        let creates =
            ACCOUNTS.map(|account| format!("SCUR.CREATE {account} BUCKET main cent {CREDIT}\r\n"));
        eraser.send(format!("FLUSHALL FORCE\r\n{}", creates.concat()));
        assert_eq!(eraser.line(), "+OK");
        for _ in ACCOUNTS {
            assert_eq!([(); 3].map(|()| eraser.line()), ["*2", "+OK", ":1"]);
        }
        for _ in 0..20 {
            // Between the deletion and the creation there is no account.
            if payer.line() == "*4" {
                (0..4).for_each(|_| drop(payer.line()));
            }
        }
        let mut tries = 0;
        let all = loop {
            let balances = [ACCOUNTS[0], payee].map(|account| balance(&mut payer, account));
            if balances.iter().all(|(_, held)| *held == 0) {
                break balances.iter().map(|(available, _)| available).sum::<i64>();
            }
            tries += 1;
            assert!(tries < TRIES_MAX, "they are in transit: {balances:?}");
        };
        assert_eq!(all, 2 * CREDIT, "round {round}");
    }
}
