//! From the arguments of a request to the command that handles them.

use crate::caller::Caller;
use crate::client::Client;
use crate::commands::expiry::Shown;
use crate::commands::{
    about, acl, auth, cluster, config, connection, entity, events, expiry, images, info, keys,
    latency, lists, numbers, object, replication, scan, scur, shutdown, slowlog, tracking, values,
    wrong_arity,
};
use crate::effect::Effect;
use crate::node::Node;
use crate::port::Door;
use crate::stopwatch;
use crate::timing::Origin;
use crate::users::User;
use scurry_engine::End;
use scurry_resp::plain::DeadlineUnit;
use scurry_resp::table::{self, CommandId, Spec, Spread};
use scurry_resp::{Args, Reply};
use std::sync::Arc;

/// Longest quotation of a request in an error, bytes, as in Redis.
const QUOTE_LEN_MAX: usize = 128;

/// Where a request is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// By the connection's core, and it does not matter what else is under way: it has a key here.
    Here,
    /// By the connection's core, which must be done with the requests before it: it is about the
    /// connection or the server.
    Alone,
    /// By this other core.
    Core(u16),
    /// In parts, by the cores of its keys.
    Keys,
    /// In parts, by every core.
    Every,
}

/// The entry of the table, when the command exists and the number of arguments is right.
#[inline]
pub(crate) fn look_up(args: Args<'_>) -> Option<&'static Spec> {
    let mut spec = table::find(args.get(0)?)?;
    if !spec.subcommands.is_empty()
        && let Some(name) = args.get(1)
    {
        spec = spec.subcommand(name)?;
    }
    spec.accepts(args.len()).then_some(spec)
}

/// Where a request of this connection is executed.
#[inline]
pub(crate) fn route(node: &Node, client: &Client, spec: &Spec, args: Args<'_>) -> Route {
    let slots = node.shared.slots;
    if spec.keys.0 == 0 {
        return match spec.spread {
            _ if slots.cores() == 1 || client.door == Door::Core => Route::Alone,
            // Refused while there are accounts anywhere: every core is asked first.
            _ if matches!(spec.id, CommandId::FlushAll | CommandId::FlushDb) => Route::Alone,
            Spread::EverySum | Spread::EverySuccess => Route::Every,
            // Each step of these is one core's.
            _ if spec.id == CommandId::Scan => Route::Core(scan::core_of(node, args)),
            _ if spec.id == CommandId::EntityFind => Route::Core(entity::core_of(node, args)),
            _ => Route::Alone,
        };
    }
    if slots.cores() == 1 || client.door == Door::Core {
        return Route::Here;
    }
    let first = slots.owner_of(args.at(usize::try_from(spec.keys.0).unwrap_or(1)));
    let several = spec.keys.1 != spec.keys.0
        && spec
            .key_positions(args.len())
            .any(|position| slots.owner_of(args.at(position)) != first);
    match several {
        // Refused: it needs keys of several cores at once.
        true if spec.spread == Spread::One => Route::Alone,
        true => Route::Keys,
        false if first == node.core => Route::Here,
        false => Route::Core(first),
    }
}

/// Why this connection may not have the request executed; none when it may.
#[inline]
fn refusal<'a>(node: &Node, client: &Client, spec: &Spec, args: Args<'_>) -> Option<Refusal<'a>> {
    if !client.authenticated
        && !matches!(
            spec.id,
            CommandId::Auth | CommandId::Hello | CommandId::Quit | CommandId::Reset
        )
    {
        return Some(Refusal::NotAuthenticated);
    }
    if !client.roles.permit(spec.role) {
        return Some(Refusal::NoPermission(no_permission(spec, client)));
    }
    if let Some(trouble) = node.durable.trouble()
        && concerns_this_core(node, client, spec, args)
        && let Some(text) = trouble.refuses(spec)
    {
        return Some(Refusal::Trouble(text));
    }
    if spec.keys.0 != 0 && node.shared.slots.cores() > 1 {
        return cluster::redirection(node, client, spec, args).map(Refusal::Elsewhere);
    }
    None
}

