//! SCUR commands: grammar, engine, reply.

use super::{OUT_OF_MEMORY, WRONG_TYPE};
use crate::client::Client;
use crate::dispatch::Effect;
use crate::node::Node;
use crate::report::{Question, Report};
use scurry_engine::{Outcome, ReadError};
use scurry_ledger::{Account, Code, Time};
use scurry_resp::table::CommandId;
use scurry_resp::{Args, Read, Reply, Scratch, ScurRequest};

const UNKNOWN_ACCOUNT: &str = "no account has this id: create it with SCUR.CREATE";
const UNKNOWN_SESSION: &str = "no open session has this id: open it with SCUR.RESERVE";

/// Any SCUR command.
pub(crate) fn scur(node: &mut Node, id: CommandId, args: Args<'_>, reply: &mut Reply<'_>) {
    match scurry_resp::parse_read(id, args) {
        Ok(Some(request)) => read(node, request, reply),
        Ok(None) => write(node, id, args, reply),
        Err(fault) => reply.error(fault),
    }
}

fn write(node: &mut Node, id: CommandId, args: Args<'_>, reply: &mut Reply<'_>) {
    let mut scratch: Scratch<'_> = std::mem::take(&mut node.scratch).reuse();
    match scurry_resp::parse(id, args, &mut scratch) {
        Ok(Some(ScurRequest::Write { account, command })) => {
            let key = node.shard.key(account);
            match node.shard.execute(node.now.time, key, &command) {
                Outcome::Answer { answer, replayed } => {
                    scurry_resp::answer(reply, &command, &answer, replayed);
                }
                Outcome::Reject(rejection) => scurry_resp::rejection(reply, &rejection),
                Outcome::WrongType => reply.error(WRONG_TYPE),
                Outcome::OutOfMemory => reply.error(OUT_OF_MEMORY),
            }
        }
        Ok(Some(ScurRequest::Read(_)) | None) => reply.error("ERR not a SCUR command"),
        Err(fault) => reply.error(fault),
    }
    node.scratch = scratch.reuse();
}

/// TOTALS, over all cores that the client's port stands for.
pub(crate) fn totals(client: &mut Client, reply: &mut Reply<'_>) -> Effect {
    let Some(told) = client.told.take() else { return Effect::Ask(Question::Report) };
    scurry_resp::totals_map(reply, &Report::of_all(&told).totals);
    Effect::None
}

fn read(node: &mut Node, request: Read<'_>, reply: &mut Reply<'_>) {
    match request {
        Read::Totals => scurry_resp::totals_map(reply, node.shard.totals()),
        Read::Account(id) => {
            if let Some((account, now)) = account(node, id, reply) {
                scurry_resp::account_map(reply, account, now);
            }
        }
        Read::Session { account: id, session } => {
            if let Some((account, now)) = account(node, id, reply) {
                match account.session(session) {
                    Some(session) => scurry_resp::session_map(reply, account, session, now),
                    None => scurry_resp::reject(reply, Code::UnknownSession, UNKNOWN_SESSION),
                }
            }
        }
        Read::Audit(id) => {
            if let Some((account, now)) = account(node, id, reply) {
                let ok = scurry_ledger::validate(account, now).is_ok();
                scurry_resp::audit_map(reply, account, ok);
            }
        }
        Read::Check { account: id, unit, amount } => {
            if let Some((account, now)) = account(node, id, reply) {
                let (code, grantable) = scurry_ledger::check(account, unit, amount, now);
                scurry_resp::check_answer(reply, code, grantable);
            }
        }
    }
}

/// The account as seen now, and the time that this is for it; none after an error reply.
fn account<'n>(
    node: &'n mut Node,
    id: &[u8],
    reply: &mut Reply<'_>,
) -> Option<(&'n Account, Time)> {
    let key = node.shard.key(id);
    match node.shard.account(node.now.time, key) {
        Ok(account) => Some((account, node.now.time.on(Some(account)))),
        Err(ReadError::UnknownAccount) => {
            scurry_resp::reject(reply, Code::UnknownAccount, UNKNOWN_ACCOUNT);
            None
        }
        Err(ReadError::WrongType) => {
            reply.error(WRONG_TYPE);
            None
        }
    }
}
