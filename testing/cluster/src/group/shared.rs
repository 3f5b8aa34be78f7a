//! Clients of shared keys. Their requests and answers go into a history, which porcupine checks for linearizability.

use super::client::{FailoverConnection, Sent};
use crate::route::{ClientCounts, Signals, TRY_EVERY};
use anyhow::Result;
use scurry_crash::Shared;
use scurry_model::Random;
use std::time::Duration;

/// Pause between two requests of a client, to bound the histories.
const PACE: Duration = Duration::from_millis(8);

/// A client of shared keys.
pub(crate) struct Sharing {
    number: usize,
    connection: FailoverConnection,
    random: Random,
    pub(crate) seen: ClientCounts,
}

impl Sharing {
    pub(crate) fn new(number: usize, connection: FailoverConnection, random: Random) -> Sharing {
        Sharing { number, connection, random, seen: ClientCounts::default() }
    }

    /// Sends requests until the load is over. Requests with an id are repeated until they are answered; others without
    /// an answer stay in doubt.
    pub(crate) fn load(&mut self, shared: &Shared, signals: &Signals) -> Result<()> {
        while !signals.is_over() {
            if signals.holds() {
                self.seen.rest();
                std::thread::sleep(PACE); // tidy: allow (the holder sends no signal when it releases them)
                continue;
            }
            let key = self.random.below(shared.len());
            let mut call = Some(shared.call(key, self.number, &mut self.random));
            while let Some((pending, words)) = call.take() {
                match self.connection.send(&words) {
                    Sent::Clear(reply) => {
                        self.seen.answered();
                        signals.answered();
                        shared.returned(pending, &reply)?;
                        continue;
                    }
                    // It was not executed, so it is not part of the history.
                    Sent::Refused => call = shared.repeat(&pending),
                    Sent::InDoubt => {
                        call = shared.repeat(&pending);
                        shared.in_doubt(pending);
                    }
                }
                signals.go_on()?;
                self.seen.resent += 1;
                std::thread::sleep(TRY_EVERY); // tidy: allow (a group says nothing when it is ready again)
            }
            std::thread::sleep(PACE); // tidy: allow (histories are bounded)
        }
        self.seen.rest();
        Ok(())
    }
}
