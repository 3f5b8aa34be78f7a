//! From the arguments of a request to the command that handles them.

use crate::client::{Caller, Client, Door};
use crate::commands::{about, acl, auth, cluster, config, connection, info, keys, scur};
use crate::node::Node;
use crate::report::Question;
use crate::users::User;
use scurry_resp::table::{self, CommandId, Spec, Spread};
use scurry_resp::{Args, Reply};
use std::fmt::Write;
use std::sync::Arc;

/// What a command does beyond its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    None,
    /// Close once the replies are sent.
    Close,
    /// The reply is not written: every core has to say something first. The request is executed
    /// again when `client.told` has the answers.
    Ask(Question),
    /// The reply is not written: every core has to do its part.
    Every,
    /// The reply is not written: it needs the verdict on a password. Nothing more of the
    /// connection is executed until [`finish`] has written it.
    Wait,
}

/// Requests that are looked at together at most.
pub(crate) const BATCH_MAX: usize = 64;
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

/// Asks memory for what the requests will need, before the first of them is executed.
pub(crate) fn touch<'a>(node: &Node, requests: impl Iterator<Item = (&'static Spec, Args<'a>)>) {
    let mut keys = [node.shard.key(&[]); BATCH_MAX];
    let mut len = 0;
    for (spec, args) in requests {
        if spec.keys.0 == 1 && len < BATCH_MAX {
            keys[len] = node.shard.key(args.at(1));
            len += 1;
        }
    }
    if len > 1 {
        node.shard.touch(&keys[..len]);
    }
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
            _ => Route::Alone,
        };
    }
    if slots.cores() == 1 || client.door == Door::Core {
        return Route::Here;
    }
    let first = slots.owner_of(args.at(1));
    let several = spec.keys.1 != 1
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
fn refusal(node: &Node, client: &Client, spec: &Spec, args: Args<'_>) -> Option<String> {
    if !client.authenticated
        && !matches!(
            spec.id,
            CommandId::Auth | CommandId::Hello | CommandId::Quit | CommandId::Reset
        )
    {
        return Some("NOAUTH Authentication required.".to_owned());
    }
    if !client.roles.permit(spec.role) {
        return Some(no_permission(spec, client));
    }
    if spec.keys.0 != 0 && node.shared.slots.cores() > 1 {
        return cluster::redirection(node, client, spec, args);
    }
    None
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
        None => Some(unknown(args)),
        Some(spec) => refusal(node, client, spec, args),
    };
    let effect = match (spec, refusal) {
        (Some(spec), None) => {
            client.command = spec.name;
            let mut reply = Reply::new(out, client.protocol);
            match run_for_client(node, client, spec, args, &mut reply) {
                Some(effect) => effect,
                None => {
                    run(node, spec, args, &mut reply);
                    Effect::None
                }
            }
        }
        (_, text) => {
            Reply::new(out, client.protocol).error(text.unwrap_or_default());
            Effect::None
        }
    };
    if !matches!(effect, Effect::Ask(_) | Effect::Every) {
        count(node, out.get(begin));
    }
    effect
}

/// Appends the reply of the command that has waited for a verdict: `user` may come in.
pub(crate) fn finish(
    node: &mut Node,
    client: &mut Client,
    user: Option<Arc<User>>,
    out: &mut Vec<u8>,
) {
    let begin = out.len();
    auth::finish(client, user, &mut Reply::new(out, client.protocol));
    // The command was counted when it came.
    node.counters.errors += u64::from(out.get(begin) == Some(&b'-'));
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
        Some(text) => {
            Reply::new(out, client.protocol).error(text);
            count(node, Some(&b'-'));
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
    run(node, spec, args, &mut Reply::new(out, caller.protocol));
    count(node, out.get(begin));
}

fn count(node: &mut Node, first: Option<&u8>) {
    node.counters.commands += 1;
    node.counters.errors += u64::from(first == Some(&b'-'));
}

/// Why the table has no entry for a request.
fn unknown(args: Args<'_>) -> String {
    let spec = match table::find(args.at(0)) {
        Some(spec) if spec.subcommands.is_empty() => spec,
        Some(container) => match subcommand(container, args) {
            Ok(spec) => spec,
            Err(text) => return text,
        },
        None => return unknown_command(args),
    };
    wrong_arity(spec)
}

fn subcommand(container: &'static Spec, args: Args<'_>) -> Result<&'static Spec, String> {
    let Some(name) = args.get(1) else {
        return Ok(container);
    };
    container.subcommand(name).ok_or_else(|| {
        let name = &name[..name.len().min(QUOTE_LEN_MAX)];
        format!("ERR unknown subcommand '{}'. Try {} HELP.", name.escape_ascii(), container.name)
    })
}

