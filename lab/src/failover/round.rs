//! The requests of one account and their amounts. Each request consumes a different power of four, so the consumption
//! of the account tells how many times each request was executed.

use scurry_ledger::Command;
use scurry_service::Request;

use crate::dialect::Dialect;
use crate::names::{account_text, session_text};
use crate::requests::SessionAt;
use crate::resp::encode;
#[cfg(test)]
use crate::scenario::CREDIT;
use crate::scenario::Failover;

/// Units that RESERVE and UPDATE request: no request uses more.
const REQUESTED: i64 = 300;
/// Base of the amounts: it distinguishes up to three executions of a request.
const BASE: i64 = 4;

/// Kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// RESERVE, which consumes nothing.
    Reserve,
    /// UPDATE with this request number.
    Update(u32),
    /// DEBIT with a transaction id of this number.
    Debit(u32),
    /// TERMINATE with this request number.
    Terminate(u32),
}

/// Requests of an account, in order.
pub const STEPS: [Step; 6] = [
    Step::Reserve,
    Step::Update(1),
    Step::Debit(1),
    Step::Update(2),
    Step::Debit(2),
    Step::Terminate(3),
];

impl Step {
    /// Returns the name for rows and errors.
    pub fn name(self) -> &'static str {
        match self {
            Step::Reserve => "RESERVE",
            Step::Update(_) => "UPDATE",
            Step::Debit(_) => "DEBIT",
            Step::Terminate(_) => "TERMINATE",
        }
    }
}

/// Returns the amount that this step consumes.
fn amount(step: usize) -> i64 {
    match step.checked_sub(1) {
        Some(power) => BASE.pow(u32::try_from(power).unwrap_or(0)),
        None => 0,
    }
}

/// Derives from the consumption how many times each step was executed. Returns None when no combination explains it.
pub(super) fn times_done(consumed: i128) -> Option<[u8; STEPS.len()]> {
    let mut times = [0; STEPS.len()];
    let mut rest = consumed;
    for times in &mut times[1..] {
        *times = u8::try_from(rest.rem_euclid(BASE.into())).ok()?;
        rest = rest.div_euclid(BASE.into());
    }
    (rest == 0).then_some(times)
}

/// One account and the outcome of its requests.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// Account number.
    pub account: u32,
    /// Requests acknowledged on the required number of copies.
    pub acknowledged: [bool; STEPS.len()],
    /// Request that was refused, and the server's text; nothing is sent after it.
    pub refused: Option<(usize, String)>,
}

impl Round {
    /// Starts a round in which nothing was sent yet.
    pub fn new(account: u32) -> Round {
        Round { account, ..Round::default() }
    }

    /// Encodes a request of this account; the same bytes every time.
    pub fn request(&self, plan: &Failover, dialect: Dialect, step: usize) -> Vec<u8> {
        let (account, session) = (account_text(self.account), session_text(0));
        let amount = amount(step);
        let at = |number| SessionAt {
            account: &account,
            session: &session,
            number,
            key: plan.item_key,
            unit: plan.unit,
        };
        let request = match STEPS[step] {
            Step::Reserve => at(0).reserve(REQUESTED),
            Step::Update(number) => at(number).update(amount, REQUESTED),
            Step::Terminate(number) => at(number).terminate(amount),
            Step::Debit(number) => {
                let txn = format!("txn-{number}");
                let debit = Command::Debit { txn: txn.as_bytes(), unit: plan.unit, amount };
                Request::write(&account, &debit)
            }
        };
        encode(&dialect.arguments(&request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::words;
    use crate::scenario::Scenario;

    #[test]
    fn requests_are_those_of_the_grammar_and_the_same_each_time() {
        let plan = Scenario::built_in("charging-failover").unwrap().failover.unwrap();
        let round = Round::new(7);
        let text = |step| {
            let request = round.request(&plan, Dialect::Scur, step);
            assert_eq!(request, round.request(&plan, Dialect::Scur, step));
            let words: Vec<String> =
                words(&request).map(|word| word.escape_ascii().to_string()).collect();
            words.join(" ")
        };
        let all: Vec<String> = (0..STEPS.len()).map(text).collect();
        let expected = [
            "SCUR.RESERVE acc:0000007 s0000000 0 ITEM 1 octets REQUESTED 300",
            "SCUR.UPDATE acc:0000007 s0000000 1 ITEM 1 octets USED 1 REQUESTED 300",
            "SCUR.DEBIT acc:0000007 txn-1 octets 4",
            "SCUR.UPDATE acc:0000007 s0000000 2 ITEM 1 octets USED 16 REQUESTED 300",
            "SCUR.DEBIT acc:0000007 txn-2 octets 64",
            "SCUR.TERMINATE acc:0000007 s0000000 3 ITEM 1 octets USED 256",
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn what_was_consumed_says_how_often_each_request_was_done() {
        let whole: i128 = (0..STEPS.len()).map(amount).map(i128::from).sum();
        assert_eq!(times_done(whole), Some([0, 1, 1, 1, 1, 1]));
        assert_eq!(times_done(0), Some([0; 6]));
        // The first DEBIT is missing, and the second was executed twice.
        assert_eq!(times_done(whole - 4 + 64), Some([0, 1, 0, 1, 2, 1]));
        // Each was executed three times, the most that can be distinguished.
        assert_eq!(times_done(3 * whole), Some([0, 3, 3, 3, 3, 3]));
        assert_eq!(times_done(3 * whole + 1), None);
        assert_eq!(times_done(-1), None);
        assert!(3 * whole + i128::from(REQUESTED) <= i128::from(CREDIT));
        assert!(amount(STEPS.len() - 1) <= REQUESTED);
    }
}
