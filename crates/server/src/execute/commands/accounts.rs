//! Finding accounts: SCUR.LIST, a bounded number at a time, and SCUR.FIND, by identity.

use super::scan::{CoreWalk, ScanPosition};
use crate::execute::node::Node;
use scurry_resp::{
    Args, FIND_MAX, FindRequest, FoundAccounts, Reply, list_row, parse_find, parse_list,
};
use std::convert::Infallible;

/// Returns the core that a SCUR.LIST is for.
pub(crate) fn core_of(node: &Node, args: Args<'_>) -> u16 {
    ScanPosition::core_of(parse_list(args).ok().map(|request| request.cursor), node)
}

/// Lists the accounts of one step.
pub(crate) fn list(node: &Node, walk: CoreWalk, args: Args<'_>, reply: &mut Reply<'_>) {
    let request = match parse_list(args) {
        Ok(request) => request,
        Err(fault) => return reply.error(fault),
    };
    let count = usize::from(request.count);
    walk.step(node, request.cursor, reply, |cursor, list| {
        Ok::<_, Infallible>(node.shard.scan_accounts(cursor, count, |id, status, version| {
            if request.takes(id, status) {
                list.push_row(|reply| list_row(reply, id, status, version));
            }
        }))
    });
}

/// Answers with the accounts of this core that have an identity, or with the one to which a session belongs.
pub(crate) fn find(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let FindRequest { kind, value, session } = match parse_find(args) {
        Ok(request) => request,
        Err(fault) => return reply.error(fault),
    };
    let mut found = FoundAccounts::default();
    if let Some(session) = session {
        let closest = node.shard.find_session_account(node.now.time, (kind, value), session);
        if let Some((holder, id)) = closest {
            found.push_holder(holder, &id);
        }
    } else if node.shard.find_accounts(kind, value, FIND_MAX, |id| found.push(id)) {
        found.note_more();
    }
    found.write(reply);
}
