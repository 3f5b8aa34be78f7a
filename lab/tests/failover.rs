//! The scenario charging-failover against a store in this process that drops connections, and that may lose
//! acknowledged requests or execute duplicates twice: the row must report it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use scurry_lab::audit::Balance;
use scurry_lab::dialect::Dialect;
use scurry_lab::failover::{FailoverPlan, NodeEvent, run};
use scurry_lab::names::account_text;
use scurry_lab::resp::Value;
use scurry_lab::row::{Loss, Row, Run};
use scurry_lab::scenario::{CREDIT, Scenario};

/// Every seventh request meets a fault.
const FAULT_EVERY: u64 = 7;
const CLIENTS: u32 = 4;
const ACCOUNTS: u32 = 400;

/// Fault of the store, beside the connections that it drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// Acknowledges some requests and forgets them.
    Loses,
    /// Does not recognize duplicates.
    Doubles,
    /// Never has a second copy, and loses some requests.
    HasOneCopy,
}

#[derive(Debug, Default)]
struct Book {
    consumed: BTreeMap<String, i128>,
    done: BTreeSet<String>,
    requests: u64,
}

/// In-process store that executes every request at once and supports only the scenario's requests.
struct Store {
    address: SocketAddr,
    book: Arc<Mutex<Book>>,
}

impl Store {
    fn start(fault: Fault) -> Store {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let book = Arc::new(Mutex::new(Book::default()));
        let shared = Arc::clone(&book);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let book = Arc::clone(&shared);
                thread::spawn(move || serve(stream.unwrap(), address, fault, &book));
            }
        });
        Store { address, book }
    }
}

fn serve(mut stream: TcpStream, address: SocketAddr, fault: Fault, book: &Mutex<Book>) {
    let (mut received, mut chunk) = (Vec::new(), [0; 4_096]);
    loop {
        while let Ok((length, request)) = Value::read(&received) {
            received.drain(..length);
            let words: Vec<&str> = request.elements().iter().filter_map(Value::text).collect();
            let reply = match words[0] {
                "CLUSTER" => Some(format!(
                    "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:{}\r\n",
                    address.port()
                )),
                "WAIT" => Some(format!(":{}\r\n", i32::from(fault != Fault::HasOneCopy))),
                _ => book.lock().unwrap().execute(&words, fault),
            };
            let Some(reply) = reply else { return };
            if stream.write_all(reply.as_bytes()).is_err() {
                return;
            }
        }
        match stream.read(&mut chunk) {
            Ok(count) if count > 0 => received.extend_from_slice(&chunk[..count]),
            _ => return,
        }
    }
}

impl Book {
    /// Executes a request and returns the reply; None drops the connection instead.
    fn execute(&mut self, words: &[&str], fault: Fault) -> Option<String> {
        self.requests += 1;
        let has_fault = self.requests.is_multiple_of(FAULT_EVERY);
        if self.requests % FAULT_EVERY == 1 {
            return Some("-CLUSTERDOWN nobody leads: try again\r\n".to_owned());
        }
        let is_done = self.done.contains(&words.join(" ")) && fault != Fault::Doubles;
        let forgets = matches!(fault, Fault::Loses | Fault::HasOneCopy);
        let is_forgotten = has_fault && forgets;
        if !(is_done || is_forgotten) {
            self.done.insert(words.join(" "));
            let used = words.iter().position(|word| *word == "USED").map(|at| words[at + 1]);
            let debit = (words[0] == "SCUR.DEBIT").then(|| words[4]);
            let amount: i128 = used.or(debit).map_or(0, |amount| amount.parse().unwrap());
            *self.consumed.entry(words[1].to_owned()).or_default() += amount;
        }
        // The request was executed, but the client gets no answer.
        (!has_fault || forgets)
            .then(|| format!("*4\r\n+OK\r\n:{}\r\n:1\r\n*0\r\n", i32::from(is_done)))
    }
}

/// Scene without an event, so that only the store's own faults occur.
struct Still;

impl NodeEvent for Still {
    fn begin(&mut self) -> Result<()> {
        Ok(())
    }