/// False for a request all of whose keys are those of other cores, which refuse it if they have to.
#[cold]
fn concerns_this_core(node: &Node, client: &Client, spec: &Spec, args: Args<'_>) -> bool {
    let owner = |position| node.shared.slots.owner_of(args.at(position));
    spec.keys.0 == 0
        || client.door == Door::Core
        || spec.key_positions(args.len()).any(|position| owner(position) == node.core)
}

/// The words for what the table has no entry for.
pub(crate) fn refuse_unknown(node: &mut Node, client: &Client, args: Args<'_>, out: &mut Vec<u8>) {
    let begin = out.len();
    let refusal = Refusal::of(args);
    refusal.write(&mut Reply::new(out, client.protocol));
    count_refused(node, refusal.spec(), &out[begin..]);
}

/// Executes one request of a connection of this core, and appends its reply.
pub(crate) fn execute(
    node: &mut Node,
    client: &mut Client,
    spec: Option<&'static Spec>,
    args: Args<'_>,
    out: &mut Vec<u8>,
) -> Effect {
    let begin = out.len();
    let refusal = match spec {
        None => Some(Refusal::of(args)),
        Some(spec) => refusal(node, client, spec, args),
    };
    let effect = match (spec, refusal) {
        (Some(spec), None) => {
            let alone = stopwatch::is_alone(spec.id, args.len());
            if node.watch.stopwatch.ends_before(alone) {
                node.span_ended(Origin::Client(client), None);
            }
            client.command = spec.name;
            let mut reply = Reply::new(out, client.protocol);
            let effect = match run_for_client(node, client, spec, args, &mut reply) {
                Some(effect) => effect,
                None => {
                    run(node, spec, args, &mut reply);
                    if node.tracking.is_active() {
                        track(node, client, spec, args, out);
                    }
                    Effect::None
                }
            };
            // A command that others have a part in is measured when it is executed again, or there.
            if !matches!(effect, Effect::Ask(_) | Effect::Every)
                && node.watch.stopwatch.ends_after(alone, spec)
            {
                node.span_ended(Origin::Client(client), Some((spec, args)));
            }
            effect
        }
        (_, Some(refusal)) => {
            refusal.write(&mut Reply::new(out, client.protocol));
            count_refused(node, spec.or(refusal.spec()), &out[begin..]);
            if node.tracking.is_active() {
                client.command_done(spec);
            }
            return Effect::None;
        }
        (None, None) => Effect::None,
    };
    if !matches!(effect, Effect::Ask(_) | Effect::Every) {
        count(node, spec, &out[begin..]);
    }
    if node.tracking.is_active() {
        client.command_done(spec);
    }
    effect
}

/// Those who have read what a command has changed are told, and what it has read is tracked;
/// pushes for the client itself come right behind the reply.
#[cold]
fn track(node: &mut Node, client: &Client, spec: &'static Spec, args: Args<'_>, out: &mut Vec<u8>) {
    let tracker = client.tracker(node.core);
    let mut own = Reply::new(out, client.protocol);
    node.track(tracker.as_ref(), spec, args, Some(&mut own));
}

/// Appends the reply of the command that has waited for a verdict: `user` may come in.
pub(crate) fn finish(
    node: &mut Node,
    client: &mut Client,
    user: Option<Arc<User>>,
    out: &mut Vec<u8>,
) {
    let begin = out.len();
    let mut reply = Reply::new(out, client.protocol);
    auth::finish(node, client, user, &mut reply);
    // The command was counted when it came.
    if out.get(begin) == Some(&b'-') {
        node.counters.errors += 1;
        node.measures.note_error(&out[begin..]);
    }
}

