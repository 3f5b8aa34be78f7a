//! Applies facts that were decided elsewhere: by the primary, or before they were written to a file. They are carried
//! out without checking any rule.

use super::Call;
use crate::account::{self, IMAGE};
use crate::account_key::AccountKey;
use crate::command_state::CommandState;
use crate::entity::{self, EntityValue};
use crate::server::{Level, Mode, Name, OpenKey};
use scurry_engine::{AccountSlot, Version, WrongType};
use scurry_ledger::Time;
use scurry_resp::table::NodeId;
use scurry_resp::{Args, Reply, WRONG_TYPE, parse_integer};
use std::fmt::Display;

/// Error for a client that sends one of these commands.
const NOT_FOR_CLIENTS: &str =
    "ERR only a primary and its files say this: use the commands of docs/commands.md";

/// Executes SCUR.APPLY or ENTITY.APPLY.
pub(super) fn run(id: NodeId, call: &Call<'_>, state: &mut CommandState, reply: &mut Reply<'_>) {
    let Some(name) = call.key() else { return reply.error(NOT_FOR_CLIENTS) };
    if !call.context.is_decided(state.knows_slot_import) {
        return reply.error(NOT_FOR_CLIENTS);
    }
    let mut key = OpenKey::new(call.context, name, Mode::Write);
    let done = match id {
        NodeId::ScurApply => of_account(call.args, &mut key, state),
        NodeId::EntityApply => of_entity(call.args, &mut key),
    };
    match done {
        Ok(()) => {
            call.context.replicate_verbatim();
            reply.ok();
        }
        Err(why) => diverged(call, name, &why),
    }
}

/// Ends the process when it would diverge from the data that it copies, so that it serves nothing wrong.
fn diverged(call: &Call<'_>, name: Name<'_>, why: &str) -> ! {
    let key = String::from_utf8_lossy(name.bytes());
    let command = call.spec.name;
    call.context.log(
        Level::Warning,
        &format!("{command} of {key}: {why}. Ending, so that nothing wrong is served: upgrade replicas before their primary, or copy the files again"),
    );
    std::process::exit(1)
}

fn of_account(
    args: Args<'_>,
    key: &mut OpenKey<'_>,
    state: &mut CommandState,
) -> Result<(), String> {
    let say = |why: &dyn Display| why.to_string();
    let mut slot = AccountKey::new(state, key);
    slot.load().map_err(|_| say(&WRONG_TYPE))?;
    slot.working().remember();
    match (args.at(2), args.get(3)) {
        // An empty argument stands for a duplicate that was answered: nothing has changed.
        (b"", None) => return Ok(()),
        (IMAGE, Some(image)) => {
            slot.working().account = Some(account::read(image).map_err(|fault| say(&fault))?);
            slot.make_whole();
        }
        (bytes, None) => {
            let held = slot.version_before();
            let (version, bytes) = bytes.split_first_chunk().ok_or_else(|| say(&"it is short"))?;
            if u64::from_le_bytes(*version) != held {
                return Err(format!("it is for another version than the {held} that is here"));
            }
            slot.apply(bytes).map_err(|error| say(&error))?;
        }
        _ => return Err(say(&"it has no change")),
    }
    slot.store();
    Ok(())
}

/// Applies a write of an entity. `version`: removed. `version until`: deleted and remembered until then. `version
/// expires value`: written; -1 means no end. An empty argument stands for a duplicate that was answered.
fn of_entity(args: Args<'_>, key: &mut OpenKey<'_>) -> Result<(), String> {
    let number = |at: usize| parse_integer(args.at(at)).ok_or("a number is none");
    if args.len() == 3 && args.at(2).is_empty() {
        return Ok(());
    }
    let version = u64::try_from(number(2)?).ok().and_then(Version::new);
    let version = version.ok_or("a version is none")?;
    entity::observe_version(version);
    if args.len() == 3 {
        key.value::<Box<EntityValue>>().map_err(|_| WRONG_TYPE)?;
        key.delete();
        return Ok(());
    }
    let end = Some(number(3)?).filter(|&end| end >= 0).map(Time);
    put(key, version, args.get(4), end).map_err(|_| WRONG_TYPE.to_owned())
}

/// Writes an entity, or its deletion.
pub(super) fn put(
    key: &mut OpenKey<'_>,
    version: Version,
    value: Option<&[u8]>,
    end: Option<Time>,
) -> Result<(), WrongType> {
    let value = EntityValue { version, value: value.map(Into::into) };
    if let Some(mut held) = key.value::<Box<EntityValue>>()? {
        **held = value;
    } else {
        key.set(Box::new(value));
    }
    key.set_expires(end);
    key.context().signal_modified(key.name());
    Ok(())
}
