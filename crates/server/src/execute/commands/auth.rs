//! AUTH and HELLO, with Redis's texts. A password of which only the hash is known is checked on another thread, and the
//! connection waits meanwhile. ACL shows users and changes none: they are defined in the settings file.

use super::{SYNTAX_ERROR, tracking};
use crate::execute::client::{Client, ClientEntry, Greeting};
use crate::execute::commands::connection;
use crate::execute::commands::replication::PortRole;
use crate::execute::effect::Effect;
use crate::execute::node::Node;
use crate::net::port::PortKind;
use crate::users::{NameCheck, User};
use scurry_resp::table::Role;
use scurry_resp::{Args, Protocol, Reply, parse_integer};
use std::sync::Arc;

const WRONG_PASS: &str = "WRONGPASS invalid username-password pair or user is disabled.";
const NO_PASSWORD: &str = "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?";
const HELLO_NEEDS_AUTH: &str = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time";
const BUSY: &str = "ERR too many passwords are being checked: try again in a second";

pub(crate) fn auth(
    node: &mut Node,
    client: &mut Client,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Effect {
    let (user, password) = match args.len() {
        2 if node.settings.users.is_open() => {
            reply.error(NO_PASSWORD);
            return Effect::None;
        }
        2 => (&b"default"[..], args.at(1)),
        3 => (args.at(1), args.at(2)),
        _ => {
            reply.error(SYNTAX_ERROR);
            return Effect::None;
        }
    };
    enter(node, client, (user, password), None, reply)
}

pub(crate) fn hello(
    node: &mut Node,
    client: &mut Client,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Effect {
    match read_hello(client, args) {
        Err(text) => reply.error(text),
        Ok((greeting, Some(credentials))) => {
            return enter(node, client, credentials, Some(greeting), reply);
        }
        Ok(_) if !client.authenticated => reply.error(HELLO_NEEDS_AUTH),
        Ok((greeting, None)) => greet(node, client, greeting, reply),
    }
    Effect::None
}

/// The settings, and a user with a password where they are given.
type Hello<'a> = (Greeting, Option<(&'a [u8], &'a [u8])>);

fn read_hello<'a>(client: &Client, args: Args<'a>) -> Result<Hello<'a>, String> {
    let protocol = match args.get(1).map(parse_integer) {
        None => client.protocol,
        Some(Some(2)) => Protocol::Resp2,
        Some(Some(3)) => Protocol::Resp3,
        Some(Some(_)) => return Err("NOPROTO unsupported protocol version".to_owned()),
        Some(None) => {
            return Err("ERR Protocol version is not an integer or out of range".to_owned());
        }
    };
    let mut greeting = Greeting { protocol, name: None };
    let mut credentials = None;
    let mut at = 2;
    while let Some(option) = args.get(at) {
        let left = args.len() - at - 1;
        if option.eq_ignore_ascii_case(b"AUTH") && left >= 2 {
            credentials = Some((args.at(at + 1), args.at(at + 2)));
            at += 3;
        } else if option.eq_ignore_ascii_case(b"SETNAME") && left >= 1 {
            let wanted = args.at(at + 1);
            if !connection::is_name(wanted) {
                return Err(connection::BAD_NAME.to_owned());
            }
            greeting.name = Some(wanted.to_vec());
            at += 2;
        } else {
            let option = option[..option.len().min(128)].escape_ascii();
            return Err(format!("ERR Syntax error in HELLO option '{option}'"));
        }
    }
    Ok((greeting, credentials))
}

/// Admits or refuses a client at once where that can be decided at once, and has the other passwords checked.
fn enter(
    node: &mut Node,
    client: &mut Client,
    (name, password): (&[u8], &[u8]),
    greeting: Option<Greeting>,
    reply: &mut Reply<'_>,
) -> Effect {
    let user = match node.settings.users.judge(name, password) {
        NameCheck::Admitted(user) => Some(user),
        NameCheck::Refused => None,
        NameCheck::Unknown => {
            if node.desk.submit(client.ticket, name, password).is_err() {
                reply.error(BUSY);
                return Effect::None;
            }
            client.entry = Some(Box::new(ClientEntry { name: name.into(), greeting }));
            return Effect::Suspend;
        }
    };
    conclude(node, client, user, ClientEntry { name: name.into(), greeting }, reply);
    Effect::None
}

/// Writes the reply of the command that has waited for its verdict.
pub(crate) fn finish(
    node: &mut Node,
    client: &mut Client,
    user: Option<Arc<User>>,
    reply: &mut Reply<'_>,
) {
    if let Some(entry) = client.entry.take() {
        // The users may have been replaced while the password was checked.
        let user = user.filter(|user| node.settings.users.is_current(user));
        conclude(node, client, user, *entry, reply);
    }
}

fn conclude(
    node: &mut Node,
    client: &mut Client,
    user: Option<Arc<User>>,
    entry: ClientEntry,
    reply: &mut Reply<'_>,
) {
    let Some(user) = user else {
        node.faults.note_login(client.peer, &entry.name);
        return reply.error(WRONG_PASS);
    };
    client.become_user(user);
    end_what_is_not_permitted(node, client);
    match entry.greeting {
        None => reply.ok(),
        Some(greeting) => greet(node, client, greeting, reply),
    }
}

/// Ends activities of the previous user that this one may not continue. MONITOR shows the commands of clients; tracking
/// and watched keys show that keys have changed.
fn end_what_is_not_permitted(node: &Node, client: &mut Client) {
    if !client.roles.permit(Role::Admin) {
        connection::stop_monitoring(node, client);
    }
    if !client.roles.permit(Role::Read) {
        tracking::stop(node, client);
        client.transaction = None;
    }
}

fn greet(node: &Node, client: &mut Client, greeting: Greeting, reply: &mut Reply<'_>) {
    let protocol = greeting.protocol;
    client.protocol = protocol;
    if let Some(name) = greeting.name {
        client.name = name;
    }
    reply.set_protocol(protocol);
    reply.map(7);
    reply.text("server");
    reply.text("scurry");
    reply.text("version");
    reply.text(env!("CARGO_PKG_VERSION"));
    reply.text("proto");
    reply.integer(protocol.number());
    reply.text("id");
    reply.unsigned(client.id);
    reply.text("mode");
    reply.text(if client.port == PortKind::Core { "cluster" } else { "standalone" });
    reply.text("role");
    let part = node.view.as_ref().map(|view| PortRole::of(view, client.port, node.core));
    reply.text(if part.is_none_or(|part| part.leads()) { "master" } else { "replica" });
    reply.text("modules");
    reply.array(0);
}

pub(crate) fn who_am_i(client: &Client, reply: &mut Reply<'_>) {
    reply.text(&client.user.name);
}

pub(crate) fn users(node: &Node, reply: &mut Reply<'_>) {
    let users = node.settings.users.all();
    reply.array(users.len());
    for user in users {
        reply.text(&user.name);
    }
}
