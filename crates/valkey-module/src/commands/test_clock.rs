//! SCUR.TESTCLOCK, only in modules built for tests: sets the clock and runs timers.

use crate::command_state;
use crate::expiry;
use crate::server::{Context, arguments, call, test_clock};
use scurry_ledger::Time;
use scurry_resp::{Protocol, Reply, parse_integer};
use std::ffi::c_int;
use valkey_module::raw;

/// Registers the command. Returns false if the server refuses it.
pub(super) fn register(context: &Context) -> bool {
    // SAFETY: the texts end in zeros, and the server copies them.
    unsafe {
        call!(RedisModule_CreateCommand(
            context.raw(),
            c"scur.testclock".as_ptr(),
            Some(run),
            c"write".as_ptr(),
            0,
            0,
            0,
        )) == 0
    }
}

// SAFETY: only the server calls this, with a valid context and `count` arguments.
unsafe extern "C" fn run(
    context: *mut raw::RedisModuleCtx,
    first: *mut *mut raw::RedisModuleString,
    count: c_int,
) -> c_int {
    // SAFETY: see above. Neither outlives this call.
    let (context, words) = unsafe { (Context::new(context), arguments(first, count)) };
    let mut formed = Vec::new();
    let mut reply = Reply::new(&mut formed, Protocol::Resp2);
    match words {
        [_, now] => match parse_integer(now.bytes()) {
            Some(now) => {
                test_clock::set(Time(now));
                reply.ok();
            }
            None => reply.error("ERR SCUR.TESTCLOCK now: ms"),
        },
        _ => {
            let commits = command_state::with(&context, |state| {
                expiry::turn(&context, state, context.now(), usize::MAX)
            });
            let commits = commits.and_then(|commits| i64::try_from(commits).ok());
            reply.integer(commits.unwrap_or(-1));
        }
    }
    context.send(&mut formed);
    0
}
