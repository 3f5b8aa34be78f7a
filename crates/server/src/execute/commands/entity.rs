//! ENTITY commands: grammar, engine, reply.

use super::scan::{List, ScanPosition};
use super::write_error;
use crate::execute::node::Node;
use scurry_engine::{
    EntityDelete, EntityPut, EntityState, EntityWrite, Expiry, Version, WriteError,
};
use scurry_resp::{
    Args, EntityShown, Fault, Reply, WRONG_TYPE, entity_answer, entity_write_answer,
    parse_entity_del, parse_entity_find, parse_entity_get, parse_entity_put,
};

const NO_INDEX: &str =
    "ERR entities are not indexed by value: start the server with --entity-index";

/// The grammar lets positive 64-bit integers through, and these are versions.
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
        EntityShown { version: entity.version.get(), value, expires }
    });
    if shown.is_some_and(|shown| shown.value.is_some()) {
        node.counters.hits += 1;
    } else {
        node.counters.misses += 1;
    }
    entity_answer(reply, shown, with_version);
}

/// The core that an ENTITY.FIND is for.
pub(crate) fn core_of(node: &Node, args: Args<'_>) -> u16 {
    ScanPosition::core_of(parse_entity_find(args).ok().map(|request| request.cursor), node)
}

/// One step through the entities of this core, of a walk through those of all cores.
pub(crate) fn find(node: &Node, args: Args<'_>, reply: &mut Reply<'_>) {
    walk(node, u64::from(node.shared.slots.cores()), args, reply);
}

/// One step through the entities of this core alone.
pub(crate) fn find_core(node: &Node, args: Args<'_>, reply: &mut Reply<'_>) {
    walk(node, 0, args, reply);
}

fn walk(node: &Node, cores: u64, args: Args<'_>, reply: &mut Reply<'_>) {
    let request = match parse_entity_find(args) {
        Ok(request) => request,
        Err(fault) => return reply.error(fault),
    };
    let mut list = List::new(node.settings.reply_len_max);
    let position = ScanPosition::of(request.cursor);
    if position.core > 0 && position.core != u64::from(node.core) {
        // A cursor that was not given here: there is nothing behind it.
        return list.write(0, reply);
    }
    let now = node.now.time;
    let (value, count) = (request.value, request.count);
    match node.shard.entities_with_value(now, value, position.cursor, count, |id| list.push(id)) {
        Ok(cursor) => list.write(position.then(cursor, cores), reply),
        Err(_) => reply.error(NO_INDEX),
    }
}
