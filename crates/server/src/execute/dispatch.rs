//! Dispatches a request to the command that handles it: look-up in the table, routing to a core, permission checks,
//! counting.

use crate::execute::client::Client;
use crate::execute::commands::expiry::TimeFormat;
use crate::execute::commands::scan::CoreWalk;
use crate::execute::commands::{
    NO_GROUP, about, accounts, auth, chain, cluster, config, connection, entity, events, expiry,
    info, keys, latency, numbers, object, replication, scan, scur, sentinel, shutdown, slowlog,
    subscribe, tracking, values,
};
use crate::execute::effect::Effect;
use crate::execute::node::Node;
use crate::execute::subscriptions::Naming;
use crate::execute::suggestions;
use crate::execute::timing::Origin;
use crate::mail::bundle::Caller;
use crate::measures::stopwatch;
use crate::net::port::PortKind;
use crate::users::User;
use scurry_resp::plain::DeadlineUnit;
use scurry_resp::table::{
    self, CommandId, ConnectionId, EchoId, EntityId, GroupId, HotId, ImageId, KeyId, PartId,
    ScurChainId, SentinelId, ServerId, Spec, Spread, StoreId, StringId, TransactionId,
};
use scurry_resp::{Args, Reply};
use std::sync::Arc;

/// Longest quotation of a request in an error, bytes, as in Redis.
const QUOTE_LEN_MAX: usize = 128;

/// Where a request is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// By the connection's core, at any time: its key is here.
    Here,
    /// By the connection's core, once all earlier requests are done: it is about the connection or the server.
    Alone,
    /// By this other core.
    Core(u16),
    /// In parts, by the cores of its keys.
    Keys,
    /// In parts, by every core.
    Every,
}

/// Returns the entry of the table, if the command exists and the number of arguments is right.
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

/// Returns where a request of this connection is executed.
#[inline]
pub(crate) fn route(node: &Node, client: &Client, spec: &Spec, args: Args<'_>) -> Route {
    let slots = node.shared.slots;
    if spec.keys.0 == 0 {
        if slots.cores() == 1 || client.port == PortKind::Core {
            return Route::Alone;
        }
        return match spec.id {
            // Refused while there are accounts anywhere, so every core is asked first.
            CommandId::Flush(_) => Route::Alone,
            // One core executes each step of these commands.
            CommandId::Key(KeyId::Scan) => Route::Core(scan::core_of(node, args)),
            CommandId::Entity(EntityId::Find) => Route::Core(entity::core_of(node, args)),
            CommandId::Store(StoreId::List) => Route::Core(accounts::core_of(node, args)),
            _ if spec.spread.is_every() => Route::Every,
            _ => Route::Alone,
        };
    }
    if slots.cores() == 1 || client.port == PortKind::Core {
        return Route::Here;
    }
    let first = slots.owner_of(args.at(usize::try_from(spec.keys.0).unwrap_or(1)));
    let several = spec.has_several_keys()
        && spec.key_positions(args).any(|position| slots.owner_of(args.at(position)) != first);
    match several {
        // Will be refused: it needs keys of several cores at once.
        true if spec.spread == Spread::One => Route::Alone,
        true => Route::Keys,
        // The connection waits for the thread that reads the log.
        false if spec.spread == Spread::Log => Route::Alone,
        false if first == node.core => Route::Here,
        false => Route::Core(first),
    }
}

/// Returns why this connection may not have the request executed; None if it may.
#[inline]
fn refusal<'a>(node: &Node, client: &Client, spec: &Spec, args: Args<'_>) -> Option<Refusal<'a>> {
    if !client.authenticated
        && !matches!(
            spec.id,
            CommandId::Connection(
                ConnectionId::Auth | ConnectionId::Hello | ConnectionId::Quit | ConnectionId::Reset
            )
        )
    {
        return Some(Refusal::NotAuthenticated);
    }
    if client.subscriptions.is_some()
        && let Some(text) = subscribe::refusal(client, spec)
    {
        return Some(Refusal::Subscribed(text));
    }
    if !client.roles.permit(spec.role) {
        return Some(Refusal::NoPermission(no_permission(spec, client)));
    }
    if spec.has_dynamic_keys
        && let Some(other) = scurry_resp::chained(args).find(|one| !client.roles.permit(one.role))
    {
        return Some(Refusal::NoPermission(no_permission(other, client)));
    }
    if let Some(trouble) = node.durable.trouble()
        && concerns_this_core(node, client, spec, args)
        && let Some(text) = trouble.refuses(spec)
    {
        return Some(Refusal::Trouble(text));
    }
    if spec.keys.0 != 0
        && (node.shared.slots.cores() > 1 || node.durable.is_grouped())
        && let Some(text) = cluster::redirection(node, client, spec, args)
    {
        return Some(Refusal::Elsewhere(text));
    }
    if node.durable.is_grouped() && shows(spec) {
        return cluster::elsewhere(node, client, spec, args).map(Refusal::Elsewhere);
    }
    None
}

