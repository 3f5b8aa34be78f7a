//! Compares the acknowledged requests with the store after everything has settled.

use anyhow::{Result, bail};

use super::round::{Round, STEPS, times_done};
use crate::audit::Balance;
use crate::names::account_text;

/// Error codes which show that an earlier, acknowledged request is missing.
const GONE: &[&str] = &["UNKNOWN_SESSION", "UNKNOWN_ACCOUNT", "UNKNOWN_TRANSACTION"];

/// Numbers of requests with an effect that differs from the acknowledgement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FailoverVerdict {
    /// Acknowledged requests that are missing.
    pub(super) lost: u64,
    /// Requests executed more than once, acknowledged or not.
    pub(super) done_twice: u64,
    /// Accounts with another fault.
    pub(super) other: u64,
    /// Description of the first fault.
    pub(super) first: Option<String>,
}

impl FailoverVerdict {
    /// Compares the accounts with their balances, given in the same order.
    pub(super) fn of<'a>(rounds: impl Iterator<Item = (&'a Round, Balance)>) -> FailoverVerdict {
        let mut verdict = FailoverVerdict::default();
        rounds.for_each(|(round, balance)| verdict.compare(round, &balance));
        verdict
    }

    fn compare(&mut self, round: &Round, balance: &Balance) {
        let name = account_text(round.account).escape_ascii().to_string();
        let mut is_told = false;
        // A refusal because something does not exist means that an earlier, acknowledged request is lost.
        if let Some((step, error)) = &round.refused {
            let step = STEPS[*step].name();
            let is_gone = GONE.iter().any(|code| error.split(' ').next() == Some(code));
            let count = if is_gone { &mut self.lost } else { &mut self.other };
            *count += 1;
            is_told = true;
            self.tell(format!("{step} of {name} was refused: {error}"));
        }
        let Some(times) = times_done(balance.consumed) else {
            self.other += 1;
            return self.tell(format!(
                "{name} has consumed {}, which no number of its requests explains",
                balance.consumed
            ));
        };
        // RESERVE consumes nothing: the request after it shows whether the session exists.
        for (step, times) in times.into_iter().enumerate().skip(1) {
            let step_name = STEPS[step].name();
            if round.acknowledged[step] && times == 0 {
                self.lost += 1;
                is_told = true;
                self.tell(format!("{step_name} ({step}) of {name} was acknowledged and is lost"));
            }
            if times > 1 {
                self.done_twice += 1;
                is_told = true;
                self.tell(format!("{step_name} ({step}) of {name} was done {times} times"));
            }
        }
        // A hold left by a lost TERMINATE was already counted above.
        if balance.held != 0 && !is_told {
            self.other += 1;
            self.tell(format!("{name} holds {} when all its sessions have ended", balance.held));
        }
    }

    fn tell(&mut self, words: String) {
        self.first.get_or_insert(words);
    }

    /// Returns an error that describes the faults, if there are any.
    pub(super) fn check(&self) -> Result<()> {
        let Some(first) = &self.first else { return Ok(()) };
        bail!(
            "{} acknowledged requests are lost, {} were done twice, {} accounts have another fault; \
             first: {first}",
            self.lost,
            self.done_twice,
            self.other
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Consumption when every request was executed once.
    const ONCE: i128 = 1 + 4 + 16 + 64 + 256;

    fn found(acknowledged: [bool; 6], consumed: i128, held: i128) -> FailoverVerdict {
        let round = Round { acknowledged, ..Round::new(3) };
        let balance = Balance { held, ..Balance::settled(10_000, consumed) };
        FailoverVerdict::of([(&round, balance)].into_iter())
    }

    #[test]
    fn what_is_there_once_is_right() {
        assert!(found([true; 6], ONCE, 0).check().is_ok());
        // A request that was not acknowledged may or may not have been executed.
        let mut all = [true; 6];
        all[5] = false;
        assert!(found(all, ONCE, 0).check().is_ok());
        assert!(found(all, ONCE - 256, 0).check().is_ok());
    }

    #[test]
    fn a_lost_request_is_counted() {
        for (step, amount) in [(1, 1), (2, 4), (5, 256)] {
            let verdict = found([true; 6], ONCE - amount, 0);
            assert_eq!((verdict.lost, verdict.done_twice, verdict.other), (1, 0, 0), "{step}");
            let first = verdict.first.unwrap();
            assert!(
                first.contains(&format!("({step}) of acc:0000003 was acknowledged")),
                "{first}"
            );
        }
        // A session that lost its end still has its hold, which counts as one fault.
        let verdict = found([true; 6], ONCE - 256, 300);
        assert_eq!((verdict.lost, verdict.other), (1, 0));
        assert_eq!(found([true; 6], 0, 0).lost, 5);
    }

    #[test]
    fn a_request_that_was_done_twice_is_counted_acknowledged_or_not() {
        for acknowledged in [[true; 6], [false; 6]] {
            let verdict = found(acknowledged, ONCE + 64, 0);
            assert_eq!((verdict.lost, verdict.done_twice, verdict.other), (0, 1, 0));
        }
        // A lost and a repeated request of one account do not cancel out.
        let verdict = found([true; 6], ONCE - 64 + 4 + 1, 0);
        assert_eq!((verdict.lost, verdict.done_twice), (1, 2));
        let words = verdict.check().unwrap_err().to_string();
        assert!(
            words.starts_with("1 acknowledged requests are lost, 2 were done twice"),
            "{words}"
        );
    }

    #[test]
    fn what_no_request_explains_is_a_fault() {
        assert_eq!(found([true; 6], ONCE + 1_024, 0).other, 1);
        assert_eq!(found([true; 6], -1, 0).other, 1);
        assert_eq!(found([true; 6], ONCE, 300).other, 1);
    }

    #[test]
    fn a_session_that_is_unknown_behind_its_reserve_is_lost() {
        let refused = |error: &str| {
            let acknowledged = [true, false, false, false, false, false];
            let refused = Some((1, error.to_owned()));
            let round = Round { account: 3, acknowledged, refused };
            FailoverVerdict::of([(&round, Balance::settled(10_000, 0))].into_iter())
        };
        let verdict = refused("UNKNOWN_SESSION no such session");
        assert_eq!((verdict.lost, verdict.other), (1, 0));
        let verdict = refused("REQUEST_MISMATCH another body");
        assert_eq!((verdict.lost, verdict.other), (0, 1));
    }
}
