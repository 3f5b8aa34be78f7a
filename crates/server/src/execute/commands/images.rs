//! SCUR.DUMP and SCUR.LOAD: accounts on their way from one store to another.

use crate::execute::node::Node;
use scurry_engine::{LoadError, ReadError};
use scurry_ledger::Code;
use scurry_resp::{
    Args, OUT_OF_MEMORY, Reply, WRONG_TYPE, parse_dump, parse_load, reject, unknown_account,
};

pub(crate) fn dump(node: &Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let account = match parse_dump(args) {
        Ok(account) => account,
        Err(fault) => return reply.error(fault),
    };
    match node.shard.image(node.now.time, node.shard.key(account)) {
        Ok(image) => reply.bulk(image),
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
        Err(error @ LoadError::Exists) => reply.error(format_args!("BUSYKEY {error}")),
        Err(LoadError::WrongType) => reply.error(WRONG_TYPE),
        Err(LoadError::OutOfMemory) => reply.error(OUT_OF_MEMORY),
        Err(error @ LoadError::Image(_)) => reject(reply, Code::Invalid, error.to_string()),
    }
}
