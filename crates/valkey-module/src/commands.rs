//! From the server's call of a command to the handler of its entry in the one table.

mod accounts;
mod apply;
mod chain;
mod entity;
mod image;
mod scur;
#[cfg(feature = "test-clock")]
mod test_clock;

use crate::account::AccountValue;
use crate::desk::{self, Desk};
use crate::server::{Context, Exclusive, Mode, Name, OpenKey, arguments, create_command};
use scurry_resp::table::{self, CommandId, EntityId, ImageId, Spec, StoreId};
use scurry_resp::{Args, NO_LOG_OF_MODULE, Protocol, Reply, RequestLimits, Requests};
use std::ffi::{CStr, c_int};
use valkey_module::raw;

/// A write that a client sends to a replica that takes writes.
const READ_ONLY: &str = "READONLY only the primary decides: send it there";

/// A command without a key that changes nothing.
pub(crate) const WITHOUT_KEY: &CStr = c"SCUR.TOTALS";

/// The error of a module that calls a command from within what another has caused, formed.
const WITHIN_ANOTHER: &[u8] =
    b"-ERR a command of scurry is running: call this one when that has ended\r\n";

/// A command that runs, with what it is about.
pub(crate) struct Call<'c> {
    context: &'c Context,
    /// The entry in the table.
    spec: &'static Spec,
    /// As the server has them.
    names: &'c [Name<'c>],
    args: Args<'c>,
}

impl<'c> Call<'c> {
    /// The key; none for a command that has none.
    fn key(&self) -> Option<Name<'c>> {
        self.names.get(1).copied().filter(|_| self.spec.keys.0 == 1)
    }
}

/// Room for arguments and reply, used again.
#[derive(Default)]
struct Room {
    requests: Requests,
    formed: Vec<u8>,
}

static ROOM: Exclusive<Room> = Exclusive::new();

/// Makes the commands known to the server. The first one that it refuses is an error.
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

/// A command of this name in any case.
fn look_up(name: &[u8]) -> Option<&'static Spec> {
    let of_nodes =
        || table::NODE.iter().find(|spec| name.eq_ignore_ascii_case(spec.name.as_bytes()));
    table::find(name).or_else(of_nodes)
}

// SAFETY: called by the server alone, with a valid context and as many arguments as it says.
unsafe extern "C" fn run(
    context: *mut raw::RedisModuleCtx,
    first: *mut *mut raw::RedisModuleString,
    count: c_int,
) -> c_int {
    // SAFETY: see above; nothing of it is kept.
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

fn execute(context: &Context, names: &[Name<'_>], room: &mut Room) {
    let Room { requests, formed } = room;
    let spec = names.first().and_then(|name| look_up(name.bytes()));
    match spec.filter(|spec| spec.accepts(names.len())) {
        None => context.wrong_arity(),
        Some(spec) => {
            let protocol = if context.is_resp3() { Protocol::Resp3 } else { Protocol::Resp2 };
            let mut reply = Reply::new(formed, protocol);
            let key = open(context, spec, names);
            match take(spec, names, requests) {
                Some(len_max) => reply.error(format_args!(
                    "INVALID 10 the arguments are longer than {len_max} bytes"
                )),
                None => {
                    let call = Call { context, spec, names, args: requests.get(0) };
                    let done = desk::at(context, |desk| dispatch(&call, key, desk, &mut reply));
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
        *room = Room::default();
    }
}

/// Bytes of room that are kept from one command to the next.
const ROOM_KEPT_MAX: usize = 256 * 1024;

/// Opens the key of a command about an account, which comes while the arguments are read.
fn open<'c>(context: &'c Context, spec: &Spec, names: &[Name<'c>]) -> Option<OpenKey<'c>> {
    let name = names.get(1).filter(|_| spec.group == "scur")?;
    let mode = if spec.flags.contains(&"write") { Mode::Write } else { Mode::Read };
    let key = OpenKey::new(context, *name, mode);
    key.touch::<AccountValue>();
    Some(key)
}

/// Takes the arguments, or gives the bound that they break: those of our own server. What was decided
/// elsewhere is not refused here: an account may be longer than what a client may send.
fn take(spec: &Spec, names: &[Name<'_>], requests: &mut Requests) -> Option<usize> {
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
        // What is refused is not copied.
        if longest <= argument_len_max && sum <= request_len_max { bytes } else { &[] }
    }));
    if longest > argument_len_max {
        Some(argument_len_max)
    } else {
        (sum > request_len_max).then_some(request_len_max)
    }
}

fn dispatch(call: &Call<'_>, key: Option<OpenKey<'_>>, desk: &mut Desk, reply: &mut Reply<'_>) {
    if let CommandId::Node(id) = call.spec.id {
        return apply::run(id, call, desk, reply);
    }
    if call.context.is_replica() && call.spec.flags.contains(&"write") {
        return reply.error(READ_ONLY);
    }
    match (call.spec.id, key) {
        (CommandId::ScurRead(id), Some(mut key)) => scur::read(id, call, &mut key, desk, reply),
        (CommandId::ScurWrite(id), Some(mut key)) => scur::write(id, call, &mut key, desk, reply),
        (CommandId::ScurChain(_), Some(key)) => chain::run(call, key, desk, reply),
        (CommandId::Store(StoreId::Totals), _) => scur::totals(reply),
        (CommandId::Store(StoreId::List), _) => accounts::list(call, reply),
        (CommandId::Store(StoreId::Find), _) => accounts::find(call, reply),
        (CommandId::Store(StoreId::Snapshot | StoreId::Watch | StoreId::Statement), _) => {
            reply.error(NO_LOG_OF_MODULE);
        }
        (CommandId::Image(ImageId::Dump), _) => image::dump(call, reply),
        (CommandId::Image(ImageId::Load), _) => image::load(call, desk, reply),
        (CommandId::Entity(EntityId::Put), _) => entity::put(call, desk, reply),
        (CommandId::Entity(EntityId::Del), _) => entity::del(call, desk, reply),
        (CommandId::Entity(EntityId::Get), _) => entity::get(call, reply),
        (CommandId::Entity(EntityId::Find), _) => entity::find(call, reply),
        // None of them comes here: arity has given the first three their key, and the others were
        // not registered, because the server has commands of these names itself.
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
