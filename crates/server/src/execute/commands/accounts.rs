//! Finding accounts: SCUR.LIST, a bounded number at a time, and SCUR.FIND, by identity.

use super::scan::{List, ScanPosition};
use crate::execute::node::Node;
use scurry_resp::{Args, FIND_MAX, FoundAccounts, Reply, list_row, parse_find, parse_list};

/// The core that a SCUR.LIST is for.
pub(crate) fn core_of(node: &Node, args: Args<'_>) -> u16 {
    ScanPosition::core_of(parse_list(args).ok().map(|request| request.cursor), node)
}

/// One step through the accounts of this core, of a walk through those of all cores.
pub(crate) fn list(node: &Node, args: Args<'_>, reply: &mut Reply<'_>) {
    walk(node, u64::from(node.shared.slots.cores()), args, reply);
}

/// One step through the accounts of this core alone.
pub(crate) fn list_core(node: &Node, args: Args<'_>, reply: &mut Reply<'_>) {
    walk(node, 0, args, reply);
}

fn walk(node: &Node, cores: u64, args: Args<'_>, reply: &mut Reply<'_>) {
    let request = match parse_list(args) {
        Ok(request) => request,
        Err(fault) => return reply.error(fault),
    };
    let mut list = List::new(node.settings.reply_len_max);
    let position = ScanPosition::of(request.cursor);
    if position.core > 0 && position.core != u64::from(node.core) {
        // A cursor that was not given here: there is nothing behind it.
        return list.write(0, reply);
    }
    let count = usize::from(request.count);
    let cursor = node.shard.scan_accounts(position.cursor, count, |id, status, version| {
        if request.takes(id, status) {
            list.push_row(|reply| list_row(reply, id, status, version));
        }
    });
    list.write(position.then(cursor, cores), reply);
}

/// The accounts of this core that have an identity.
pub(crate) fn find(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let (kind, value) = match parse_find(args) {
        Ok(identity) => identity,
        Err(fault) => return reply.error(fault),
    };
    let mut found = FoundAccounts::default();
    if node.shard.find_accounts(kind, value, FIND_MAX, |id| found.push(id)) {
        found.note_more();
    }
    found.write(reply);
}
