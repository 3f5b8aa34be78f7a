//! SCUR commands: grammar, ledger, reply.

use super::Call;
use crate::account::APPLY;
use crate::account_totals;
use crate::desk::Desk;
use crate::server::{OpenKey, is_tried};
use scurry_ledger::{Command, Decision, decide_with, view_in_place};
use scurry_resp::table::{Memory, ScurReadId, ScurWriteId};
use scurry_resp::{
    OUT_OF_MEMORY, Reply, Scratch, WRONG_TYPE, Write, parse_read, parse_write, totals_map,
    unknown_account,
};

/// SCUR.TOTALS.
pub(super) fn totals(reply: &mut Reply<'_>) {
    match is_tried() {
        Some(trial) => reply.formed(trial),
        None => totals_map(reply, &account_totals::shown()),
    }
}

/// A SCUR command that the ledger decides.
pub(super) fn write(
    id: ScurWriteId,
    call: &Call<'_>,
    key: &mut OpenKey<'_>,
    desk: &mut Desk,
    reply: &mut Reply<'_>,
) {
    let mut scratch: Scratch<'_> = std::mem::take(&mut desk.scratch).reuse();
    match parse_write(id, call.args, &mut scratch) {
        Ok(Write { command, .. }) => decide(call, key, &command, desk, reply),
        Err(fault) => reply.error(fault),
    }
    desk.scratch = scratch.reuse();
}

fn decide(
    call: &Call<'_>,
    key: &mut OpenKey<'_>,
    command: &Command<'_>,
    desk: &mut Desk,
    reply: &mut Reply<'_>,
) {
    let context = call.context;
    if desk.load(key).is_err() {
        return reply.error(WRONG_TYPE);
    }
    desk.remember();
    let limits = &desk.options.limits;
    match decide_with(&mut desk.ops, &mut desk.account, command, context.now(), limits) {
        Decision::Replay(answer) => {
            // So that a WAIT behind this one covers the original.
            context.replicate(APPLY, key.name(), b"");
            scurry_resp::answer(reply, command, &answer, true);
        }
        Decision::Reject(rejection) => scurry_resp::rejection(reply, &rejection),
        Decision::Commit(change, _)
            if call.spec.memory != Memory::Free && context.is_out_of_memory() =>
        {
            desk.ops = change.ops;
            reply.error(OUT_OF_MEMORY);
        }
        Decision::Commit(change, answer) => {
            desk.store(key);
            desk.replicate(key, &change);
            desk.ops = change.ops;
            scurry_resp::answer(reply, command, &answer, false);
        }
    }
}

/// A SCUR command that shows an account.
pub(super) fn read(
    id: ScurReadId,
    call: &Call<'_>,
    key: &mut OpenKey<'_>,
    desk: &mut Desk,
    reply: &mut Reply<'_>,
) {
    let request = match parse_read(id, call.args) {
        Ok(request) => request,
        Err(fault) => return reply.error(fault),
    };
    let now = call.context.now();
    if desk.load(key).is_err() {
        return reply.error(WRONG_TYPE);
    }
    view_in_place(&mut desk.account, now, &desk.options.limits);
    match &desk.account {
        Some(account) => request.answer(reply, account, now),
        None => unknown_account(reply),
    }
}