/// Reports whether a command shows or changes stored data.
#[inline]
fn shows(spec: &Spec) -> bool {
    spec.keys.0 != 0 || spec.flags.iter().any(|flag| ["write", "readonly"].contains(flag))
}

/// False for a request with keys of other cores only: those cores refuse it if they have to.
#[cold]
fn concerns_this_core(node: &Node, client: &Client, spec: &Spec, args: Args<'_>) -> bool {
    let owner = |position| node.shared.slots.owner_of(args.at(position));
    spec.keys.0 == 0
        || client.port == PortKind::Core
        || spec.key_positions(args).any(|position| owner(position) == node.core)
}

/// Writes the error for a request that the table has no entry for.
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
            // In a group, a reply that shows the store waits until the group has confirmed this turn.
            if node.durable.is_grouped() && shows(spec) {
                node.durable.note_shown();
            }
            let alone = stopwatch::is_alone(spec.id, args.len());
            if node.slowness.stopwatch.ends_before(alone) {
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
            // A command that needs other cores is measured when it is executed again, or on those cores.
            if !matches!(effect, Effect::AskCores(_) | Effect::EveryCore)
                && node.slowness.stopwatch.ends_after(alone, spec)
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
            return refusal.effect(client);
        }
        (None, None) => Effect::None,
    };
    if !matches!(effect, Effect::AskCores(_) | Effect::EveryCore) {
        count(node, spec, &out[begin..]);
    }
    if node.tracking.is_active() {
        client.command_done(spec);
    }
    effect
}

/// Tells the readers of keys that a command has changed, and tracks the keys that it has read. Pushes for the client
/// itself follow the reply directly.
#[cold]
fn track(node: &mut Node, client: &Client, spec: &'static Spec, args: Args<'_>, out: &mut Vec<u8>) {
    let tracker = client.tracker(node.core);
    let mut own = Reply::new(out, client.protocol);
    node.track(tracker.as_ref(), spec, args, Some(&mut own));
}

/// Appends the reply of the AUTH or HELLO that waited for a verdict; `user` is None when it was refused.
pub(crate) fn finish(
    node: &mut Node,
    client: &mut Client,
    user: Option<Arc<User>>,
    out: &mut Vec<u8>,
) {
    let begin = out.len();
    let mut reply = Reply::new(out, client.protocol);
    auth::finish(node, client, user, &mut reply);
    // The command was counted when it arrived.
    if out.get(begin) == Some(&b'-') {
        node.counters.errors += 1;
        node.measures.note_error(&out[begin..]);
    }
}

/// Checks whether a request may be executed by another core. If not, appends the error and returns the effect on the
/// connection.
pub(crate) fn check(
    node: &mut Node,
    client: &mut Client,
    spec: &'static Spec,
    args: Args<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Effect> {
    client.command = spec.name;
    match refusal(node, client, spec, args) {
        None => Ok(()),
        Some(refusal) => {
            let begin = out.len();
            refusal.write(&mut Reply::new(out, client.protocol));
            count_refused(node, Some(spec), &out[begin..]);
            Err(refusal.effect(client))
        }
    }
}

/// Checks the same as [`check`] without writing an error.
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
    if node.slowness.stopwatch.ends_before(alone) {
        node.span_ended(Origin::Core(caller), None);
    }
    let mut reply = Reply::new(out, caller.protocol);
    node.durable.note_shown();
    match node.durable.trouble().and_then(|trouble| trouble.refuses(spec)) {
        Some(text) => reply.error(text),
        None if !node.durable.executes() => reply.error(cluster::not_here(node)),
        None => {
            run(node, spec, args, &mut reply);
            if node.tracking.is_active() {
                node.track(caller.tracker.as_ref(), spec, args, None);
            }
        }
    }
    if node.slowness.stopwatch.ends_after(alone, spec) {
        node.span_ended(Origin::Core(caller), Some((spec, args)));
    }
    count(node, Some(spec), &out[begin..]);
}

