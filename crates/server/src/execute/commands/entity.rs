//! ENTITY commands: parse the request, call the engine, write the reply.

use super::scan::{CoreWalk, ScanPosition};
use super::write_error;
use crate::execute::node::Node;
use scurry_engine::{
    EntityDelete, EntityPut, EntityState, EntityWrite, Expiry, Version, WriteError,
};
use scurry_resp::{
    Args, EntityReplyFields, Fault, Reply, WRONG_TYPE, entity_answer, entity_write_answer,
    parse_entity_del, parse_entity_find, parse_entity_get, parse_entity_put,
};

const NO_INDEX: &str =
    "ERR entities are not indexed by value: start the server with --entity-index";

/// Converts a number to a version. The grammar admits only positive 64-bit integers, which are valid versions.
fn version(number: Option<u64>, field: &'static str) -> Result<Option<Version>, Fault<'static>> {
    number.map(|number| Version::new(number).ok_or(Fault::NotAnInteger(field))).transpose()
}

pub(crate) fn put(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let request = parse_entity_put(args, node.now.time).and_then(|(id, value, options)| {
        let put = EntityPut {
            version: version(options.version, "version")?,
            if_version: version(options.if_version, "ifversion")?,
            expiry: options.expires.map_or(Expiry::Never, Expiry::At),
        };
        Ok((id, value, put))
    });
    match request {
        Ok((id, value, put)) => {
            let key = node.first_key(id);
            written(node.shard.entity_put(node.now.time, key, value, put), reply);
        }
        Err(fault) => reply.error(fault),
    }
}

pub(crate) fn del(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let request = parse_entity_del(args).and_then(|(id, options)| {
        let delete = EntityDelete {
            version: version(options.version, "version")?,
            if_version: version(options.if_version, "ifversion")?,
        };
        Ok((id, delete))
    });
    match request {
        Ok((id, delete)) => {
            let key = node.first_key(id);
            written(node.shard.entity_del(node.now.time, key, delete), reply);
        }
        Err(fault) => reply.error(fault),
    }
}

fn written(outcome: Result<EntityWrite, WriteError>, reply: &mut Reply<'_>) {
    match outcome {
        Ok(write) => entity_write_answer(reply, write.applied, write.version.get()),
        Err(error) => write_error(error, reply),
    }
}

pub(crate) fn get(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let (id, with_version) = match parse_entity_get(args) {
        Ok(request) => request,
        Err(fault) => return reply.error(fault),
    };
    let entity = match node.shard.entity(node.now.time, node.first_key(id)) {
        Ok(entity) => entity,
        Err(_) => return reply.error(WRONG_TYPE),
    };
    let shown = entity.map(|entity| {
        let (value, expires) = match entity.state {
            EntityState::Live { value, expires } => (Some(value), expires),
            EntityState::Deleted { .. } => (None, None),
        };
        EntityReplyFields { version: entity.version.get(), value, expires }
    });
    if shown.is_some_and(|shown| shown.value.is_some()) {
        node.counters.hits += 1;
    } else {
        node.counters.misses += 1;
    }
    entity_answer(reply, shown, with_version);
}

/// Returns the core that an ENTITY.FIND is for.
pub(crate) fn core_of(node: &Node, args: Args<'_>) -> u16 {
    ScanPosition::core_of(parse_entity_find(args).ok().map(|request| request.cursor), node)
}

/// Lists the entities of one step.
pub(crate) fn find(node: &Node, walk: CoreWalk, args: Args<'_>, reply: &mut Reply<'_>) {
    let request = match parse_entity_find(args) {
        Ok(request) => request,
        Err(fault) => return reply.error(fault),
    };
    let (now, value, count) = (node.now.time, request.value, request.count);
    walk.step(node, request.cursor, reply, |cursor, list| {
        node.shard
            .entities_with_value(now, value, cursor, count, |id| list.push(id))
            .map_err(|_| NO_INDEX)
    });
}
