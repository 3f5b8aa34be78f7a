//! Answers the server about a command that contains others: where its keys are, and whether a user may execute the
//! contained commands.

use super::context::OK;
use super::name::{Name, OwnedName};
use super::{Context, call};
use scurry_resp::table::Spec;
use std::ffi::c_int;

/// Answers the server if it asks for key positions. Returns false if it did not ask.
pub(crate) fn tell_keys<P: Iterator<Item = usize>>(
    context: &Context,
    positions: impl FnOnce() -> P,
) -> bool {
    // SAFETY: the context is valid.
    if unsafe { call!(RedisModule_IsKeysPositionRequest(context.raw())) } == 0 {
        return false;
    }
    for position in positions() {
        let position = c_int::try_from(position).unwrap_or(c_int::MAX);
        // SAFETY: the server has asked for positions.
        unsafe { call!(RedisModule_KeyAtPos(context.raw(), position)) }
    }
    true
}

impl Context {
    /// Reports whether the user of the connection may execute this command on this key.
    pub(crate) fn permits(&self, spec: &Spec, key: Name<'_>) -> bool {
        let name = OwnedName::new(spec.lower_name().as_bytes());
        // The command has at least this many arguments.
        let arity = spec.arity.unsigned_abs() as usize;
        let mut words = vec![key.raw(); arity];
        words[0] = name.name().raw();
        // SAFETY: the strings live until the end of the block and the user is freed once. A null user name, as in a
        // context without a connection, is not used.
        unsafe {
            let user_name = call!(RedisModule_GetCurrentUserName(self.raw()));
            if user_name.is_null() {
                return true;
            }
            let user = call!(RedisModule_GetModuleUserFromUserName(user_name));
            call!(RedisModule_FreeString(self.raw(), user_name));
            if user.is_null() {
                return false;
            }
            let count = c_int::try_from(words.len()).unwrap_or(c_int::MAX);
            let status =
                call!(RedisModule_ACLCheckCommandPermissions(user, words.as_mut_ptr(), count));
            call!(RedisModule_FreeModuleUser(user));
            status == OK
        }
    }
}
