//! Carries transfers between accounts: which step each needs next (docs/ledger.md section 17). The host takes a step
//! from the payer's shard when the hold is durable, executes it on the payee's shard, and gives back the result
//! when that is durable. A transfer whose step got no result is taken again at its next deadline.

use crate::transfer_name::TransferName;
use crate::{NeededParts, Outcome, Shard};
use scurry_ledger::{Code, Command, Name, Time, TransferStep, TransferView, receipt_id};
use std::collections::BTreeMap;

/// A step that the payee's shard executes.
#[derive(Clone, Debug)]
pub struct PayeeStep {
    name: TransferName,
    payee: Box<[u8]>,
    receipt: Box<[u8]>,
    /// Bucket, unit and amount to credit; `None` to forget the receipt.
    credit: Option<(Name, Name, i64)>,
    /// Term of the payer's shard in which the step was taken.
    term: u64,
    /// Number of the step among those that the courier has taken.
    number: u64,
    /// When it was taken, by the clock of the payer's shard.
    taken: Time,
}

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepResult {
    /// It was executed, now or earlier.
    Done,
    /// The payee can never take it, for this reason.
    Refused(Code),
    /// It may be possible later, or the result is not known.
    Unknown,
}

/// The transfers of one shard that are under way.
#[derive(Debug, Default)]
pub struct Courier {
    /// Transfers with a step whose result is awaited, each with the term in which the step was taken and the step's
    /// number: at most one step of a transfer is executed at a time.
    under_way: BTreeMap<TransferName, (u64, u64)>,
    /// Number of the last step.
    last: u64,
}

impl Courier {
    /// Returns the next step of a transfer of this shard that waits for one. `term` grows whenever another node may
    /// have led the shard meanwhile.
    pub fn next_step(&mut self, shard: &mut Shard, now: Time, term: u64) -> Option<PayeeStep> {
        while let Some(name) = shard.transfers.pop_front() {
            if self.under_way.get(&name).is_some_and(|(of, _)| *of == term) {
                continue;
            }
            let number = self.last + 1;
            if let Some(step) = step(shard, now, &name, (term, number)) {
                self.last = number;
                self.under_way.insert(name, (term, number));
                return Some(step);
            }
        }
        None
    }

    /// Forgets the steps that are under way, whose results are ignored from now on: the shard was cleared.
    pub fn forget_steps(&mut self) {
        self.under_way.clear();
    }

    /// Takes the result of a step to the payer's account. Ignores that of another term: another leader may have
    /// continued the transfer.
    pub fn finish(
        &mut self,
        shard: &mut Shard,
        now: Time,
        (step, result): (&PayeeStep, StepResult),
        term: u64,
    ) {
        if step.term != term || self.under_way.get(&step.name) != Some(&(term, step.number)) {
            return;
        }
        self.under_way.remove(&step.name);
        let TransferName { payer, id } = &step.name;
        let refusal = match result {
            StepResult::Refused(code) => Some(code),
            _ => None,
        };
        let next = match (result, step.credit) {
            (StepResult::Unknown, _) => return,
            (StepResult::Done, Some(_)) => TransferStep::Settle { id },
            (StepResult::Done, None) | (StepResult::Refused(_), _) => {
                TransferStep::Conclude { id, refusal }
            }
        };
        let key = shard.key(payer);
        shard.execute(now, key, &Command::Carry(next));
        if matches!(next, TransferStep::Settle { .. }) {
            shard.transfers.push_back(step.name.clone());
        }
    }
}

/// Returns the step that a transfer needs next; `None` if it was concluded.
fn step(
    shard: &mut Shard,
    now: Time,
    name: &TransferName,
    (term, number): (u64, u64),
) -> Option<PayeeStep> {
    let key = shard.key(&name.payer);
    let account = shard.account_in_part(now, key, &NeededParts::session(&name.id)).ok()?;
    let TransferView { payee, bucket, unit, in_transit } = account.session(&name.id)?.transfer()?;
    Some(PayeeStep {
        name: name.clone(),
        payee: payee.into(),
        receipt: receipt_id(&name.payer, &name.id)?.as_bytes().into(),
        credit: (in_transit > 0).then_some((bucket, unit, in_transit)),
        term,
        number,
        taken: now,
    })
}

impl PayeeStep {
    /// Returns the account on which the step is executed.
    pub fn payee(&self) -> &[u8] {
        &self.payee
    }

    /// Returns when the step was taken, by the clock of the payer's shard.
    pub fn taken(&self) -> Time {
        self.taken
    }

    /// Executes the step on the payee's shard.
    pub fn execute(&self, shard: &mut Shard, now: Time) -> StepResult {
        let (key, receipt) = (shard.key(&self.payee), &self.receipt[..]);
        let Some((bucket, unit, amount)) = self.credit else {
            // Without the account there is no receipt.
            shard.execute(now, key, &Command::Carry(TransferStep::Forget { receipt }));
            return StepResult::Done;
        };
        let receive = TransferStep::Receive { receipt, bucket, unit, amount };
        match shard.execute_in_bounds(now, key, &Command::Carry(receive)) {
            Outcome::Answer { .. } => StepResult::Done,
            Outcome::Reject(rejection) => match rejection.bound {
                Some(bound) if bound.wait_ms.is_some() => StepResult::Unknown,
                // The client must not take it for a refusal that a repetition may end.
                Some(_) => StepResult::Refused(Code::NotApplicable),
                None => StepResult::Refused(rejection.code),
            },
            Outcome::WrongType => StepResult::Refused(Code::UnknownAccount),
            Outcome::OutOfMemory => StepResult::Unknown,
        }
    }
}