/// May a request be executed by another core? Its error when not.
pub(crate) fn check(
    node: &mut Node,
    client: &mut Client,
    spec: &'static Spec,
    args: Args<'_>,
    out: &mut Vec<u8>,
) -> bool {
    client.command = spec.name;
    match refusal(node, client, spec, args) {
        None => true,
        Some(refusal) => {
            let begin = out.len();
            refusal.write(&mut Reply::new(out, client.protocol));
            count_refused(node, Some(spec), &out[begin..]);
            false
        }
    }
}

/// As [`check`], and says nothing.
pub(crate) fn is_refused(node: &Node, client: &Client, spec: &Spec, args: Args<'_>) -> bool {
    refusal(node, client, spec, args).is_some()
}

/// Executes one request of a connection of any core, which has checked it, and appends its reply.
pub(crate) fn run_here(
    node: &mut Node,
    caller: &Caller,
    spec: &'static Spec,
    args: Args<'_>,
    out: &mut Vec<u8>,
) {
    let begin = out.len();
    let alone = stopwatch::is_alone(spec.id, args.len());
    if node.watch.stopwatch.ends_before(alone) {
        node.span_ended(Origin::Core(caller), None);
    }
    let mut reply = Reply::new(out, caller.protocol);
    match node.durable.trouble().and_then(|trouble| trouble.refuses(spec)) {
        Some(text) => reply.error(text),
        None => {
            run(node, spec, args, &mut reply);
            if node.tracking.is_active() {
                node.track(caller.tracker.as_ref(), spec, args, None);
            }
        }
    }
    if node.watch.stopwatch.ends_after(alone, spec) {
        node.span_ended(Origin::Core(caller), Some((spec, args)));
    }
    count(node, Some(spec), &out[begin..]);
}

/// Counts a command that is answered like that, as far as it is answered yet.
pub(crate) fn count(node: &mut Node, spec: Option<&Spec>, reply: &[u8]) {
    let is_error = reply.first() == Some(&b'-');
    node.counters.commands += 1;
    node.counters.errors += u64::from(is_error);
    node.measures.count(spec, is_error);
    if is_error {
        node.measures.note_error(reply);
    }
}

/// The same of one that was not executed.
#[cold]
fn count_refused(node: &mut Node, spec: Option<&Spec>, reply: &[u8]) {
    count(node, spec, reply);
    if let Some(spec) = spec {
        node.measures.count_refused(spec);
    }
}

/// A request that is refused before any command runs.
enum Refusal<'a> {
    UnknownCommand(Args<'a>),
    UnknownSubcommand {
        container: &'static Spec,
        name: &'a [u8],
    },
    WrongArity(&'static Spec),
    NotAuthenticated,
    /// Its user has not the role.
    NoPermission(String),
    /// The log cannot take it.
    Trouble(String),
    /// Its keys are not this core's.
    Elsewhere(String),
}

impl<'a> Refusal<'a> {
    /// Why the table has no entry for a request.
    fn of(args: Args<'a>) -> Refusal<'a> {
        let Some(spec) = table::find(args.at(0)) else { return Refusal::UnknownCommand(args) };
        let Some(name) = args.get(1).filter(|_| !spec.subcommands.is_empty()) else {
            return Refusal::WrongArity(spec);
        };
        match spec.subcommand(name) {
            Some(spec) => Refusal::WrongArity(spec),
            None => Refusal::UnknownSubcommand { container: spec, name },
        }
    }
}

impl Refusal<'_> {
    /// The command that the table has, where the arguments alone are wrong.
    fn spec(&self) -> Option<&'static Spec> {
        match self {
            Refusal::WrongArity(spec) => Some(spec),
            _ => None,
        }
    }

    #[cold]
    fn write(&self, reply: &mut Reply<'_>) {
        match self {
            Refusal::UnknownCommand(args) => unknown_command(*args, reply),
            Refusal::UnknownSubcommand { container, name } => reply.error_quoting(
                "ERR unknown subcommand '",
                quoted(name, QUOTE_LEN_MAX),
                &format!("'. Try {} HELP.", container.name),
            ),
            Refusal::WrongArity(spec) if spec.id == CommandId::Exec => {
                let why = wrong_arity(spec);
                let why = why.trim_start_matches("ERR ");
                reply.error(format_args!("EXECABORT Transaction discarded because of: {why}"));
            }
            Refusal::WrongArity(spec) => reply.error(wrong_arity(spec)),
            Refusal::NoPermission(text) | Refusal::Trouble(text) | Refusal::Elsewhere(text) => {
                reply.error(text);
            }
            Refusal::NotAuthenticated => reply.error("NOAUTH Authentication required."),
        }
    }
}

