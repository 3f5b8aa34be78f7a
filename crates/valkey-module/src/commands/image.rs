//! SCUR.DUMP and SCUR.LOAD: accounts on their way from one store to another.

use super::Call;
use crate::account::{APPLY, AccountValue, IMAGE};
use crate::desk::Desk;
use crate::server::{Mode, OpenKey};
use scurry_codec::decode_foreign_account;
use scurry_engine::LoadError;
use scurry_ledger::{Account, Code, Status};
use scurry_resp::{Reply, WRONG_TYPE, parse_dump, parse_load, reject, unknown_account};

pub(super) fn dump(call: &Call<'_>, reply: &mut Reply<'_>) {
    let name = match (parse_dump(call.args), call.key()) {
        (Ok(_), Some(name)) => name,
        (Err(fault), _) => return reply.error(fault),
        (_, None) => return unknown_account(reply),
    };
    match OpenKey::new(call.context, name, Mode::Read).value::<AccountValue>() {
        Ok(Some(value)) => reply.bulk(value.image()),
        Ok(None) => unknown_account(reply),
        Err(_) => reply.error(WRONG_TYPE),
    }
}

pub(super) fn load(call: &Call<'_>, desk: &mut Desk, reply: &mut Reply<'_>) {
    let (request, name) = match (parse_load(call.args), call.key()) {
        (Ok(request), Some(name)) => (request, name),
        (Err(fault), _) => return reply.error(fault),
        (_, None) => return unknown_account(reply),
    };
    let mut key = OpenKey::new(call.context, name, Mode::Write);
    if desk.load(&mut key).is_err() {
        return reply.error(WRONG_TYPE);
    }
    if desk.account.is_some() && !request.replace {
        return reply.error(format_args!("BUSYKEY {}", LoadError::Exists));
    }
    desk.remember();
    let mut account = Account::empty(Status::Active);
    if let Err(error) = decode_foreign_account(request.image, &mut account) {
        return reject(reply, Code::Invalid, LoadError::Image(error).to_string());
    }
    desk.account = Some(account);
    desk.store(&mut key);
    if let Ok(Some(value)) = key.value::<AccountValue>() {
        call.context.replicate_words(APPLY, name, &[IMAGE, value.image()]);
    }
    reply.ok();
}
