//! SCUR commands: parses, calls the ledger and replies.

use super::Call;
use crate::account::APPLY;
use crate::account_key::AccountKey;
use crate::account_totals;
use crate::command_state::CommandState;
use crate::server::{OpenKey, test_reply};
use scurry_engine::{AccountSlot, NeededParts, Outcome};
use scurry_ledger::{Code, Command};
use scurry_resp::table::{Memory, ScurReadId, ScurWriteId};
use scurry_resp::{
    OUT_OF_MEMORY, Reply, Scratch, WRONG_TYPE, Write, parse_read, parse_write, totals_map,
    unknown_account,
};

/// Executes SCUR.TOTALS, or answers the trial of [`test_reply`].
pub(super) fn totals(reply: &mut Reply<'_>) {
    match test_reply() {
        Some(trial) => reply.formed(trial),
        None => totals_map(reply, &account_totals::shown()),
    }
}

/// Executes a SCUR command that the ledger decides.
pub(super) fn write(
    id: ScurWriteId,
    call: &Call<'_>,
    key: &mut OpenKey<'_>,
    state: &mut CommandState,
    reply: &mut Reply<'_>,
) {
    let mut scratch: Scratch<'_> = std::mem::take(&mut state.scratch).reuse();
    match parse_write(id, call.args, &mut scratch) {
        Ok(Write { command, .. }) => decide(call, key, &command, state, reply),
        Err(fault) => reply.error(fault),
    }
    state.scratch = scratch.reuse();
}

fn decide(
    call: &Call<'_>,
    key: &mut OpenKey<'_>,
    command: &Command<'_>,
    state: &mut CommandState,
    reply: &mut Reply<'_>,
) {
    if let Command::Transfer(_) = command {
        if AccountKey::new(state, key).load().is_err() {
            return reply.error(WRONG_TYPE);
        }
        let why = "a module of Valkey cannot reach an account of another slot or node: SCUR.CHAIN moves units between \
                   accounts of one slot";
        return scurry_resp::reject(reply, Code::NotApplicable, why);
    }
    let is_bounded = call.spec.memory != Memory::Free;
    let mut slot = AccountKey::new(state, key).in_bounds(is_bounded);
    match slot.run(call.context.now(), command) {
        Outcome::Answer { answer, replayed } => {
            if replayed {
                // Replicated so that a WAIT after this duplicate covers the original.
                call.context.replicate(APPLY, key.name(), b"");
            }
            scurry_resp::answer(reply, command, &answer, replayed);
        }
        Outcome::Reject(rejection) => scurry_resp::rejection(reply, &rejection),
        Outcome::WrongType => reply.error(WRONG_TYPE),
        Outcome::OutOfMemory => reply.error(OUT_OF_MEMORY),
    }
}

/// Executes a SCUR command that shows an account.
pub(super) fn read(
    id: ScurReadId,
    call: &Call<'_>,
    key: &mut OpenKey<'_>,
    state: &mut CommandState,
    reply: &mut Reply<'_>,
) {
    let request = match parse_read(id, call.args) {
        Ok(request) => request,
        Err(fault) => return reply.error(fault),
    };
    let now = call.context.now();
    let shown = request.shown();
    let needed = NeededParts::shown(&shown);
    if AccountKey::new(state, key).view(now, &needed).is_err() {
        return reply.error(WRONG_TYPE);
    }
    match &state.working.account {
        Some(account) => request.answer(reply, account, now),
        None => unknown_account(reply),
    }
}
