//! Transfers of the adversarial runs: TRANSFER, and the steps of a host in any order.

use super::{BUCKETS, Generator, session};
use crate::{Op, Pair, name};
use scurry_ledger::Code;

/// Receipts of payers that are not part of the run.
const RECEIPTS: &[&str] = &["transfer:1:p:t0", "transfer:1:p:t1", "transfer:2:p::t1"];
const REFUSALS: &[Code] = &[Code::UnknownAccount, Code::Invalid, Code::BucketExpired];

impl Generator {
    pub(super) fn transfer(&mut self, pair: &Pair) -> Op {
        let transfers = || {
            let open = pair.account.iter().flat_map(|account| &account.sessions);
            open.filter(|session| session.terms.transfer)
        };
        let open: Vec<String> = transfers()
            .map(|open| String::from_utf8_lossy(open.id.as_bytes()).into_owned())
            .collect();
        let id = match open.is_empty() || self.random.one_in(6) {
            true => self.random.pick(session::IDS).to_string(),
            false => open[self.random.below(open.len())].clone(),
        };
        let begins = if open.is_empty() { 0..7 } else { 0..2 };
        match self.random.below(14) {
            way if begins.contains(&way) => self.begin_transfer(id),
            2..6 => Op::Settle { id },
            6..9 => {
                let refusal = Some(self.random.pick(REFUSALS));
                Op::Conclude { id, refusal: refusal.filter(|_| self.random.one_in(2)) }
            }
            9..12 => Op::Receive {
                receipt: self.random.pick(RECEIPTS).to_string(),
                bucket: name(self.random.pick(BUCKETS)),
                unit: self.unit(),
                amount: self.random.between(1, 12),
            },
            _ => Op::Forget { receipt: self.random.pick(RECEIPTS).to_string() },
        }
    }

    fn begin_transfer(&mut self, id: String) -> Op {
        let payee = if self.random.one_in(30) { "a" } else { "b" };
        Op::Transfer {
            payer: "a".to_string(),
            id: if self.random.one_in(60) { "i".repeat(241) } else { id },
            unit: self.unit(),
            amount: self.amount(),
            payee: payee.to_string(),
            bucket: name(self.random.pick(BUCKETS)),
        }
    }
}
