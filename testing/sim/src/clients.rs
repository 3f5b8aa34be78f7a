//! The clients' commands: on accounts from the generators of the model, on other keys drawn from a few keys and values.
//! Each answer must be the model's.

use crate::model_checked_shard::ModelCheckedShard;
use crate::sim::{AnsweredRequest, Pending, Sim};
use crate::world::{ACCOUNTS, CheckResult};
use scurry_ledger::{Answer, Time};
use scurry_model::{CommandOrTick, Op, StepResult};

/// Returns the id that identifies duplicates: a transaction id, or a session and its request number.
fn id(op: &Op) -> Option<(&str, Option<u32>)> {
    match op {
        Op::TopUp { txn, .. }
        | Op::Adjust { txn, .. }
        | Op::Bucket { txn, .. }
        | Op::Debit { txn, .. }
        | Op::DebitItems { txn, .. }
        | Op::Refund { txn, .. }
        | Op::RefundItems { txn, .. }
        | Op::Counter { txn, .. }
        | Op::Limit { txn, .. } => Some((txn, None)),
        // Each step of a transfer changes what a repetition of those before it is answered.
        Op::Transfer { id, .. } | Op::Settle { id } | Op::Conclude { id, .. } => Some((id, None)),
        Op::Receive { receipt, .. } | Op::Forget { receipt } => Some((receipt, None)),
        Op::Reserve(request) | Op::Update(request) | Op::Terminate(request) => {
            Some((&request.session, Some(request.request)))
        }
        _ => None,
    }
}

/// Reports whether `new` makes the answer to `old` obsolete: the two are equal or have the same id, which can be used
/// again once it was forgotten, or `old` released the session that `new` uses.
fn supersedes(new: &Op, old: &Op) -> bool {
    let session = new.request().map(|request| &request.session);
    old == new
        || id(new).is_some() && id(new) == id(old)
        || matches!(old, Op::Release { session: ended, .. } if Some(ended) == session)
}

impl Sim {
    /// Reports whether a command may be written now: the log has room and has not failed, and the machine is on.
    pub(crate) fn is_open(&mut self) -> bool {
        let has_room = self.has_room();
        self.counts.no_room += u64::from(!has_room);
        has_room && !self.has_failed && !self.commits.is_full() && !self.disk.is_off()
    }

    /// Executes a new command on an account, repeats an old one, clears the shard, or ticks.
    pub(crate) fn command(&mut self) -> CheckResult {
        if !self.is_open() {
            return Ok(());
        }
        if self.random.one_in(self.plan.clear_in) {
            return self.clear();
        }
        if self.random.one_in(8) {
            return self.repeat();
        }
        let index = self.random.below(ACCOUNTS.len());
        self.generators[index].set_clock(self.clock);
        let event = self.generators[index].next(&self.world.pairs[index]);
        self.clock = event.at;
        match event.what {
            CommandOrTick::Do(op) => self.execute(index, &op).map(|_| ()),
            CommandOrTick::Tick => self.tick(),
        }
    }

    /// Repeats a request whose answer was lost in a crash, or one of the last 20 answered requests.
    fn repeat(&mut self) -> CheckResult {
        if let Some((index, op)) = self.in_doubt.pop() {
            self.counts.duplicates += 1;
            return self.execute(index, &op).map(|_| ());
        }
        let back = self.random.below(self.done.len().min(20)) + 1;
        let Some(at) = self.done.len().checked_sub(back) else { return Ok(()) };
        self.repeat_request(&self.done[at].clone())
    }

    /// Repeats an answered request. The answer must be the same, as long as it is remembered.
    pub(crate) fn repeat_request(&mut self, done: &AnsweredRequest) -> CheckResult {
        self.counts.duplicates += 1;
        match self.execute(done.account, &done.op)? {
            StepResult::Replay(answer) if answer != done.answer && done.op.has_id() => {
                Err(format!("{:?} was answered {:?}, now {answer:?}", done.op, done.answer))
            }
            _ => Ok(()),
        }
    }

