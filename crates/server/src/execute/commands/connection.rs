//! Commands about the connection itself.

use super::{NOT_AN_INTEGER, SYNTAX_ERROR, tracking};
use crate::execute::client::Client;
use crate::execute::effect::Effect;
use crate::execute::node::Node;
use crate::mail::report::{Answer, Question};
use scurry_resp::table::Spec;
use scurry_resp::{Args, Reply, parse_integer};
use std::sync::atomic::Ordering;

pub(crate) const BAD_NAME: &str =
    "ERR Client names cannot contain spaces, newlines or special characters.";
/// Longest name of a connection or of a client's library, bytes.
const NAME_LEN_MAX: usize = 256;

/// Reports whether a name is valid for a connection. An empty one removes the name.
pub(crate) fn is_name(name: &[u8]) -> bool {
    name.len() <= NAME_LEN_MAX && name.iter().all(u8::is_ascii_graphic)
}

pub(crate) fn ping(spec: &Spec, args: Args<'_>, reply: &mut Reply<'_>) {
    match args.len() {
        1 => reply.simple("PONG"),
        2 => reply.bulk(args.at(1)),
        _ => reply.error(spec.wrong_arity()),
    }
}

pub(crate) fn select(args: Args<'_>, reply: &mut Reply<'_>) {
    match parse_integer(args.at(1)) {
        Some(0) => reply.ok(),
        Some(_) => reply.error("ERR DB index is out of range"),
        None => reply.error(NOT_AN_INTEGER),
    }
}

/// Answers with seconds since 1970 and microseconds, by the clock that decides commands.
pub(crate) fn time(node: &Node, reply: &mut Reply<'_>) {
    let now_ms = node.now.time.0;
    reply.array(2);
    reply.bulk((now_ms.div_euclid(1_000)).to_string().as_bytes());
    reply.bulk((now_ms.rem_euclid(1_000) * 1_000).to_string().as_bytes());
}

pub(crate) fn reset(node: &Node, client: &mut Client, reply: &mut Reply<'_>) {
    stop_monitoring(node, client);
    tracking::stop(node, client);
    client.reset(&node.settings.users);
    reply.simple("RESET");
}

pub(crate) fn monitor(node: &Node, client: &mut Client, reply: &mut Reply<'_>) {
    if !client.monitors {
        client.monitors = true;
        node.shared.monitors.fetch_add(1, Ordering::Relaxed);
    }
    reply.ok();
}

pub(crate) fn stop_monitoring(node: &Node, client: &mut Client) {
    if client.monitors {
        client.monitors = false;
        node.shared.monitors.fetch_sub(1, Ordering::Relaxed);
    }
}

pub(crate) fn get_name(client: &Client, reply: &mut Reply<'_>) {
    if client.name.is_empty() { reply.null() } else { reply.bulk(&client.name) }
}

pub(crate) fn set_name(client: &mut Client, args: Args<'_>, reply: &mut Reply<'_>) {
    if !is_name(args.at(2)) {
        return reply.error(BAD_NAME);
    }
    client.name = args.at(2).to_vec();
    reply.ok();
}

pub(crate) fn set_info(client: &mut Client, args: Args<'_>, reply: &mut Reply<'_>) {
    let (attribute, value) = (args.at(2), args.at(3));
    let (slot, name) = if attribute.eq_ignore_ascii_case(b"LIB-NAME") {
        (&mut client.library_name, "lib-name")
    } else if attribute.eq_ignore_ascii_case(b"LIB-VER") {
        (&mut client.library_version, "lib-ver")
    } else {
        let shown = &attribute[..attribute.len().min(128)];
        return reply.error(format_args!("ERR Unrecognized option '{}'", shown.escape_ascii()));
    };
    if !is_name(value) {
        return reply.error(format_args!(
            "ERR {name} cannot contain spaces, newlines or special characters."
        ));
    }
    *slot = value.to_vec();
    reply.ok();
}

pub(crate) fn describe(node: &Node, client: &Client, reply: &mut Reply<'_>) {
    let mut text = String::new();
    client.describe(node.now, &mut text);
    text.push('\n');
    reply.verbatim(&text);
}

/// Lists all connections; asks every core first.
pub(crate) fn list(client: &mut Client, args: Args<'_>, reply: &mut Reply<'_>) -> Effect {
    if args.len() > 2 {
        reply.error(SYNTAX_ERROR);
        return Effect::None;
    }
    let Some(told) = client.told.take() else { return Effect::AskCores(Question::Clients) };
    let mut text = String::new();
    for answer in told {
        if let Answer::Clients(lines) = answer {
            text.push_str(&lines);
        }
    }
    reply.verbatim(&text);
    Effect::None
}

pub(crate) fn on_off(args: Args<'_>, reply: &mut Reply<'_>) {
    let known = [&b"ON"[..], b"OFF"].iter().any(|word| args.at(2).eq_ignore_ascii_case(word));
    if known { reply.ok() } else { reply.error(SYNTAX_ERROR) }
}
