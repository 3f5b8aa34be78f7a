//! SCUR commands: grammar, ledger, reply.

use super::Call;
use crate::account::APPLY;
use crate::account_key::AccountKey;
use crate::account_totals;
use crate::desk::Desk;
use crate::server::{OpenKey, is_tried};
use scurry_engine::{Home, Outcome};
use scurry_ledger::Command;
use scurry_resp::table::Memory;
use scurry_resp::{
    OUT_OF_MEMORY, Read, Reply, Scratch, ScurRequest, WRONG_TYPE, totals_map, unknown_account,
};

/// Any SCUR command of clients.
pub(crate) fn run(
    call: &Call<'_>,
    mut key: Option<OpenKey<'_>>,
    desk: &mut Desk,
    reply: &mut Reply<'_>,
) {
    let mut scratch: Scratch<'_> = std::mem::take(&mut desk.scratch).reuse();
    match scurry_resp::parse(call.spec.id, call.args, &mut scratch) {
        Ok(Some(request)) => match (request, &mut key) {
            (ScurRequest::Write { command, .. }, Some(key)) => {
                write(call, key, &command, desk, reply);
            }
            (ScurRequest::Read(request), Some(key)) => read(call, key, &request, desk, reply),
            (_, None) => match is_tried() {
                Some(trial) => reply.formed(trial),
                None => totals_map(reply, &account_totals::shown()),
            },
        },
        Ok(None) => reply.error("ERR not a SCUR command"),
        Err(fault) => reply.error(fault),
    }
    desk.scratch = scratch.reuse();
}

fn write(
    call: &Call<'_>,
    key: &mut OpenKey<'_>,
    command: &Command<'_>,
    desk: &mut Desk,
    reply: &mut Reply<'_>,
) {
    let is_bounded = call.spec.memory != Memory::Free;
    let mut home = AccountKey::new(desk, key).in_bounds(is_bounded);
    match home.run(call.context.now(), command) {
        Outcome::Answer { answer, replayed } => {
            if replayed {
                // So that a WAIT behind this one covers the original.
                call.context.replicate(APPLY, key.name(), b"");
            }
            scurry_resp::answer(reply, command, &answer, replayed);
        }
        Outcome::Reject(rejection) => scurry_resp::rejection(reply, &rejection),
        Outcome::WrongType => reply.error(WRONG_TYPE),
        Outcome::OutOfMemory => reply.error(OUT_OF_MEMORY),
    }
}

fn read(
    call: &Call<'_>,
    key: &mut OpenKey<'_>,
    request: &Read<'_>,
    desk: &mut Desk,
    reply: &mut Reply<'_>,
) {
    let now = call.context.now();
    if AccountKey::new(desk, key).view(now).is_err() {
        return reply.error(WRONG_TYPE);
    }
    match &desk.slate.account {
        Some(account) => request.answer(reply, account, now),
        None => unknown_account(reply),
    }
}
