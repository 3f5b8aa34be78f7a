//! AUTH and HELLO, in Redis's words.

use super::SYNTAX_ERROR;
use crate::client::{Client, Door};
use crate::commands::connection;
use crate::node::Node;
use scurry_resp::{Args, Protocol, Reply, parse_integer};

const WRONG_PASS: &str = "WRONGPASS invalid username-password pair or user is disabled.";
const NO_PASSWORD: &str = "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?";
const HELLO_NEEDS_AUTH: &str = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time";

/// True when this user may come in. Without a configured password the default user may, with any.
fn admits(node: &Node, user: &[u8], password: &[u8]) -> bool {
    let matches = node.settings.password.as_ref().is_none_or(|own| own.matches(password));
    matches && user == b"default"
}

pub(crate) fn auth(node: &Node, client: &mut Client, args: Args<'_>, reply: &mut Reply<'_>) {
    let (user, password) = match args.len() {
        2 if node.settings.password.is_none() => return reply.error(NO_PASSWORD),
        2 => (&b"default"[..], args.at(1)),
        3 => (args.at(1), args.at(2)),
        _ => return reply.error(SYNTAX_ERROR),
    };
    if admits(node, user, password) {
        client.authenticated = true;
        reply.ok();
    } else {
        reply.error(WRONG_PASS);
    }
}

pub(crate) fn hello(node: &Node, client: &mut Client, args: Args<'_>, reply: &mut Reply<'_>) {
    let protocol = match args.get(1).map(parse_integer) {
        None => client.protocol,
        Some(Some(2)) => Protocol::Resp2,
        Some(Some(3)) => Protocol::Resp3,
        Some(Some(_)) => return reply.error("NOPROTO unsupported protocol version"),
        Some(None) => {
            return reply.error("ERR Protocol version is not an integer or out of range");
        }
    };
    let mut name = None;
    let mut authenticated = client.authenticated;
    let mut at = 2;
    while let Some(option) = args.get(at) {
        let left = args.len() - at - 1;
        if option.eq_ignore_ascii_case(b"AUTH") && left >= 2 {
            if !admits(node, args.at(at + 1), args.at(at + 2)) {
                return reply.error(WRONG_PASS);
            }
            authenticated = true;
            at += 3;
        } else if option.eq_ignore_ascii_case(b"SETNAME") && left >= 1 {
            let wanted = args.at(at + 1);
            if !connection::is_name(wanted) {
                return reply.error(connection::BAD_NAME);
            }
            name = Some(wanted);
            at += 2;
        } else {
            let option = &option[..option.len().min(128)];
            return reply.error(format_args!(
                "ERR Syntax error in HELLO option '{}'",
                option.escape_ascii()
            ));
        }
    }
    if !authenticated {
        return reply.error(HELLO_NEEDS_AUTH);
    }
    client.authenticated = true;
    client.protocol = protocol;
    if let Some(name) = name {
        client.name = name.to_vec();
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
    reply.text(if client.door == Door::Core { "cluster" } else { "standalone" });
    reply.text("role");
    reply.text("master");
    reply.text("modules");
    reply.array(0);
}
