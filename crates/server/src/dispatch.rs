//! From the arguments of a request to the command that handles them.

use crate::client::Client;
use crate::commands::{about, acl, auth, config, connection, info, keys, scur};
use crate::node::Node;
use crate::users::User;
use scurry_resp::table::{self, CommandId, Spec};
use scurry_resp::{Args, Reply};
use std::fmt::Write;
use std::sync::Arc;

/// What a command does beyond its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    None,
    /// Close once the replies are sent.
    Close,
    /// The reply is not written: it needs to know about other connections.
    ListClients,
    /// The reply is not written: it needs the verdict on a password. Nothing more of the
    /// connection is executed until [`finish`] has written it.
    Wait,
}

/// Longest quotation of a request in an error, bytes, as in Redis.
const QUOTE_LEN_MAX: usize = 128;

/// Executes one request and appends its reply.
pub(crate) fn execute(
    node: &mut Node,
    client: &mut Client,
    args: Args<'_>,
    out: &mut Vec<u8>,
) -> Effect {
    node.counters.commands += 1;
    let begin = out.len();
    let mut reply = Reply::new(out, client.protocol);
    let effect = match resolve(args, client) {
        Ok(spec) => {
            client.command = spec.name;
            run(node, client, spec, args, &mut reply)
        }
        Err(text) => {
            reply.error(text);
            Effect::None
        }
    };
    if out.get(begin) == Some(&b'-') {
        node.counters.errors += 1;
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
    if out.get(begin) == Some(&b'-') {
        node.counters.errors += 1;
    }
}

/// The entry of the table, after the checks that come before every command.
#[inline]
fn resolve(args: Args<'_>, client: &Client) -> Result<&'static Spec, String> {
    let spec = match table::find(args.at(0)) {
        Some(spec) if spec.subcommands.is_empty() => spec,
        Some(container) => subcommand(container, args)?,
        None => return Err(unknown_command(args)),
    };
    if !spec.accepts(args.len()) {
        return Err(wrong_arity(spec));
    }
    if !client.authenticated
        && !matches!(
            spec.id,
            CommandId::Auth | CommandId::Hello | CommandId::Quit | CommandId::Reset
        )
    {
        return Err("NOAUTH Authentication required.".to_owned());
    }
    if !client.roles.permit(spec.role) {
        return Err(no_permission(spec, client));
    }
    Ok(spec)
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

#[inline]
fn run(
    node: &mut Node,
    client: &mut Client,
    spec: &'static Spec,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Effect {
    match spec.id {
        CommandId::Get => keys::get(node, args, reply),
        CommandId::Set => keys::set(node, args, reply),
        CommandId::MGet => keys::mget(node, args, reply),
        CommandId::MSet => keys::mset(node, spec, args, reply),
        CommandId::Del => keys::del(node, args, reply),
        CommandId::Exists => keys::exists(node, args, reply),
        CommandId::DbSize => keys::db_size(node, reply),
        CommandId::FlushAll | CommandId::FlushDb => keys::flush(node, args, reply),
        CommandId::Ping => connection::ping(spec, args, reply),
        CommandId::Echo => reply.bulk(args.at(1)),
        CommandId::Hello => return auth::hello(node, client, args, reply),
        CommandId::Auth => return auth::auth(node, client, args, reply),
        CommandId::Select => connection::select(args, reply),
        CommandId::Quit => {
            reply.ok();
            return Effect::Close;
        }
        CommandId::Reset => connection::reset(node, client, reply),
        CommandId::Info => info::info(node, args, reply),
        CommandId::ClientId => reply.unsigned(client.id),
        CommandId::ClientGetName => connection::get_name(client, reply),
        CommandId::ClientSetName => connection::set_name(client, args, reply),
        CommandId::ClientSetInfo => connection::set_info(client, args, reply),
        CommandId::ClientInfo => connection::describe(node, client, reply),
        CommandId::ClientList => return connection::list(args, reply),
        CommandId::ClientNoEvict | CommandId::ClientNoTouch => connection::on_off(args, reply),
        CommandId::Command => about::command(reply),
        CommandId::CommandCount => about::count(reply),
        CommandId::CommandDocs => about::docs(args, reply),
        CommandId::CommandGetKeys => about::get_keys(args, reply),
        CommandId::CommandInfo => about::info(args, reply),
        CommandId::CommandList => about::list(args, reply),
        CommandId::ConfigGet => config::get(node, args, reply),
        CommandId::ConfigResetStat => config::reset_stat(node, reply),
        CommandId::AclWhoAmI => acl::who_am_i(client, reply),
        CommandId::AclUsers => acl::users(node, reply),
        CommandId::AclHelp
        | CommandId::ClientHelp
        | CommandId::CommandHelp
        | CommandId::ConfigHelp => about::help(args, reply),
        // A container without subcommand has failed its arity.
        CommandId::Acl | CommandId::Client | CommandId::Config => reply.error(wrong_arity(spec)),
        CommandId::ScurCreate
        | CommandId::ScurStatus
        | CommandId::ScurDelete
        | CommandId::ScurTopUp
        | CommandId::ScurAdjust
        | CommandId::ScurBucket
        | CommandId::ScurDebit
        | CommandId::ScurRefund
        | CommandId::ScurCounter
        | CommandId::ScurCheck
        | CommandId::ScurReserve
        | CommandId::ScurUpdate
        | CommandId::ScurTerminate
        | CommandId::ScurRelease
        | CommandId::ScurGet
        | CommandId::ScurSession
        | CommandId::ScurAudit
        | CommandId::ScurTotals => scur::scur(node, spec.id, args, reply),
    }
    Effect::None
}