    fn execute(&mut self, index: usize, op: &Op) -> Result<StepResult, String> {
        let (now, before) = (self.now(), self.shard.sequence());
        let came = self.beside(now).execute(index, op)?;
        let answer = match &came {
            StepResult::Commit(answer) => Some(answer.clone()),
            _ => None,
        };
        self.answered(index, op, answer.as_ref());
        let records = u64::from(answer.is_some());
        self.record_history(before, records..=records)?;
        self.wait(Some((index, op.clone(), answer)), 0);
        Ok(came)
    }

    /// Forgets earlier answers that the answer to this request makes obsolete.
    pub(crate) fn answered(&mut self, index: usize, op: &Op, answer: Option<&Answer>) {
        if answer.is_some() {
            self.done.retain(|done| done.account != index || !supersedes(op, &done.op));
            for Pending { request, .. } in &mut self.pending {
                if let Some((account, old, answer)) = request
                    && *account == index
                    && supersedes(op, old)
                {
                    *answer = None;
                }
            }
        }
    }

    /// Adds the state after a command to the history. Fails if the command wrote an unexpected number of records.
    pub(crate) fn record_history(
        &mut self,
        before: u64,
        records: std::ops::RangeInclusive<u64>,
    ) -> CheckResult {
        let now = self.latest;
        let sequence = self.shard.sequence();
        if !records.contains(&(sequence - before)) {
            return Err(format!("{} records were written, not {records:?}", sequence - before));
        }
        if sequence > before {
            self.counts.commits += 1;
            self.world.at = now;
            self.history.entry(sequence).or_default().push(self.world.clone());
            // A host seals a frame that has become long.
            let synced = self.commits.synced();
            if self.random.one_in(4)
                && let Some(journal) = self.shard.journal()
            {
                journal.seal(synced, Time(now));
            }
        }
        Ok(())
    }

    /// Queues an answer until the records that it shows are durable.
    fn wait(&mut self, request: Option<(usize, Op, Option<Answer>)>, version: u64) {
        let sequence = self.shard.sequence();
        self.pending.push_back(Pending { sequence, request, version });
    }

    fn clear(&mut self) -> CheckResult {
        if self.random.one_in(2) {
            self.abandon_snapshot();
        }
        self.now();
        let before = self.shard.sequence();
        self.shard.clear();
        self.world.clear();
        self.disk.note(|| "clear".to_owned());
        self.record_history(before, 1..=1)?;
        self.wait(None, 0);
        Ok(())
    }

    /// Reads one of the other keys. The answer waits for the log, like any other.
    pub(crate) fn read(&mut self) -> CheckResult {
        if self.has_failed {
            return Ok(());
        }
        let now = self.now();
        self.beside(now).read()?;
        self.wait(None, 0);
        Ok(())
    }

    /// Runs the timers.
    pub(crate) fn tick(&mut self) -> CheckResult {
        if !self.is_open() {
            return Ok(());
        }
        let now = self.now();
        let mut left = Vec::new();
        self.beside(now).tick(|sequence, world| left.push((sequence, world.clone())))?;
        self.counts.releases += left.len() as u64;
        self.counts.commits += left.len() as u64;
        for (sequence, world) in left {
            self.history.entry(sequence).or_default().push(world);
        }
        Ok(())
    }

    /// Executes a command on one of the other keys.
    pub(crate) fn key_command(&mut self) -> CheckResult {
        if !self.is_open() {
            return Ok(());
        }
        let now = self.now();
        let before = self.shard.sequence();
        let version = self.beside(now).key_command()?;
        self.record_history(before, 0..=1)?;
        self.wait(None, version);
        Ok(())
    }

    /// Returns the shard together with its models.
    pub(crate) fn beside(&mut self, now: Time) -> ModelCheckedShard<'_> {
        ModelCheckedShard {
            shard: &mut self.shard,
            world: &mut self.world,
            random: &mut self.random,
            trace: self.disk.trace(),
            now,
        }
    }
}
