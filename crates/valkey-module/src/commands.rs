//! Receives commands from the server and dispatches each to the handler of its entry in the command table.

mod accounts;
mod apply;
mod chain;
mod entity;
mod image;
mod scur;
#[cfg(feature = "test-clock")]
mod test_clock;

use crate::account::AccountValue;
use crate::command_state::{self, CommandState};
use crate::server::{Context, Exclusive, Mode, Name, OpenKey, arguments, create_command};
use scurry_resp::table::{self, CommandId, EntityId, ImageId, Spec, StoreId};
use scurry_resp::{Args, NO_LOG_OF_MODULE, Protocol, Reply, RequestLimits, Requests};
use std::ffi::{CStr, c_int};
use valkey_module::raw;

/// Error for a write that a client sends to a writable replica.
const READ_ONLY: &str = "READONLY only the primary decides: send it there";

/// Command without a key that changes nothing.
pub(crate) const WITHOUT_KEY: &CStr = c"SCUR.TOTALS";

/// Encoded error for another module that calls a command while one is running.
const WITHIN_ANOTHER: &[u8] =
    b"-ERR a command of scurry is running: call this one when that has ended\r\n";

/// A running command and its arguments.
pub(crate) struct Call<'c> {
    context: &'c Context,
    /// Entry in the command table.
    spec: &'static Spec,
    /// Arguments as strings of the server.
    names: &'c [Name<'c>],
    args: Args<'c>,
}

impl<'c> Call<'c> {
    /// Returns the key. None for a command without a key.
    fn key(&self) -> Option<Name<'c>> {
        self.names.get(1).copied().filter(|_| self.spec.keys.0 == 1)
    }
}

/// Buffers for arguments and reply, reused from command to command.
#[derive(Default)]
struct CommandBuffers {
    requests: Requests,
    formed: Vec<u8>,
}

static ROOM: Exclusive<CommandBuffers> = Exclusive::new();

/// Registers the commands with the server. The error is the name of the first command that it refuses.
pub(crate) fn register(context: &Context) -> Result<(), &'static str> {
    for spec in table::SCUR.iter().chain(table::ENTITY).chain(table::STORE).chain(table::NODE) {
        if !create_command(context, spec, run) {
            return Err(spec.name);
        }
    }
    #[cfg(feature = "test-clock")]
    if !test_clock::register(context) {
        return Err("SCUR.TESTCLOCK");
    }
    Ok(())
}

fn is_chain(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"SCUR.CHAIN")
}

/// Finds a command by its name, in any case.
fn look_up(name: &[u8]) -> Option<&'static Spec> {
    let of_nodes =
        || table::NODE.iter().find(|spec| name.eq_ignore_ascii_case(spec.name.as_bytes()));
    table::find(name).or_else(of_nodes)
}

// SAFETY: only the server calls this, with a valid context and `count` arguments.
unsafe extern "C" fn run(
    context: *mut raw::RedisModuleCtx,
    first: *mut *mut raw::RedisModuleString,
    count: c_int,
) -> c_int {
    // SAFETY: see above. Neither outlives this call.
    let (context, names) = unsafe { (Context::new(context), arguments(first, count)) };
    if names.first().is_some_and(|name| is_chain(name.bytes()))
        && chain::tells_keys(&context, names)
    {
        return 0;
    }
    if ROOM.with(&context, |room| execute(&context, names, room)).is_none() {
        context.send(&mut WITHIN_ANOTHER.to_vec());
    }
    0
}

