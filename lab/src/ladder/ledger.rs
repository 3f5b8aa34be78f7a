//! The first rung: the rules alone, on one account that lies unpacked in memory.

use std::hint::black_box;

use anyhow::{Result, ensure};
use scurry_ledger::{
    Account, Answer, Code, Decision, Limits, Time, decide_in_place, view_in_place,
};

use super::meter::{Meter, Rung, TURN};
use super::session_loop::{LoopRequest, Population, SessionLoop};
use super::store::create;
use crate::scenario::{Charging, Operation};

/// Time passes by this much from session to session, ms, so that an account remembers four
/// closed sessions: about as many as those of a store of many accounts do.
const SESSION_MS: i64 = 60_000;

/// The rung.
#[derive(Debug)]
pub(super) struct LedgerRung {
    account: Option<Account>,
    limits: Limits,
    now: Time,
    sessions: SessionLoop,
    requests: Vec<LoopRequest>,
}

impl LedgerRung {
    pub(super) fn new(charging: &Charging, seed: u64) -> Result<LedgerRung> {
        let limits = Limits::default();
        let now = super::store::EPOCH;
        let mut account = None;
        create(charging, |command| {
            let decision = decide_in_place(&mut account, command, now, &limits);
            ensure!(matches!(decision, Decision::Commit(..)), "CREATE is refused: {decision:?}");
            Ok(())
        })?;
        let population = Population { accounts: 1, sessions: 1, seed };
        let sessions = SessionLoop::new(charging, population)?;
        Ok(LedgerRung { account, limits, now, sessions, requests: Vec::with_capacity(TURN) })
    }
}

impl Rung for LedgerRung {
    fn name(&self) -> &'static str {
        "ledger"
    }

    fn turn(&mut self, meter: &mut Meter) -> Result<()> {
        self.requests.clear();
        self.requests.extend((0..TURN).map(|_| self.sessions.next()));
        let LedgerRung { account, limits, now, requests, .. } = self;
        let wrong = meter.time(|| {
            let mut wrong = 0u64;
            for request in requests.iter() {
                match request.command() {
                    Some(command) => {
                        let decision = decide_in_place(account, &command, *now, limits);
                        wrong += u64::from(!is_granted(&decision, request.granted()));
                    }
                    None => {
                        view_in_place(account, *now, limits);
                        wrong += u64::from(!is_there(account.as_ref(), request));
                    }
                }
                if request.last {
                    now.0 += SESSION_MS;
                }
            }
            wrong
        });
        ensure!(wrong == 0, "{wrong} of {TURN} answers were not OK with the full grant");
        Ok(())
    }

    fn audit(&self) -> Result<()> {
        let buckets = self.account.iter().flat_map(|account| &account.buckets);
        let found: i128 = buckets.map(|bucket| i128::from(bucket.consumed)).sum();
        let expected = self.sessions.consumed();
        ensure!(found == expected, "the account consumed {found}, but {expected} was used");
        Ok(())
    }
}

fn is_granted(decision: &Decision, granted: i64) -> bool {
    match decision {
        Decision::Commit(_, answer) => answers(answer, granted),
        _ => false,
    }
}

/// OK, with the full grant of the one item.
#[inline]
pub(super) fn answers(answer: &Answer, granted: i64) -> bool {
    match answer {
        Answer::Session { code: Code::Ok, items, .. } => {
            matches!(items.as_slice(), [item] if item.code == Code::Ok && item.granted == granted)
        }
        _ => false,
    }
}

/// The account can be read, and the session too where it is asked for.
#[inline]
pub(super) fn is_there(account: Option<&Account>, request: &LoopRequest) -> bool {
    match (black_box(account), request.step.operation) {
        (Some(account), Operation::Session) => {
            black_box(account.session(&request.session)).is_some()
        }
        (found, _) => found.is_some(),
    }
}
