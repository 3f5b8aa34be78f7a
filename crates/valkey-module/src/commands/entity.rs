//! ENTITY commands: parses, decides and replies.

use super::{Call, apply};
use crate::command_state::CommandState;
use crate::entity::{self, APPLY, EntityValue};
use crate::server::{Mode, Name, OpenKey};
use scurry_engine::{EntityContent, EntityFound, EntityTerms, Version, VersionClock};
use scurry_ledger::Time;
use scurry_resp::{
    EntityOptions, EntityReplyFields, Fault, OUT_OF_MEMORY, Reply, WRONG_TYPE, entity_answer,
    entity_write_answer, parse_entity_del, parse_entity_find, parse_entity_get, parse_entity_put,
};

const NO_INDEX: &str =
    "ERR entities are not indexed by value on a Valkey node: keep such a list yourself";

pub(super) fn put(call: &Call<'_>, state: &CommandState, reply: &mut Reply<'_>) {
    match parse_entity_put(call.args, call.context.now()) {
        Ok((_, value, options)) => write(call, state, Some(value), options, reply),
        Err(fault) => reply.error(fault),
    }
}

pub(super) fn del(call: &Call<'_>, state: &CommandState, reply: &mut Reply<'_>) {
    match parse_entity_del(call.args) {
        Ok((_, options)) => write(call, state, None, options, reply),
        Err(fault) => reply.error(fault),
    }
}

/// Converts the options to terms. The grammar accepts positive 64-bit integers, of which not all are versions.
fn terms<'a>(
    options: EntityOptions,
    value: Option<&'a [u8]>,
) -> Result<EntityTerms<'a>, Fault<'static>> {
    let version = |number: Option<u64>, field| {
        number.map(|number| Version::new(number).ok_or(Fault::NotAnInteger(field))).transpose()
    };
    Ok(EntityTerms {
        version: version(options.version, "version")?,
        if_version: version(options.if_version, "ifversion")?,
        content: EntityContent { value, expires: value.and(options.expires) },
    })
}

/// Writes a value, or deletes if `value` is None.
fn write(
    call: &Call<'_>,
    state: &CommandState,
    value: Option<&[u8]>,
    options: EntityOptions,
    reply: &mut Reply<'_>,
) {
    let Some(name) = call.key() else { return };
    let terms = match terms(options, value) {
        Ok(terms) => terms,
        Err(fault) => return reply.error(fault),
    };
    let mut key = OpenKey::new(call.context, name, Mode::Write);
    let now = call.context.now();
    let clock = VersionClock {
        last: entity::last_version(),
        now,
        node: state.options.node,
        ahead_ms_max: state.options.version_ahead_ms_max,
    };
    let expires = key.expires();
    let (found, lives, agreed) = match key.value::<Box<EntityValue>>() {
        Ok(held) => {
            let found = held.as_ref().map_or(EntityFound::default(), |held| {
                let value = held.value.as_deref();
                let content = EntityContent { value, expires: value.and(expires) };
                EntityFound { version: held.version, content }
            });
            (found.version, found.content.value.is_some(), terms.version_if_allowed(found, &clock))
        }
        Err(_) => return reply.error(WRONG_TYPE),
    };
    if value.is_none() && !lives && terms.version.is_none() {
        return entity_write_answer(reply, false, found.get());
    }
    match agreed {
        Err(error) => reply.error(format_args!("ERR {error}")),
        Ok(None) => {
            if terms.version == Some(found) {
                // A repeated write: replicated so that a WAIT after it covers the original.
                call.context.replicate(APPLY, name, b"");
            }
            entity_write_answer(reply, false, found.get());
        }
        Ok(Some(_)) if value.is_none() && found.get() == 0 && call.context.is_out_of_memory() => {
            reply.error(OUT_OF_MEMORY);
        }
        Ok(Some(version)) => {
            entity::observe_version(version);
            let end = match value {
                Some(_) => options.expires,
                None => Some(now.plus_ms(state.options.entity_tombstone_ms)),
            };
            commit(&mut key, name, (version, value, end), now);
            entity_write_answer(reply, true, version.get());
        }
    }
}

fn commit(
    key: &mut OpenKey<'_>,
    name: Name<'_>,
    (version, value, end): (Version, Option<&[u8]>, Option<Time>),
    now: Time,
) {
    let context = key.context();
    let number = version.to_string();
    if end.is_some_and(|end| end <= now) {
        key.delete();
        context.signal_modified(name);
        return context.replicate(APPLY, name, number.as_bytes());
    }
    if apply::put(key, version, value, end).is_err() {
        unreachable!("what the key holds was looked at");
    }
    let end = end.map_or(-1, |end| end.0).to_string();
    match value {
        Some(value) => {
            context.replicate_words(APPLY, name, &[number.as_bytes(), end.as_bytes(), value]);
        }
        None => context.replicate_words(APPLY, name, &[number.as_bytes(), end.as_bytes()]),
    }
}

pub(super) fn get(call: &Call<'_>, reply: &mut Reply<'_>) {
    let Some(name) = call.key() else { return };
    let with_version = match parse_entity_get(call.args) {
        Ok((_, with_version)) => with_version,
        Err(fault) => return reply.error(fault),
    };
    let mut key = OpenKey::new(call.context, name, Mode::Read);
    let expires = key.expires();
    match key.value::<Box<EntityValue>>() {
        Ok(held) => {
            let shown = held.as_ref().map(|held| EntityReplyFields {
                version: held.version.get(),
                value: held.value.as_deref(),
                expires,
            });
            entity_answer(reply, shown, with_version);
        }
        Err(_) => reply.error(WRONG_TYPE),
    }
}

pub(super) fn find(call: &Call<'_>, reply: &mut Reply<'_>) {
    match parse_entity_find(call.args) {
        Ok(_) => reply.error(NO_INDEX),
        Err(fault) => reply.error(fault),
    }
}
