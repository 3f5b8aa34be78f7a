//! The commands of chains in the adversarial runs.

use super::Generator;
use crate::{Op, Pair};

impl Generator {
    /// Returns a command of a chain on this account, and the time. Rarely the command is not allowed in chains.
    pub fn link(&mut self, pair: &Pair) -> (i64, Op) {
        if self.close {
            self.ends = super::ends(pair);
        }
        let at = self.time(pair);
        let idle = pair.account.iter().all(|account| account.sessions.is_empty());
        let op = match self.random.below(100) {
            0..6 if !self.history.is_empty() => self.duplicate(),
            6..60 if idle => self.reserve(pair),
            0..20 => self.reserve(pair),
            20..46 => self.update(pair),
            46..60 => self.terminate(pair),
            60..72 => self.topup(pair),
            72..88 => self.debit(pair),
            88..98 => self.refund(pair),
            _ => self.op(pair),
        };
        self.history.push(op.clone());
        (at, op)
    }
}