/// Counts a command, given the part of its reply that is written so far.
#[inline(always)]
pub(crate) fn count(node: &mut Node, spec: Option<&Spec>, reply: &[u8]) {
    let is_error = reply.first() == Some(&b'-');
    node.counters.commands += 1;
    node.counters.errors += u64::from(is_error);
    node.measures.count(spec, is_error);
    if is_error {
        count_error(node, spec, reply);
    }
}

#[cold]
fn count_error(node: &mut Node, spec: Option<&Spec>, reply: &[u8]) {
    node.measures.note_error(reply);
    // Commands check by themselves whether they need memory, and have changed nothing when they are refused.
    if let Some(spec) = spec.filter(|_| is_out_of_memory(reply)) {
        node.measures.count_refused(spec);
    }
}

fn is_out_of_memory(reply: &[u8]) -> bool {
    reply.starts_with(b"-OOM ")
}

/// Counts a command that was not executed.
#[cold]
pub(crate) fn count_refused(node: &mut Node, spec: Option<&Spec>, reply: &[u8]) {
    count(node, spec, reply);
    if let Some(spec) = spec.filter(|_| !is_out_of_memory(reply)) {
        node.measures.count_refused(spec);
    }
}

/// Why a request is refused before any command runs.
enum Refusal<'a> {
    UnknownCommand(Args<'a>),
    UnknownSubcommand {
        container: &'static Spec,
        name: &'a [u8],
    },
    WrongArity(&'static Spec),
    NotAuthenticated,
    /// The user lacks the command's role.
    NoPermission(String),
    /// A RESP2 connection with subscriptions.
    Subscribed(String),
    /// The log cannot take it.
    Trouble(String),
    /// The keys are not this core's, or not this node's.
    Elsewhere(String),
}

impl<'a> Refusal<'a> {
    /// Returns why the table has no entry for a request.
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
    /// Returns the command of the table, where only the arguments are wrong.
    fn spec(&self) -> Option<&'static Spec> {
        match self {
            Refusal::WrongArity(spec) => Some(spec),
            _ => None,
        }
    }

    /// Returns the effect on the client's connection. One to the main port of a node that another node leads is closed:
    /// a new connection to that port leads to the leader, while this one would be refused for ever.
    fn effect(&self, client: &Client) -> Effect {
        match self {
            Refusal::Elsewhere(text) if text == cluster::ANOTHER_LEADS && !client.inside => {
                Effect::Close
            }
            _ => Effect::None,
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
            Refusal::WrongArity(spec) if spec.id == CommandId::Transaction(TransactionId::Exec) => {
                let why = spec.wrong_arity();
                let why = why.trim_start_matches("ERR ");
                reply.error(format_args!("EXECABORT Transaction discarded because of: {why}"));
            }
            Refusal::WrongArity(spec) => reply.error(spec.wrong_arity()),
            Refusal::NoPermission(text)
            | Refusal::Subscribed(text)
            | Refusal::Trouble(text)
            | Refusal::Elsewhere(text) => reply.error(text),
            Refusal::NotAuthenticated => reply.error("NOAUTH Authentication required."),
        }
    }
}

/// Returns Redis's error for a command that the user's roles do not permit, with the role that would.
#[cold]
fn no_permission(spec: &Spec, client: &Client) -> String {
    let (user, command, role) = (&client.user.name, spec.lower_name(), spec.role.name());
    let own = client.roles.in_words();
    format!(
        "NOPERM User {user} has no permissions to run the '{command}' command: it needs the role {role}, and {user} has \
         {own}"
    )
}

/// Returns the part of an argument that Redis quotes: up to a zero byte, and at most `len_max` bytes.
fn quoted(bytes: &[u8], len_max: usize) -> &[u8] {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    &bytes[..end.min(len_max)]
}

