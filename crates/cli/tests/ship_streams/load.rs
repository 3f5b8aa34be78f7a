//! A load: credits and debits on a few accounts, as fast as the store takes them from one connection.

use crate::store::Store;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

const ACCOUNTS: u64 = 20;
/// Commands that are sent together.
const BATCH: u64 = 50;

/// A thread that loads a store with as many debits as it is told to.
pub(crate) struct Load {
    batches: Option<Sender<u64>>,
    thread: Option<JoinHandle<u64>>,
}

impl Load {
    pub(crate) fn start(store: &Store) -> Load {
        let (batches, told) = channel();
        let mut connection = store.connect();
        let thread = thread::spawn(move || {
            for account in 0..ACCOUNTS {
                let mut command = redis::cmd("SCUR.CREATE");
                command
                    .arg(format!("a{account}"))
                    .arg("BUCKET")
                    .arg("main")
                    .arg("cent")
                    .arg(1_000_000_000);
                command.exec(&mut connection).expect("an account");
            }
            let mut count = 0;
            for batches in told {
                for _ in 0..batches {
                    let mut batch = redis::pipe();
                    for transaction in count..count + BATCH {
                        let account = format!("a{}", transaction % ACCOUNTS);
                        batch.cmd("SCUR.DEBIT").arg(account).arg(transaction).arg("cent").arg(1);
                    }
                    batch.exec(&mut connection).expect("debits");
                    count += BATCH;
                }
            }
            count
        });
        Load { batches: Some(batches), thread: Some(thread) }
    }

    /// Makes 600 more debits, and returns at once.
    pub(crate) fn go_on(&self) {
        let batches = self.batches.as_ref().expect("it has not ended");
        batches.send(600 / BATCH).expect("it has no fault");
    }

    /// Waits until all debits are made, and returns their number.
    pub(crate) fn end(&mut self) -> u64 {
        self.batches = None;
        self.thread.take().expect("it has not ended").join().expect("it has no fault")
    }
}