/// Redis's words for arguments of the wrong number.
pub(crate) fn wrong_arity(spec: &Spec) -> String {
    format!("ERR wrong number of arguments for '{}' command", spec.lower_name())
}

/// Redis's words for a command that the user's roles do not permit.
#[cold]
fn no_permission(spec: &Spec, client: &Client) -> String {
    let (user, command) = (&client.user.name, spec.lower_name());
    format!("NOPERM User {user} has no permissions to run the '{command}' command")
}

fn unknown_command(args: Args<'_>) -> String {
    let quote = |bytes: &[u8], len_max: usize| {
        let bytes = &bytes[..bytes.len().min(len_max)];
        bytes.escape_ascii().to_string()
    };
    let mut quoted = String::new();
    for argument in args.iter_from(1) {
        if quoted.len() >= QUOTE_LEN_MAX {
            break;
        }
        let left = QUOTE_LEN_MAX - quoted.len();
        // Writing to a string cannot fail.
        let _ = write!(quoted, "'{}' ", quote(argument, left));
    }
    let name = quote(args.at(0), QUOTE_LEN_MAX);
    format!("ERR unknown command '{name}', with args beginning with: {quoted}")
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
        CommandId::Ping => connection::ping(spec, args, reply),
        CommandId::Echo => reply.bulk(args.at(1)),
        CommandId::Hello => return Some(auth::hello(node, client, args, reply)),
        CommandId::Auth => return Some(auth::auth(node, client, args, reply)),
        CommandId::Select => connection::select(args, reply),
        CommandId::Quit => {
            reply.ok();
            return Some(Effect::Close);
        }
        CommandId::Reset => connection::reset(node, client, reply),
        CommandId::Info => return Some(info::info(node, client, args, reply)),
        CommandId::ScurTotals => return Some(scur::totals(client, reply)),
        CommandId::FlushAll | CommandId::FlushDb => {
            return Some(keys::flush(client, args, reply));
        }
        CommandId::ClientId => reply.unsigned(client.id),
        CommandId::ClientGetName => connection::get_name(client, reply),
        CommandId::ClientSetName => connection::set_name(client, args, reply),
        CommandId::ClientSetInfo => connection::set_info(client, args, reply),
        CommandId::ClientInfo => connection::describe(node, client, reply),
        CommandId::ClientList => return Some(connection::list(client, args, reply)),
        CommandId::ClientNoEvict | CommandId::ClientNoTouch => connection::on_off(args, reply),
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
        CommandId::AclHelp
        | CommandId::ClientHelp
        | CommandId::ClusterHelp
        | CommandId::CommandHelp
        | CommandId::ConfigHelp => about::help(args, reply),
        // A container without subcommand has failed its arity.
        CommandId::Acl | CommandId::Client | CommandId::Cluster | CommandId::Config => {
            reply.error(wrong_arity(spec));
        }
        _ => return None,
    }
    Some(Effect::None)
}

/// Commands that any core executes for any connection.
#[inline]
fn run(node: &mut Node, spec: &'static Spec, args: Args<'_>, reply: &mut Reply<'_>) {
    match spec.id {
        CommandId::Get => keys::get(node, args, reply),
        CommandId::Set => keys::set(node, args, reply),
        CommandId::MGet => keys::mget(node, args, reply),
        CommandId::MSet => keys::mset(node, args, reply),
        CommandId::Del => keys::del(node, args, reply),
        CommandId::Exists => keys::exists(node, args, reply),
        CommandId::DbSize => keys::db_size(node, reply),
        CommandId::FlushAll | CommandId::FlushDb => keys::flush_shard(node, args, reply),
        CommandId::ConfigResetStat => config::reset_stat(node, reply),
        // Every other command has its line above: this is for SCUR commands, and says so else.
        _ => scur::scur(node, spec.id, args, reply),
    }
}