/// Redis's words for a command that the user's roles do not permit.
#[cold]
fn no_permission(spec: &Spec, client: &Client) -> String {
    let (user, command) = (&client.user.name, spec.lower_name());
    format!("NOPERM User {user} has no permissions to run the '{command}' command")
}

/// What Redis quotes of an argument: up to a zero byte, and so many bytes.
fn quoted(bytes: &[u8], len_max: usize) -> &[u8] {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    &bytes[..end.min(len_max)]
}

fn unknown_command(args: Args<'_>, reply: &mut Reply<'_>) {
    let mut text = b"unknown command '".to_vec();
    text.extend_from_slice(quoted(args.at(0), QUOTE_LEN_MAX));
    text.extend_from_slice(b"', with args beginning with: ");
    let begin = text.len();
    for argument in args.iter_from(1) {
        let len = text.len() - begin;
        if len >= QUOTE_LEN_MAX {
            break;
        }
        text.push(b'\'');
        text.extend_from_slice(quoted(argument, QUOTE_LEN_MAX - len));
        text.extend_from_slice(b"' ");
    }
    reply.error_quoting("ERR ", &text, "");
}

/// Commands about the connection or the server; none for one of the others.
#[inline]
fn run_for_client(
    node: &mut Node,
    client: &mut Client,
    spec: &'static Spec,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Option<Effect> {
    if spec.keys.0 != 0 {
        return None;
    }
    match spec.id {
        CommandId::Hello => return Some(auth::hello(node, client, args, reply)),
        CommandId::Auth => return Some(auth::auth(node, client, args, reply)),
        CommandId::Select => connection::select(args, reply),
        CommandId::Quit => {
            reply.ok();
            return Some(Effect::Close);
        }
        CommandId::Reset => connection::reset(node, client, reply),
        CommandId::Info => return Some(info::info(node, client, args, reply)),
        CommandId::Role => replication::role(reply),
        CommandId::Time => connection::time(node, reply),
        CommandId::ScurTotals => return Some(scur::totals(client, reply)),
        CommandId::ScurWatch => return Some(events::watch(node, client, args, reply)),
        CommandId::FlushAll | CommandId::FlushDb => {
            return Some(keys::flush(node, client, args, reply));
        }
        CommandId::ClientId => reply.unsigned(client.id),
        CommandId::ClientGetName => connection::get_name(client, reply),
        CommandId::ClientSetName => connection::set_name(client, args, reply),
        CommandId::ClientSetInfo => connection::set_info(client, args, reply),
        CommandId::ClientInfo => connection::describe(node, client, reply),
        CommandId::ClientList => return Some(connection::list(client, args, reply)),
        CommandId::ClientNoEvict | CommandId::ClientNoTouch => connection::on_off(args, reply),
        CommandId::ClientTracking => tracking::tracking(node, client, args, reply),
        CommandId::ClientTrackingInfo => tracking::info(client, reply),
        CommandId::ClientCaching => tracking::caching(client, args, reply),
        CommandId::ClientGetRedir => tracking::get_redirection(client, reply),
        CommandId::ClusterInfo => cluster::info(node, reply),
        CommandId::ClusterKeySlot => cluster::key_slot(args, reply),
        CommandId::ClusterMyId => cluster::my_id(node, client, reply),
        CommandId::ClusterNodes => cluster::nodes(node, client, reply),
        CommandId::ClusterShards => cluster::shards(node, client, reply),
        CommandId::ClusterSlots => cluster::slots(node, client, reply),
        CommandId::ReadOnly | CommandId::ReadWrite => reply.ok(),
        CommandId::Command => about::command(reply),
        CommandId::CommandCount => about::count(reply),
        CommandId::CommandDocs => about::docs(args, reply),
        CommandId::CommandGetKeys => about::get_keys(args, reply),
        CommandId::CommandInfo => about::info(args, reply),
        CommandId::CommandList => about::list(args, reply),
        CommandId::ConfigGet => config::get(node, args, reply),
        CommandId::AclWhoAmI => acl::who_am_i(client, reply),
        CommandId::AclUsers => acl::users(node, reply),
        CommandId::Wait => replication::wait(node, args, reply),
        // A port of one core stands for that core's keys.
        CommandId::Scan if client.door == Door::Core => scan::scan_core(node, args, reply),
        CommandId::EntityFind if client.door == Door::Core => entity::find_core(node, args, reply),
        CommandId::SlowlogGet => return Some(slowlog::get(client, args, reply)),
        CommandId::LatencyLatest => return Some(latency::latest(client, reply)),
        CommandId::LatencyHistory => return Some(latency::history(client, args, reply)),
        CommandId::LatencyDoctor => return Some(latency::doctor(client, reply)),
        CommandId::Monitor => connection::monitor(node, client, reply),
        CommandId::Shutdown => shutdown::shutdown(node, args, reply),
        CommandId::AclHelp
        | CommandId::ClientHelp
        | CommandId::ClusterHelp
        | CommandId::CommandHelp
        | CommandId::ConfigHelp
        | CommandId::ObjectHelp
        | CommandId::MemoryHelp
        | CommandId::SlowlogHelp
        | CommandId::LatencyHelp => about::help(args, reply),
        // A container without subcommand has failed its arity.
        CommandId::Acl
        | CommandId::Client
        | CommandId::Cluster
        | CommandId::Config
        | CommandId::Object
        | CommandId::Memory
        | CommandId::Slowlog
        | CommandId::Latency => reply.error(wrong_arity(spec)),
        _ => return None,
    }
    Some(Effect::None)
}