/// Commands of Redis that run a script or store one.
const SCRIPTING: [&str; 8] =
    ["EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "SCRIPT", "FUNCTION", "FCALL", "FCALL_RO"];

/// Advice for clients that send scripts. The error is not NOSCRIPT, at which clients send the script itself, and does
/// not begin with `unknown command`, at which Redisson repeats EVALSHA for ever.
const NO_SCRIPTS: &str = "'. A lock is SET with NX or IFEQ, and DELIFEQ; a limit is \
                          INCREX; a balance is SCUR.RESERVE and its like (docs/commands.md)";

fn unknown_command(args: Args<'_>, reply: &mut Reply<'_>) {
    let name = args.at(0);
    if SCRIPTING.iter().any(|word| word.as_bytes().eq_ignore_ascii_case(name)) {
        return reply.error_quoting(
            "ERR Scurry runs no scripts, and does not know '",
            name,
            NO_SCRIPTS,
        );
    }
    let mut text = b"unknown command '".to_vec();
    text.extend_from_slice(quoted(name, QUOTE_LEN_MAX));
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
    let advice = suggestions::advice(name).map(|advice| format!("({advice})"));
    reply.error_quoting("ERR ", &text, advice.as_deref().unwrap_or_default());
}

/// Executes a command that needs the connection at hand. None for a command that any core can execute.
#[inline]
fn run_for_client(
    node: &mut Node,
    client: &mut Client,
    spec: &'static Spec,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Option<Effect> {
    if spec.keys.0 != 0 && spec.spread != Spread::Log {
        return None;
    }
    match spec.id {
        CommandId::Connection(id) => Some(run_connection(id, node, client, args, reply)),
        CommandId::Server(id) => Some(run_server(id, node, client, args, reply)),
        CommandId::Sentinel(id) => {
            run_sentinel(id, node, client, args, reply);
            Some(Effect::None)
        }
        CommandId::Echo(EchoId::Ping) if client.subscriptions.is_some() && !reply.is_resp3() => {
            subscribe::ping(args, reply);
            Some(Effect::None)
        }
        CommandId::Group(id) => Some(match id {
            GroupId::Status => {
                replication::status(node, reply);
                Effect::None
            }
            GroupId::Transfer => replication::transfer(node, client, args, reply),
            GroupId::Remove => replication::remove(node, client, args, reply),
        }),
        CommandId::Store(StoreId::Totals) => Some(scur::totals(client, reply)),
        CommandId::Store(StoreId::Watch) => Some(events::follow(node, client, args, reply)),
        CommandId::Store(StoreId::Statement) => Some(events::state(node, client, args, reply)),
        CommandId::Flush(_) => Some(keys::flush(node, client, args, reply)),
        // A port of one core stands for that core's keys.
        CommandId::Key(KeyId::Scan) if client.port == PortKind::Core => {
            scan::scan(node, CoreWalk::ThisCore, args, reply);
            Some(Effect::None)
        }
        CommandId::Entity(EntityId::Find) if client.port == PortKind::Core => {
            entity::find(node, CoreWalk::ThisCore, args, reply);
            Some(Effect::None)
        }
        CommandId::Store(StoreId::List) if client.port == PortKind::Core => {
            accounts::list(node, CoreWalk::ThisCore, args, reply);
            Some(Effect::None)
        }
        CommandId::Help(_) => {
            about::help(args, reply);
            Some(Effect::None)
        }
        // A container without a subcommand has failed the arity check.
        CommandId::Container(_) => {
            reply.error(spec.wrong_arity());
            Some(Effect::None)
        }
        CommandId::Hot(_)
        | CommandId::String(_)
        | CommandId::Key(_)
        | CommandId::Entity(_)
        | CommandId::ScurRead(_)
        | CommandId::ScurWrite(_)
        | CommandId::ScurChain(_)
        | CommandId::Image(_)
        | CommandId::Store(StoreId::Snapshot | StoreId::List | StoreId::Find)
        | CommandId::Part(_)
        | CommandId::Echo(_)
        | CommandId::Transaction(_)
        | CommandId::Node(_) => None,
    }
}

fn run_connection(
    id: ConnectionId,
    node: &mut Node,
    client: &mut Client,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Effect {
    match id {
        ConnectionId::Hello => return auth::hello(node, client, args, reply),
        ConnectionId::Auth => return auth::auth(node, client, args, reply),
        ConnectionId::Select => connection::select(args, reply),
        ConnectionId::Quit => {
            reply.ok();
            return Effect::Close;
        }
        ConnectionId::Reset => connection::reset(node, client, reply),
        ConnectionId::ReadOnly | ConnectionId::ReadWrite => {
            client.reads_replicas = id == ConnectionId::ReadOnly;
            reply.ok();
        }
        ConnectionId::Asking => reply.ok(),
        ConnectionId::Monitor => connection::monitor(node, client, reply),
        ConnectionId::ClientId => reply.unsigned(client.id),
        ConnectionId::ClientGetName => connection::get_name(client, reply),
        ConnectionId::ClientSetName => connection::set_name(client, args, reply),
        ConnectionId::ClientSetInfo => connection::set_info(client, args, reply),
        ConnectionId::ClientInfo => connection::describe(node, client, reply),
        ConnectionId::ClientList => return connection::list(client, args, reply),
        ConnectionId::ClientNoEvict | ConnectionId::ClientNoTouch => {
            connection::on_off(args, reply);
        }
        ConnectionId::ClientTracking => tracking::tracking(node, client, args, reply),
        ConnectionId::ClientTrackingInfo => tracking::info(client, reply),
        ConnectionId::ClientCaching => tracking::caching(client, args, reply),
        ConnectionId::ClientGetRedir => tracking::get_redirection(client, reply),
    }
    Effect::None
}

fn run_server(
    id: ServerId,
    node: &mut Node,
    client: &mut Client,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Effect {
    match id {
        ServerId::Info => return info::info(node, client, args, reply),
        ServerId::Role => replication::role(node, client, reply),
        ServerId::Time => connection::time(node, reply),
        ServerId::Wait => replication::wait(node, args, reply),
        ServerId::Shutdown => shutdown::shutdown(node, args, reply),
        ServerId::Command => about::command(reply),
        ServerId::CommandCount => about::count(reply),
        ServerId::CommandDocs => about::docs(args, reply),
        ServerId::CommandGetKeys => about::get_keys(args, reply),
        ServerId::CommandGetKeysAndFlags => about::get_keys_and_flags(args, reply),
        ServerId::CommandInfo => about::info(args, reply),
        ServerId::CommandList => about::list(args, reply),
        ServerId::ConfigGet => config::get(node, args, reply),
        ServerId::AclWhoAmI => auth::who_am_i(client, reply),
        ServerId::AclUsers => auth::users(node, reply),
        ServerId::ClusterInfo => cluster::info(node, client, reply),
        ServerId::ClusterKeySlot => cluster::key_slot(args, reply),
        ServerId::ClusterMyId => cluster::my_id(node, client, reply),
        ServerId::ClusterNodes => cluster::nodes(node, client, reply),
        ServerId::ClusterShards => cluster::shards(node, client, reply),
        ServerId::ClusterSlots => cluster::slots(node, client, reply),
        ServerId::SlowlogGet => return slowlog::get(client, args, reply),
        ServerId::LatencyLatest => return latency::latest(client, reply),
        ServerId::LatencyHistory => return latency::history(client, args, reply),
        ServerId::LatencyDoctor => return latency::doctor(client, reply),
    }
    Effect::None
}

/// Executes the commands by which clients ask Sentinel about a primary and its replicas.
fn run_sentinel(
    id: SentinelId,
    node: &Node,
    client: &mut Client,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) {
    match id {
        SentinelId::Subscribe => {
            return subscribe::subscribe(node, client, Naming::Exact, args, reply);
        }
        SentinelId::PSubscribe => {
            return subscribe::subscribe(node, client, Naming::Pattern, args, reply);
        }
        SentinelId::Unsubscribe => {
            return subscribe::unsubscribe(client, Naming::Exact, args, reply);
        }
        SentinelId::PUnsubscribe => {
            return subscribe::unsubscribe(client, Naming::Pattern, args, reply);
        }
        _ => {}
    }
    let Some(watched) = sentinel::SentinelGroup::of(node) else { return reply.error(NO_GROUP) };
    match id {
        SentinelId::Address => watched.address(reply),
        SentinelId::CkQuorum => watched.quorum(reply),
        SentinelId::Master => watched.primary(args, reply),
        SentinelId::Masters => watched.primaries(reply),
        SentinelId::MyId => watched.own_id(reply),
        SentinelId::Replicas | SentinelId::Slaves => watched.replicas(reply),
        SentinelId::Sentinels => watched.others(reply),
        // Handled above.
        SentinelId::Subscribe
        | SentinelId::PSubscribe
        | SentinelId::Unsubscribe
        | SentinelId::PUnsubscribe => {}
    }
}

/// Executes a command that any core executes for any connection. GET and SET are so cheap that a call in between would
/// be 5 % of their cost in pipelines.
#[inline]
fn run(node: &mut Node, spec: &'static Spec, args: Args<'_>, reply: &mut Reply<'_>) {
    let CommandId::Hot(id) = spec.id else { return run_other(node, spec, args, reply) };
    match id {
        HotId::Get => values::get(node, args, reply),
        HotId::Set => values::set(node, spec, args, reply),
    }
}

#[inline(never)]
fn run_other(node: &mut Node, spec: &'static Spec, args: Args<'_>, reply: &mut Reply<'_>) {
    match spec.id {
        CommandId::String(id) => run_string(id, node, spec, args, reply),
        CommandId::Key(id) => run_key(id, node, spec, args, reply),
        CommandId::Entity(id) => run_entity(id, node, args, reply),
        CommandId::ScurRead(id) => scur::read(node, id, args, reply),
        CommandId::ScurWrite(id) => scur::write(node, id, spec.memory, args, reply),
        CommandId::ScurChain(ScurChainId::Chain) => chain::run(node, args, reply),
        CommandId::Image(ImageId::Dump) => scur::dump(node, args, reply),
        CommandId::Image(ImageId::Load) => scur::load(node, args, reply),
        CommandId::Store(StoreId::Snapshot) => snapshot(node, reply),
        CommandId::Store(StoreId::List) => accounts::list(node, CoreWalk::AllCores, args, reply),
        CommandId::Store(StoreId::Find) => accounts::find(node, args, reply),
        CommandId::Flush(_) => keys::flush_shard(node, args, reply),
        CommandId::Part(id) => run_part(id, node, args, reply),
        CommandId::Echo(EchoId::Ping) => connection::ping(spec, args, reply),
        CommandId::Echo(EchoId::Echo) => reply.bulk(args.at(1)),
        // Their work is done; only the reply is written here.
        CommandId::Transaction(TransactionId::Watch | TransactionId::Unwatch) => reply.ok(),
        // None of these gets here: the first are executed above, the connection's core executes its own, and the
        // commands between nodes are in no table of clients.
        CommandId::Hot(_)
        | CommandId::Transaction(
            TransactionId::Multi | TransactionId::Exec | TransactionId::Discard,
        )
        | CommandId::Store(StoreId::Totals | StoreId::Watch | StoreId::Statement)
        | CommandId::Connection(_)
        | CommandId::Server(_)
        | CommandId::Sentinel(_)
        | CommandId::Group(_)
        | CommandId::Help(_)
        | CommandId::Container(_)
        | CommandId::Node(_) => not_here(spec, reply),
    }
}

#[cold]
fn not_here(spec: &Spec, reply: &mut Reply<'_>) {
    reply.error(format_args!("ERR '{}' is not for another thread", spec.lower_name()));
}

fn run_string(
    id: StringId,
    node: &mut Node,
    spec: &'static Spec,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) {
    match id {
        StringId::SetNx => values::set_nx(node, args, reply),
        StringId::SetEx => values::set_ex(node, spec, DeadlineUnit::Seconds, args, reply),
        StringId::PSetEx => values::set_ex(node, spec, DeadlineUnit::Milliseconds, args, reply),
        StringId::GetSet => values::get_set(node, args, reply),
        StringId::GetDel => values::get_del(node, args, reply),
        StringId::DelIfEq => values::del_if_equal(node, args, reply),
        StringId::GetEx => values::get_ex(node, spec, args, reply),
        StringId::Append => values::append(node, args, reply),
        StringId::StrLen => values::str_len(node, args, reply),
        StringId::GetRange => values::get_range(node, args, reply),
        StringId::SetRange => values::set_range(node, args, reply),
        StringId::Incr => numbers::add(node, args.at(1), 1, reply),
        StringId::Decr => numbers::add(node, args.at(1), -1, reply),
        StringId::IncrBy => numbers::increment_by(node, args, reply),
        StringId::IncrEx => numbers::increment_within(node, spec, args, reply),
        StringId::DecrBy => numbers::decrement_by(node, args, reply),
        StringId::MGet => keys::mget(node, args, reply),
        StringId::MSet => keys::mset(node, args, false, reply),
        StringId::MSetNx => keys::mset(node, args, true, reply),
    }
}

fn run_key(id: KeyId, node: &mut Node, spec: &'static Spec, args: Args<'_>, reply: &mut Reply<'_>) {
    match id {
        KeyId::Del | KeyId::Unlink => keys::del(node, args, reply),
        KeyId::Exists | KeyId::Touch => keys::exists(node, args, reply),
        KeyId::Type => keys::kind(node, args, reply),
        KeyId::Expire => expiry::expire(node, spec, DeadlineUnit::Seconds, args, reply),
        KeyId::PExpire => expiry::expire(node, spec, DeadlineUnit::Milliseconds, args, reply),
        KeyId::ExpireAt => expiry::expire(node, spec, DeadlineUnit::SecondsAt, args, reply),
        KeyId::PExpireAt => expiry::expire(node, spec, DeadlineUnit::MillisecondsAt, args, reply),
        KeyId::Persist => expiry::persist(node, args, reply),
        KeyId::Ttl => expiry::ttl(node, TimeFormat::TTL, args, reply),
        KeyId::PTtl => expiry::ttl(node, TimeFormat::PTTL, args, reply),
        KeyId::ExpireTime => expiry::ttl(node, TimeFormat::EXPIRE_TIME, args, reply),
        KeyId::PExpireTime => expiry::ttl(node, TimeFormat::PEXPIRE_TIME, args, reply),
        KeyId::Scan => scan::scan(node, CoreWalk::AllCores, args, reply),
        KeyId::Keys => scan::keys(node, args, reply),
        KeyId::ObjectEncoding => object::encoding(node, args, reply),
        KeyId::ObjectFreq => object::frequency(node, args, reply),
        KeyId::ObjectIdleTime => object::idle_time(node, args, reply),
        KeyId::ObjectRefCount => object::reference_count(node, args, reply),
        KeyId::MemoryUsage => object::memory_usage(node, args, reply),
    }
}

fn run_entity(id: EntityId, node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    match id {
        EntityId::Put => entity::put(node, args, reply),
        EntityId::Get => entity::get(node, args, reply),
        EntityId::Del => entity::del(node, args, reply),
        EntityId::Find => entity::find(node, CoreWalk::AllCores, args, reply),
    }
}

fn run_part(id: PartId, node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    match id {
        PartId::DbSize => keys::db_size(node, reply),
        PartId::ConfigSet => config::set(node, args, reply),
        PartId::ConfigResetStat => config::reset_stat(node, reply),
        PartId::SlowlogLen => slowlog::len(node, reply),
        PartId::SlowlogReset => slowlog::reset(node, reply),
        PartId::LatencyReset => latency::reset(node, args, reply),
    }
}

#[cold]
fn snapshot(node: &mut Node, reply: &mut Reply<'_>) {
    match node.durable.begin_snapshot() {
        Ok(()) => reply.ok(),
        Err(why) => reply.error(format_args!("ERR {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_without_keys_show_the_store_or_are_about_the_node() {
        let shows_it = |name: &str| shows(table::find(name.as_bytes()).expect(name));
        for name in [
            "DBSIZE",
            "SCAN",
            "KEYS",
            "FLUSHALL",
            "FLUSHDB",
            "SCUR.TOTALS",
            "SCUR.LIST",
            "SCUR.FIND",
            "SCUR.WATCH",
            "SCUR.STATEMENT",
            "ENTITY.FIND",
        ] {
            assert!(shows_it(name), "{name}");
        }
        for name in ["PING", "INFO", "ROLE", "READONLY", "SCUR.SNAPSHOT", "MULTI", "SHUTDOWN"] {
            assert!(!shows_it(name), "{name}");
        }
    }
}