    fn mend(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Charges the store, and returns the row of the run with its losses.
fn charged(fault: Fault) -> (Row, Loss, u64) {
    let store = Store::start(fault);
    let failover = Scenario::built_in("charging-failover").unwrap().failover.unwrap();
    let accounts: Vec<u32> = (0..ACCOUNTS).collect();
    let plan = FailoverPlan {
        failover: &failover,
        dialect: Dialect::Scur,
        doors: &[store.address],
        accounts: &accounts,
        copies: failover.copies,
        clients: CLIENTS,
        rate: 1_000.0,
        begin_at: Duration::from_millis(200),
        length: Duration::from_millis(400),
        interrupted: &AtomicBool::new(false),
    };
    let outcome = run(&plan, &mut Still).unwrap();
    assert!(outcome.answers.len() >= 400, "{}", outcome.answers.len());
    let book = store.book.lock().unwrap();
    let (loss, audit) = outcome.judge(|account| {
        let name = account_text(account).escape_ascii().to_string();
        let consumed = book.consumed.get(&name).copied().unwrap_or(0);
        Balance::settled(CREDIT.into(), consumed)
    });
    let audit = audit.map_or_else(|error| format!("failed audit: {error}"), |()| "ok".to_owned());
    let run = Run { run: 1, audit, loss: Some(loss), ..Run::default() };
    let mut row = Row { runs: vec![run], ..Row::default() };
    row.conclude();
    (row, loss, outcome.not_enough)
}

#[test]
fn what_is_sent_again_until_it_is_answered_is_done_once() {
    let (row, loss, not_enough) = charged(Fault::None);
    assert_eq!((loss.lost, loss.done_twice, not_enough), (0, 0, 0), "{}", row.runs[0].audit);
    assert_eq!(row.audit, "ok");
    // Requests with a lost answer came back as replays, the others as new.
    assert!(loss.replayed > 0 && loss.resent > loss.replayed, "{loss:?}");
}

#[test]
fn a_store_that_loses_what_it_acknowledged_has_a_row_that_says_so() {
    let (row, ..) = charged(Fault::Loses);
    let losses = row.losses.unwrap();
    assert!(losses.lost > 0 && losses.done_twice == 0, "{losses:?}");
    assert!(row.audit.contains("was acknowledged and is lost"), "{}", row.audit);
}

#[test]
fn a_store_that_does_twice_what_comes_twice_has_a_row_that_says_so() {
    let (row, ..) = charged(Fault::Doubles);
    let losses = row.losses.unwrap();
    assert!(losses.lost == 0 && losses.done_twice > 0, "{losses:?}");
    assert!(row.audit.contains("was done 2 times"), "{}", row.audit);
}

#[test]
fn an_answer_on_too_few_copies_is_no_acknowledgement() {
    let (row, loss, not_enough) = charged(Fault::HasOneCopy);
    assert_eq!((loss.lost, row.audit.as_str()), (0, "ok"), "what is lost was never acknowledged");
    assert!(not_enough >= 400, "{not_enough}");
}

#[test]
fn accounts_that_do_not_last_are_refused_before_the_load() {
    let failover = Scenario::built_in("charging-failover").unwrap().failover.unwrap();
    let accounts = |count: u32| (0..count).collect::<Vec<u32>>();
    // 600 requests need 100 accounts, and each client may begin one more.
    for (count, fits) in [(104, true), (103, false)] {
        let plan = FailoverPlan {
            failover: &failover,
            dialect: Dialect::Scur,
            doors: &[],
            accounts: &accounts(count),
            copies: 1,
            clients: 4,
            rate: 100.0,
            begin_at: Duration::from_secs(3),
            length: Duration::from_secs(6),
            interrupted: &AtomicBool::new(false),
        };
        let said = plan.check().err().map(|error| error.to_string());
        assert_eq!(said.is_none(), fits, "{count}: {said:?}");
        assert!(fits || said.unwrap().contains("use more --accounts"));
    }
}

#[test]
fn a_run_that_is_interrupted_ends() {
    let interrupted = AtomicBool::new(false);
    interrupted.store(true, Ordering::Relaxed);
    let failover = Scenario::built_in("charging-failover").unwrap().failover.unwrap();
    let store = Store::start(Fault::None);
    let plan = FailoverPlan {
        failover: &failover,
        dialect: Dialect::Scur,
        doors: &[store.address],
        accounts: &[1, 2, 3, 4],
        copies: 1,
        clients: 1,
        rate: 1.0,
        begin_at: Duration::from_secs(3_600),
        length: Duration::from_secs(7_200),
        interrupted: &interrupted,
    };
    assert_eq!(run(&plan, &mut Still).unwrap_err().to_string(), "interrupted");
}