fn execute(context: &Context, names: &[Name<'_>], room: &mut CommandBuffers) {
    let CommandBuffers { requests, formed } = room;
    let spec = names.first().and_then(|name| look_up(name.bytes()));
    match spec.filter(|spec| spec.accepts(names.len())) {
        None => context.wrong_arity(),
        Some(spec) => {
            let protocol = if context.is_resp3() { Protocol::Resp3 } else { Protocol::Resp2 };
            let mut reply = Reply::new(formed, protocol);
            let key = open(context, spec, names);
            match copy_arguments(spec, names, requests) {
                Some(len_max) => reply.error(format_args!(
                    "INVALID 10 the arguments are longer than {len_max} bytes"
                )),
                None => {
                    let call = Call { context, spec, names, args: requests.get(0) };
                    let done = command_state::with(context, |state| {
                        dispatch(&call, key, state, &mut reply)
                    });
                    // The state is in use: this command was called from within another one.
                    if done.is_none() {
                        formed.extend_from_slice(WITHIN_ANOTHER);
                    }
                }
            }
            context.send(formed);
        }
    }
    requests.clear();
    formed.clear();
    if requests.room() + formed.capacity() > ROOM_KEPT_MAX {
        *room = CommandBuffers::default();
    }
}

/// Bytes of buffers that are kept from one command to the next.
const ROOM_KEPT_MAX: usize = 256 * 1024;

/// Opens the key of an account's command, so that its memory is fetched while the arguments are read.
fn open<'c>(context: &'c Context, spec: &Spec, names: &[Name<'c>]) -> Option<OpenKey<'c>> {
    let name = names.get(1).filter(|_| spec.group == "scur")?;
    let mode = if spec.flags.contains(&"write") { Mode::Write } else { Mode::Read };
    let key = OpenKey::new(context, *name, mode);
    key.touch::<AccountValue>();
    Some(key)
}

/// Copies the arguments, or returns the bound that they exceed, which is that of `scurry serve`. Commands from a
/// primary are not bounded: an account may be longer than any argument of a client.
fn copy_arguments(spec: &Spec, names: &[Name<'_>], requests: &mut Requests) -> Option<usize> {
    let any = u32::MAX as usize;
    let (argument_len_max, request_len_max) = match (spec.id, RequestLimits::default()) {
        (CommandId::Node(_), _) => (any, any),
        (_, of_clients) => (of_clients.argument_len_max, of_clients.request_len_max),
    };
    let (mut longest, mut sum) = (0, 0usize);
    requests.push(names.iter().map(|name| {
        let bytes = name.bytes();
        longest = longest.max(bytes.len());
        sum = sum.saturating_add(bytes.len());
        // Arguments that will be refused are not copied.
        if longest <= argument_len_max && sum <= request_len_max { bytes } else { &[] }
    }));
    if longest > argument_len_max {
        Some(argument_len_max)
    } else {
        (sum > request_len_max).then_some(request_len_max)
    }
}

fn dispatch(
    call: &Call<'_>,
    key: Option<OpenKey<'_>>,
    state: &mut CommandState,
    reply: &mut Reply<'_>,
) {
    if let CommandId::Node(id) = call.spec.id {
        return apply::run(id, call, state, reply);
    }
    if call.context.is_replica() && call.spec.flags.contains(&"write") {
        return reply.error(READ_ONLY);
    }
    match (call.spec.id, key) {
        (CommandId::ScurRead(id), Some(mut key)) => scur::read(id, call, &mut key, state, reply),
        (CommandId::ScurWrite(id), Some(mut key)) => scur::write(id, call, &mut key, state, reply),
        (CommandId::ScurChain(_), Some(key)) => chain::run(call, key, state, reply),
        (CommandId::Store(StoreId::Totals), _) => scur::totals(reply),
        (CommandId::Store(StoreId::List), _) => accounts::list(call, reply),
        (CommandId::Store(StoreId::Find), _) => accounts::find(call, reply),
        (CommandId::Store(StoreId::Snapshot | StoreId::Watch | StoreId::Statement), _) => {
            reply.error(NO_LOG_OF_MODULE);
        }
        (CommandId::Image(ImageId::Dump), _) => image::dump(call, reply),
        (CommandId::Image(ImageId::Load), _) => image::load(call, state, reply),
        (CommandId::Entity(EntityId::Put), _) => entity::put(call, state, reply),
        (CommandId::Entity(EntityId::Del), _) => entity::del(call, state, reply),
        (CommandId::Entity(EntityId::Get), _) => entity::get(call, reply),
        (CommandId::Entity(EntityId::Find), _) => entity::find(call, reply),
        // Not reachable: the arity of the first three guarantees their key, and the others are not registered, because
        // the server has commands of these names.
        (
            CommandId::ScurRead(_)
            | CommandId::ScurWrite(_)
            | CommandId::ScurChain(_)
            | CommandId::Hot(_)
            | CommandId::String(_)
            | CommandId::Key(_)
            | CommandId::Flush(_)
            | CommandId::Part(_)
            | CommandId::Echo(_)
            | CommandId::Transaction(_)
            | CommandId::Connection(_)
            | CommandId::Server(_)
            | CommandId::Sentinel(_)
            | CommandId::Group(_)
            | CommandId::Help(_)
            | CommandId::Container(_)
            | CommandId::Node(_),
            _,
        ) => reply.error("ERR not a command of scurry"),
    }
}
