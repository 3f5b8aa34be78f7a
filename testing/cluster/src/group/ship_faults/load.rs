//! A client that charges: sessions, debits, refunds, denials, identities, and accounts that are created and deleted. Each
//! request has an id and is repeated until it is answered; the answers are checked elsewhere.

use crate::group::client::{FailoverConnection, Sent};
use crate::route::TRY_EVERY;
use anyhow::{Result, ensure};
use scurry_conformance::Value;
use scurry_crash::wire::words;
use scurry_crash::{clock, views};
use scurry_model::Random;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Accounts of a client.
const ACCOUNTS: usize = 8;
/// Pause between two requests.
const PACE: Duration = Duration::from_millis(15);
/// Longest time without an answer, ns.
const SILENCE_NS: i64 = 120_000_000_000;
const TOO_MUCH: i64 = 1 << 60;

/// What the run tells its clients, and they tell the run.
#[derive(Debug, Default)]
pub(super) struct Control {
    pub(super) is_over: AtomicBool,
    pub(super) has_failed: AtomicBool,
    pub(super) answers: AtomicU64,
    pub(super) refusals: AtomicU64,
}

/// A client.
pub(super) struct Load<'c> {
    number: usize,
    connection: FailoverConnection,
    random: Random,
    control: &'c Control,
    /// Number of the next session or transaction.
    next: u64,
}

impl<'c> Load<'c> {
    pub(super) fn new(
        number: usize,
        connection: FailoverConnection,
        random: Random,
        control: &'c Control,
    ) -> Load<'c> {
        Load { number, connection, random, control, next: 0 }
    }

    /// Sends requests until the load is over.
    pub(super) fn run(mut self) -> Result<()> {
        let outcome = self.all();
        if outcome.is_err() {
            self.control.has_failed.store(true, Ordering::Relaxed);
        }
        outcome
    }

    fn all(&mut self) -> Result<()> {
        for at in 0..ACCOUNTS {
            let account = self.account(at);
            self.send(&format!(
                "SCUR.CREATE {account} TXN create IDENTITY msisdn {account} BUCKET promo cent 5000 PRIORITY 1 \
                 BUCKET main cent 100000000000 PRIORITY 2 BUCKET data octet 100000000000"
            ))?;
        }
        while !self.control.is_over.load(Ordering::Relaxed) {
            let at = self.random.below(ACCOUNTS);
            let account = self.account(at);
            self.next += 1;
            let number = self.next;
            match self.random.below(10) {
                0..4 => self.session(&account, number)?,
                4 => self.forgotten(&account, number)?,
                5 => {
                    self.send(&format!("SCUR.DEBIT {account} d{number} cent 30"))?;
                    self.send(&format!("SCUR.REFUND {account} f{number} d{number} 10"))?;
                }
                6 => {
                    self.send(&format!("SCUR.TOPUP {account} t{number} promo 500"))?;
                    self.send(&format!("SCUR.ADJUST {account} v{number} main -7"))?;
                    self.send(&format!("SCUR.COUNTER {account} c{number} calls 1"))?;
                }
                7 => {
                    self.send(&format!("SCUR.DEBIT {account} x{number} cent {TOO_MUCH}"))?;
                    self.send(&format!("SCUR.RESERVE {account} x{number} 0 TCC 2s KEEPOPEN ITEM 1 cent REQUESTED {TOO_MUCH} MIN {TOO_MUCH}"))?;
                    self.send(&format!("SCUR.RELEASE {account} x{number}"))?;
                }
                8 => {
                    self.send(&format!(
                        "SCUR.STATUS {account} active TXN i{number} IDENTITY imsi {}-{number}",
                        self.number
                    ))?;
                }
                _ => self.short_lived(number)?,
            }
        }
        Ok(())
    }

    fn account(&self, at: usize) -> String {
        format!("a{}-{at}", self.number)
    }

    fn session(&mut self, account: &str, number: u64) -> Result<()> {
        self.send(&format!("SCUR.RESERVE {account} s{number} 0 TCC 3s DATA d{number} ITEM 1 cent REQUESTED 90 ITEM 2 octet REQUESTED 7000"))?;
        let updates = self.random.between(0, 3);
        for request in 1..=updates {
            let used = self.random.between(1, 120);
            self.send(&format!("SCUR.UPDATE {account} s{number} {request} ITEM 1 cent USED {used} REQUESTED 90 ITEM 2 octet USED 5000 REQUESTED 7000"))?;
        }
        self.send(&format!(
            "SCUR.TERMINATE {account} s{number} {} ITEM 1 cent USED 15 ITEM 2 octet USED 100",
            updates + 1
        ))?;
        if self.random.one_in(4) {
            let request = updates + 2;
            self.send(&format!(
                "SCUR.UPDATE {account} s{number} {request} LATEUSE ITEM 1 cent USED 3"
            ))?;
        }
        Ok(())
    }

    /// Begins a session that ends by its time.
    fn forgotten(&mut self, account: &str, number: u64) -> Result<()> {
        let tcc = self.random.between(1, 1_500);
        self.send(&format!(
            "SCUR.RESERVE {account} s{number} 0 TCC {tcc}ms ITEM 1 cent REQUESTED 40"
        ))?;
        if self.random.one_in(2) {
            self.send(&format!(
                "SCUR.UPDATE {account} s{number} 1 ITEM 1 cent USED 20 REQUESTED 40"
            ))?;
        }
        Ok(())
    }

    /// Creates an account, uses it, and deletes it.
    fn short_lived(&mut self, number: u64) -> Result<()> {
        let account = format!("b{}-{number}", self.number);
        self.send(&format!("SCUR.CREATE {account} TXN create BUCKET main cent 100"))?;
        self.send(&format!("SCUR.DEBIT {account} d cent 20"))?;
        self.send(&format!("SCUR.RESERVE {account} s 0 TCC 3s ITEM 1 cent REQUESTED 50"))?;
        self.send(&format!("SCUR.TERMINATE {account} s 1 ITEM 1 cent USED 30"))?;
        let shown = self.send(&format!("SCUR.GET {account}"))?;
        let view = views::account_of(&shown)?;
        for bucket in &view.buckets {
            self.send(&format!("SCUR.ADJUST {account} rest main -{}", bucket.available))?;
        }
        self.send(&format!("SCUR.STATUS {account} closed TXN close"))?;
        // A third of them stays.
        if !self.random.one_in(3) {
            self.send(&format!("SCUR.DELETE {account} FORCE"))?;
        }
        Ok(())
    }

    /// Sends a request until it is answered.
    fn send(&mut self, line: &str) -> Result<Value> {
        let request = words(line);
        let begin = clock::ns();
        loop {
            if let Sent::Clear(reply) = self.connection.send(&request) {
                self.control.answers.fetch_add(1, Ordering::Relaxed);
                if matches!(reply, Value::Error(_)) {
                    self.control.refusals.fetch_add(1, Ordering::Relaxed);
                }
                std::thread::sleep(PACE); // tidy: allow (a load is paced)
                return Ok(reply);
            }
            ensure!(clock::ns() - begin < SILENCE_NS, "no answer for two minutes: {line}");
            ensure!(!self.control.has_failed.load(Ordering::Relaxed), "given up");
            std::thread::sleep(TRY_EVERY); // tidy: allow (a group says nothing when it is ready again)
        }
    }
}
