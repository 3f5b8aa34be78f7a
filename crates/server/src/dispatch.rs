//! From the arguments of a request to the command that handles them.

use crate::client::Client;
use crate::commands::expiry::Shown;
use crate::commands::{
    about, auth, config, connection, entity, expiry, info, keys, latency, numbers, object,
    replication, scan, scur, shutdown, slowlog, values,
};
use crate::node::Node;
use crate::stopwatch;
use scurry_resp::plain::DeadlineUnit;
use scurry_resp::table::{self, CommandId, Spec};
use scurry_resp::{Args, Reply};

/// What a command does beyond its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    None,
    /// Close once the replies are sent.
    Close,
    /// The reply is not written: it needs to know about other connections.
    ListClients,
    /// Stop the server as SIGTERM does; there is no reply.
    Shutdown,
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
            let alone = stopwatch::is_alone(spec.id, args.len());
            if node.watch.stopwatch.ends_before(alone) {
                node.span_ended(client, None);
            }
            client.command = spec.name;
            let effect = run(node, client, spec, args, &mut reply);
            if node.watch.stopwatch.ends_after(alone) {
                node.span_ended(client, Some((spec, args)));
            }
            effect
        }
        Err(refusal) => {
            refusal.write(&mut reply);
            Effect::None
        }
    };
    if out.get(begin) == Some(&b'-') {
        node.counters.errors += 1;
    }
    effect
}

/// A request that is refused before any command runs.
enum Refusal<'a> {
    UnknownCommand(Args<'a>),
    UnknownSubcommand { container: &'static Spec, name: &'a [u8] },
    WrongArity(&'static Spec),
    NotAuthenticated,
}

/// The entry of the table, after the checks that come before every command.
#[inline]
fn resolve<'a>(args: Args<'a>, client: &Client) -> Result<&'static Spec, Refusal<'a>> {
    let spec = match table::find(args.at(0)) {
        Some(spec) if spec.subcommands.is_empty() => spec,
        Some(container) => match args.get(1) {
            None => container,
            Some(name) => {
                container.subcommand(name).ok_or(Refusal::UnknownSubcommand { container, name })?
            }
        },
        None => return Err(Refusal::UnknownCommand(args)),
    };
    if !spec.accepts(args.len()) {
        return Err(Refusal::WrongArity(spec));
    }
    if !client.authenticated
        && !matches!(
            spec.id,
            CommandId::Auth | CommandId::Hello | CommandId::Quit | CommandId::Reset
        )
    {
        return Err(Refusal::NotAuthenticated);
    }
    Ok(spec)
}

impl Refusal<'_> {
    #[cold]
    fn write(&self, reply: &mut Reply<'_>) {
        match self {
            Refusal::UnknownCommand(args) => unknown_command(*args, reply),
            Refusal::UnknownSubcommand { container, name } => reply.error_quoting(
                "ERR unknown subcommand '",
                quoted(name, QUOTE_LEN_MAX),
                &format!("'. Try {} HELP.", container.name),
            ),
            Refusal::WrongArity(spec) => reply.error(wrong_arity(spec)),
            Refusal::NotAuthenticated => reply.error("NOAUTH Authentication required."),
        }
    }
}

/// Redis's words for arguments of the wrong number.
pub(crate) fn wrong_arity(spec: &Spec) -> String {
    format!("ERR wrong number of arguments for '{}' command", spec.lower_name())
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

#[inline]
fn run(
    node: &mut Node,
    client: &mut Client,
    spec: &'static Spec,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Effect {
    match spec.id {
        CommandId::Get => values::get(node, args, reply),
        CommandId::Set => values::set(node, spec, args, reply),
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
        CommandId::Incr => numbers::add(node, args.at(1), 1, reply),
        CommandId::Decr => numbers::add(node, args.at(1), -1, reply),
        CommandId::IncrBy => numbers::increment_by(node, args, reply),
        CommandId::DecrBy => numbers::decrement_by(node, args, reply),
        CommandId::MGet => keys::mget(node, args, reply),
        CommandId::MSet => keys::mset(node, spec, args, false, reply),
        CommandId::MSetNx => keys::mset(node, spec, args, true, reply),
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
        CommandId::Wait => replication::wait(node, args, reply),
        CommandId::EntityPut => entity::put(node, args, reply),
        CommandId::EntityGet => entity::get(node, args, reply),
        CommandId::EntityDel => entity::del(node, args, reply),
        CommandId::EntityFind => entity::find(node, args, reply),
        CommandId::SlowlogGet => slowlog::get(node, args, reply),
        CommandId::SlowlogLen => slowlog::len(node, reply),
        CommandId::SlowlogReset => slowlog::reset(node, reply),
        CommandId::LatencyLatest => latency::latest(node, reply),
        CommandId::LatencyHistory => latency::history(node, args, reply),
        CommandId::LatencyReset => latency::reset(node, args, reply),
        CommandId::LatencyDoctor => latency::doctor(node, reply),
        CommandId::Shutdown => return shutdown::shutdown(args, reply),
        CommandId::DbSize => keys::db_size(node, reply),
        CommandId::FlushAll | CommandId::FlushDb => keys::flush(node, args, reply),
        CommandId::Ping => connection::ping(spec, args, reply),
        CommandId::Echo => reply.bulk(args.at(1)),
        CommandId::Hello => auth::hello(node, client, args, reply),
        CommandId::Auth => auth::auth(node, client, args, reply),
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
        CommandId::ConfigSet => config::set(node, args, reply),
        CommandId::ConfigGet => config::get(node, args, reply),
        CommandId::ConfigResetStat => config::reset_stat(node, reply),
        CommandId::ClientHelp
        | CommandId::CommandHelp
        | CommandId::ConfigHelp
        | CommandId::ObjectHelp
        | CommandId::MemoryHelp
        | CommandId::SlowlogHelp
        | CommandId::LatencyHelp => about::help(args, reply),
        // A container without subcommand has failed its arity.
        CommandId::Client
        | CommandId::Config
        | CommandId::Object
        | CommandId::Memory
        | CommandId::Slowlog
        | CommandId::Latency => reply.error(wrong_arity(spec)),
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