/// Commands that any core executes for any connection. The two that are next to nothing have no
/// call between: it is 5 % of what they cost when they come in pipelines.
#[inline]
fn run(node: &mut Node, spec: &'static Spec, args: Args<'_>, reply: &mut Reply<'_>) {
    match spec.id {
        CommandId::Get => values::get(node, args, reply),
        CommandId::Set => values::set(node, spec, args, reply),
        _ => run_other(node, spec, args, reply),
    }
}

#[inline(never)]
fn run_other(node: &mut Node, spec: &'static Spec, args: Args<'_>, reply: &mut Reply<'_>) {
    match spec.id {
        CommandId::Ping => connection::ping(spec, args, reply),
        CommandId::Echo => reply.bulk(args.at(1)),
        // What they do has been done: here they are answered.
        CommandId::Watch | CommandId::Unwatch => reply.ok(),
        CommandId::SetNx => values::set_nx(node, args, reply),
        CommandId::SetEx => values::set_ex(node, spec, DeadlineUnit::Seconds, args, reply),
        CommandId::PSetEx => values::set_ex(node, spec, DeadlineUnit::Milliseconds, args, reply),
        CommandId::GetSet => values::get_set(node, args, reply),
        CommandId::GetDel => values::get_del(node, args, reply),
        CommandId::GetEx => values::get_ex(node, spec, args, reply),
        CommandId::Append => values::append(node, args, reply),
        CommandId::StrLen => values::str_len(node, args, reply),
        CommandId::GetRange => values::get_range(node, args, reply),
        CommandId::SetRange => values::set_range(node, args, reply),
        CommandId::LPush => lists::push(node, End::Head, args, reply),
        CommandId::RPush => lists::push(node, End::Tail, args, reply),
        CommandId::LPushX => lists::push_present(node, End::Head, args, reply),
        CommandId::RPushX => lists::push_present(node, End::Tail, args, reply),
        CommandId::LPop => lists::pop(node, spec, End::Head, args, reply),
        CommandId::RPop => lists::pop(node, spec, End::Tail, args, reply),
        CommandId::LLen => lists::len(node, args, reply),
        CommandId::LRange => lists::range(node, args, reply),
        CommandId::LIndex => lists::index(node, args, reply),
        CommandId::LSet => lists::set(node, args, reply),
        CommandId::LRem => lists::remove(node, args, reply),
        CommandId::LTrim => lists::trim(node, args, reply),
        CommandId::Incr => numbers::add(node, args.at(1), 1, reply),
        CommandId::Decr => numbers::add(node, args.at(1), -1, reply),
        CommandId::IncrBy => numbers::increment_by(node, args, reply),
        CommandId::DecrBy => numbers::decrement_by(node, args, reply),
        CommandId::MGet => keys::mget(node, args, reply),
        CommandId::MSet => keys::mset(node, args, false, reply),
        CommandId::MSetNx => keys::mset(node, args, true, reply),
        CommandId::Del | CommandId::Unlink => keys::del(node, args, reply),
        CommandId::Exists | CommandId::Touch => keys::exists(node, args, reply),
        CommandId::Type => keys::kind(node, args, reply),
        CommandId::Expire => expiry::expire(node, spec, DeadlineUnit::Seconds, args, reply),
        CommandId::PExpire => expiry::expire(node, spec, DeadlineUnit::Milliseconds, args, reply),
        CommandId::ExpireAt => expiry::expire(node, spec, DeadlineUnit::SecondsAt, args, reply),
        CommandId::PExpireAt => {
            expiry::expire(node, spec, DeadlineUnit::MillisecondsAt, args, reply);
        }
        CommandId::Persist => expiry::persist(node, args, reply),
        CommandId::Ttl => expiry::ttl(node, Shown::TTL, args, reply),
        CommandId::PTtl => expiry::ttl(node, Shown::PTTL, args, reply),
        CommandId::ExpireTime => expiry::ttl(node, Shown::EXPIRE_TIME, args, reply),
        CommandId::PExpireTime => expiry::ttl(node, Shown::PEXPIRE_TIME, args, reply),
        CommandId::Scan => scan::scan(node, args, reply),
        CommandId::ObjectEncoding => object::encoding(node, args, reply),
        CommandId::ObjectFreq => object::frequency(node, args, reply),
        CommandId::ObjectIdleTime => object::idle_time(node, args, reply),
        CommandId::ObjectRefCount => object::reference_count(node, args, reply),
        CommandId::MemoryUsage => object::memory_usage(node, args, reply),
        CommandId::EntityPut => entity::put(node, args, reply),
        CommandId::EntityGet => entity::get(node, args, reply),
        CommandId::EntityDel => entity::del(node, args, reply),
        CommandId::EntityFind => entity::find(node, args, reply),
        CommandId::SlowlogLen => slowlog::len(node, reply),
        CommandId::SlowlogReset => slowlog::reset(node, reply),
        CommandId::LatencyReset => latency::reset(node, args, reply),
        CommandId::ConfigSet => config::set(node, args, reply),
        CommandId::DbSize => keys::db_size(node, reply),
        CommandId::ScurDump => images::dump(node, args, reply),
        CommandId::ScurLoad => images::load(node, args, reply),
        CommandId::ScurSnapshot => match node.durable.begin_snapshot() {
            Ok(()) => reply.ok(),
            Err(why) => reply.error(format_args!("ERR {why}")),
        },
        CommandId::FlushAll | CommandId::FlushDb => keys::flush_shard(node, args, reply),
        CommandId::ConfigResetStat => config::reset_stat(node, reply),
        // Every other command has its line above: this is for SCUR commands, and says so else.
        _ => scur::scur(node, spec, args, reply),
    }
}
