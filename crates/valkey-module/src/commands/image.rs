//! SCUR.DUMP and SCUR.LOAD, which move accounts from one store to another.

use super::Call;
use crate::account::AccountValue;
use crate::account_key::AccountKey;
use crate::command_state::CommandState;
use crate::server::{Mode, OpenKey};
use scurry_engine::{AccountSlot, LoadError};
use scurry_ledger::Code;
use scurry_resp::{
    OUT_OF_MEMORY, Reply, WRONG_TYPE, parse_dump, parse_load, reject, unknown_account,
};

pub(super) fn dump(call: &Call<'_>, reply: &mut Reply<'_>) {
    let name = match (parse_dump(call.args), call.key()) {
        (Ok(_), Some(name)) => name,
        (Err(fault), _) => return reply.error(fault),
        (_, None) => return unknown_account(reply),
    };
    match OpenKey::new(call.context, name, Mode::Read).value::<AccountValue>() {
        Ok(Some(value)) => reply.bulk(&value.whole_image()),
        Ok(None) => unknown_account(reply),
        Err(_) => reply.error(WRONG_TYPE),
    }
}

pub(super) fn load(call: &Call<'_>, state: &mut CommandState, reply: &mut Reply<'_>) {
    let (request, name) = match (parse_load(call.args), call.key()) {
        (Ok(request), Some(name)) => (request, name),
        (Err(fault), _) => return reply.error(fault),
        (_, None) => return unknown_account(reply),
    };
    let mut key = OpenKey::new(call.context, name, Mode::Write);
    match AccountKey::new(state, &mut key).load_image(request.image, request.replace) {
        Ok(()) => reply.ok(),
        Err(LoadError::WrongType) => reply.error(WRONG_TYPE),
        Err(LoadError::OutOfMemory) => reply.error(OUT_OF_MEMORY),
        Err(error @ LoadError::Exists) => reply.error(format_args!("BUSYKEY {error}")),
        // Not reachable: the module has no unique kinds of identities.
        Err(error @ LoadError::IdentityExists) => {
            reject(reply, Code::IdentityExists, error.to_string());
        }
        Err(error @ (LoadError::Transfer | LoadError::Image(_))) => {
            reject(reply, Code::Invalid, error.to_string())
        }
    }
}
