//! Transfers between accounts (docs/ledger.md section 17): the core of the payer sends each step to the core of the
//! payee once the hold is durable, and takes the result once that is.

use crate::execute::node::Node;
use crate::mail::message::{Message, TransferMail};
use scurry_engine::{PayeeStep, StepResult};
use scurry_ledger::Time;
use scurry_resp::table::{Spec, find};

impl Node {
    /// Sends the steps that transfers of this core's accounts need. Steps on this core's own accounts are executed at
    /// once: one log has both accounts, in this order.
    pub(crate) fn send_transfer_steps(&mut self) {
        // A paused core executes nothing: its group gives the next sequence to an entry of its own.
        if !self.shard.has_waiting_transfers() || !self.durable.executes() || self.is_congested() {
            return;
        }
        let term = self.term_of(self.core);
        while !self.is_frame_long()
            && let Some(step) = self.courier.next_step(&mut self.shard, self.now.time, term)
        {
            let core = self.shared.slots.owner_of(step.payee());
            if core == self.core {
                let result = self.execute_step(&step);
                self.finish_step(&step, result);
                continue;
            }
            self.durable.note_shown();
            let (payer, payee_term) = (self.core, self.term_of(core));
            let mail = TransferMail { payer, payee_term, logged_at: Time(i64::MIN), step };
            self.send_when_durable(core, Message::TransferStep(Box::new(mail)));
        }
    }

    /// Takes the results of this core's steps to its accounts. Executes the steps that other cores have sent, and sends
    /// back their results.
    pub(crate) fn execute_transfer_steps(&mut self) {
        while !self.is_congested()
            && !self.is_frame_long()
            && let Some((mail, result)) = self.transfer_results.pop_front()
        {
            self.finish_step(&mail.step, result);
        }
        while !self.is_congested()
            && !self.is_frame_long()
            && let Some(mail) = self.transfer_steps.pop_front()
        {
            // A step that another leader may have continued meanwhile is not executed, and neither is one from before
            // all accounts were deleted.
            let is_current =
                mail.payee_term == self.term_of(self.core) && mail.step.taken() > self.flushed_at;
            let result = match is_current {
                true => self.execute_step(&mail.step),
                false => StepResult::Unknown,
            };
            self.durable.note_shown();
            self.send_when_durable(mail.payer, Message::TransferResult(mail, result));
        }
    }

    /// Takes the result of a step to the payer's account. While nothing can be written there, the step is taken again
    /// later.
    fn finish_step(&mut self, step: &PayeeStep, result: StepResult) {
        let result = if self.executes_writes() { result } else { StepResult::Unknown };
        self.durable.note_shown();
        let term = self.term_of(self.core);
        self.courier.finish(&mut self.shard, self.now.time, (step, result), term);
    }

    /// Forgets the transfers of this core, whose accounts were all deleted.
    pub(crate) fn forget_transfers(&mut self) {
        self.courier.forget_steps();
        self.flushed_at = self.read_clock().time;
    }

    /// Takes note of a step or a result that another core has sent: this core's log gets no time before that of the
    /// frame in which the sender logged the step before. The cores' times can differ, where a clock was set back or where
    /// the leaders before were ahead. A backup ends all logs at one time, so without this its copy might have a step and
    /// not the step before it.
    pub(crate) fn note_transfer_mail(&mut self, mail: &TransferMail) {
        if let Some(journal) = self.shard.journal() {
            journal.not_before(mail.logged_at);
        }
    }

    /// Sends a message that need not wait for the log any more.
    pub(crate) fn send_released(&mut self, core: u16, mut message: Message) {
        if let Some(journal) = self.shard.journal() {
            message.note_logged_at(journal.latest());
        }
        self.mesh.send(core, message);
    }

    fn execute_step(&mut self, step: &PayeeStep) -> StepResult {
        if !self.executes_writes() {
            return StepResult::Unknown;
        }
        self.durable.note_shown();
        step.execute(&mut self.shard, self.now.time)
    }

    fn executes_writes(&self) -> bool {
        let spec: Option<&Spec> = find(b"SCUR.TRANSFER");
        let refused =
            self.durable.trouble().zip(spec).and_then(|(cause, spec)| cause.refuses(spec));
        self.durable.executes() && refused.is_none()
    }

    /// Returns the term in which a core's shard is led; 0 for a store on one machine.
    fn term_of(&self, core: u16) -> u64 {
        let shard = self.view.as_ref().and_then(|view| view.shards.get(usize::from(core)));
        shard.map_or(0, |shard| shard.term.get())
    }
}
