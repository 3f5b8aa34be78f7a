//! SCUR commands: parse the request, call the engine, write the reply. DUMP and LOAD, which copy accounts between
//! stores, are among them.

use crate::durable::LOG_FAILED;
use crate::execute::client::Client;
use crate::execute::effect::Effect;
use crate::execute::node::Node;
use crate::mail::report::{Question, Report};
use scurry_engine::{LoadError, NeededParts, Outcome, ReadError};
use scurry_ledger::Code;
use scurry_resp::table::{Memory, ScurReadId, ScurWriteId};
use scurry_resp::{
    Args, OUT_OF_MEMORY, Reply, Scratch, WRONG_TYPE, Write, parse_dump, parse_load, parse_read,
    parse_write, reject, unknown_account,
};

/// Executes a SCUR command that the ledger decides.
pub(crate) fn write(
    node: &mut Node,
    id: ScurWriteId,
    memory: Memory,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) {
    let mut scratch: Scratch<'_> = std::mem::take(&mut node.scratch).reuse();
    match parse_write(id, args, &mut scratch) {
        Ok(Write { account, command }) => {
            let (key, now) = (node.first_key(account), node.now.time);
            let outcome = match memory {
                Memory::Free => node.shard.execute(now, key, &command),
                Memory::ForNew | Memory::ForAbsent | Memory::Taken => {
                    node.shard.execute_in_bounds(now, key, &command)
                }
            };
            match outcome {
                Outcome::Answer { answer, replayed } => {
                    scurry_resp::answer(reply, &command, &answer, replayed);
                }
                Outcome::Reject(rejection) => scurry_resp::rejection(reply, &rejection),
                Outcome::WrongType => reply.error(WRONG_TYPE),
                Outcome::OutOfMemory => reply.error(OUT_OF_MEMORY),
            }
        }
        Err(fault) => reply.error(fault),
    }
    node.scratch = scratch.reuse();
}

/// Answers TOTALS over all cores that the client's port stands for.
pub(crate) fn totals(client: &mut Client, reply: &mut Reply<'_>) -> Effect {
    let Some(told) = client.told.take() else { return Effect::AskCores(Question::Report) };
    let all = Report::of_all(&told);
    if all.durable.failed {
        reply.error(LOG_FAILED);
    } else {
        scurry_resp::totals_map(reply, &all.totals);
    }
    Effect::None
}

/// Executes a SCUR command that shows an account.
pub(crate) fn read(node: &mut Node, id: ScurReadId, args: Args<'_>, reply: &mut Reply<'_>) {
    let request = match parse_read(id, args) {
        Ok(request) => request,
        Err(fault) => return reply.error(fault),
    };
    let now = node.now.time;
    let key = node.first_key(request.account());
    let shown = request.shown();
    let needed = NeededParts::shown(&shown);
    match node.shard.account_in_part(now, key, &needed) {
        Ok(account) => request.answer(reply, account, now),
        Err(ReadError::UnknownAccount) => scurry_resp::unknown_account(reply),
        Err(ReadError::WrongType) => reply.error(WRONG_TYPE),
    }
}

pub(crate) fn dump(node: &Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let account = match parse_dump(args) {
        Ok(account) => account,
        Err(fault) => return reply.error(fault),
    };
    match node.shard.image(node.now.time, node.shard.key(account)) {
        Ok(image) => reply.bulk(&image),
        Err(ReadError::UnknownAccount) => unknown_account(reply),
        Err(ReadError::WrongType) => reply.error(WRONG_TYPE),
    }
}

pub(crate) fn load(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let request = match parse_load(args) {
        Ok(request) => request,
        Err(fault) => return reply.error(fault),
    };
    let key = node.shard.key(request.account);
    match node.shard.load_image(node.now.time, key, request.image, request.replace) {
        Ok(()) => reply.ok(),
        Err(error @ LoadError::IdentityExists) => {
            reject(reply, Code::IdentityExists, error.to_string());
        }
        Err(error @ LoadError::Exists) => reply.error(format_args!("BUSYKEY {error}")),
        Err(LoadError::WrongType) => reply.error(WRONG_TYPE),
        Err(LoadError::OutOfMemory) => reply.error(OUT_OF_MEMORY),
        Err(error @ (LoadError::Transfer | LoadError::Image(_))) => {
            reject(reply, Code::Invalid, error.to_string())
        }
    }
}
