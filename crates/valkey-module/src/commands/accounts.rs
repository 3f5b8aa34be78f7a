//! SCUR.LIST, which lists the accounts of this node in bounded steps, and SCUR.FIND, for which a node has no index.

use super::Call;
use crate::account::AccountValue;
use crate::server::{Mode, OpenKey, OwnedName};
use scurry_codec::decode_state;
use scurry_resp::{NO_INDEX_OF_MODULE, Protocol, Reply, list_row, parse_find, parse_list};

const NO_SCAN: &str = "ERR the server does not say which keys it has: use SCAN with TYPE scurryacc";

pub(super) fn find(call: &Call<'_>, reply: &mut Reply<'_>) {
    match parse_find(call.args) {
        Ok(_) => reply.error(NO_INDEX_OF_MODULE),
        Err(fault) => reply.error(fault),
    }
}

pub(super) fn list(call: &Call<'_>, reply: &mut Reply<'_>) {
    let request = match parse_list(call.args) {
        Ok(request) => request,
        Err(fault) => return reply.error(fault),
    };
    let mut keys = Vec::new();
    let cursor = call.context.scan::<AccountValue>(request.cursor, request.count, |key| {
        if key.starts_with(request.prefix) {
            keys.push(OwnedName::new(key));
        }
    });
    let Some(cursor) = cursor else { return reply.error(NO_SCAN) };
    let (mut rows, mut len) = (Vec::new(), 0);
    for key in &keys {
        let name = key.name();
        let mut open = OpenKey::new(call.context, name, Mode::Read);
        // The key was just listed, and no other command has run since.
        let Ok(Some(value)) = open.value::<AccountValue>() else { continue };
        let Ok((status, version)) = decode_state(value.image()) else { continue };
        if request.takes(name.bytes(), status) {
            // A row has the same bytes in both protocols.
            list_row(&mut Reply::new(&mut rows, Protocol::Resp2), name.bytes(), status, version);
            len += 1;
        }
    }
    reply.array(2);
    reply.text(&cursor.to_string());
    reply.array(len);
    reply.formed(&rows);
}
