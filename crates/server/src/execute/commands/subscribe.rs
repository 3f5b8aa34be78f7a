//! SUBSCRIBE and related commands: any channel may be named, but only one has messages.

use crate::execute::client::Client;
use crate::execute::node::Node;
use crate::execute::subscriptions::{Naming, head};
use scurry_resp::table::{CommandId, ConnectionId, EchoId, SentinelId, Spec};
use scurry_resp::{Args, Protocol, Reply};

/// Error for clients that expect messages between clients, which a node of a group does not have either.
const NO_MESSAGES: &str = "ERR there is no publish/subscribe: a node of a group (serve with --replicate) says who \
                           leads on +switch-master, and nothing else; changes of accounts are SCUR.WATCH";
/// Maximum number of channels and patterns of a connection.
const NAMES_MAX: usize = 32;
/// Maximum length of each name, bytes.
const NAME_LEN_MAX: usize = 256;

fn confirm(word: &str, name: Option<&[u8]>, count: usize, reply: &mut Reply<'_>) {
    head(3, reply);
    reply.text(word);
    match name {
        Some(name) => reply.bulk(name),
        None => reply.null(),
    }
    reply.unsigned(count as u64);
}

/// Subscribes to all named channels or patterns, or writes an error.
pub(crate) fn subscribe(
    node: &Node,
    client: &mut Client,
    naming: Naming,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) {
    if node.view.is_none() {
        return reply.error(NO_MESSAGES);
    }
    let mut subscriptions = client.subscriptions.take().unwrap_or_default();
    let is_long = args.iter_from(1).any(|name| name.len() > NAME_LEN_MAX);
    if is_long || subscriptions.len() + args.len() - 1 > NAMES_MAX {
        client.subscriptions = Some(subscriptions).filter(|own| !own.is_empty());
        return reply.error(format_args!(
            "ERR a connection subscribes to {NAMES_MAX} channels and patterns at most, of {NAME_LEN_MAX} bytes"
        ));
    }
    for name in args.iter_from(1) {
        let own = subscriptions.of(naming);
        if !own.iter().any(|known| known == name) {
            own.push(name.to_vec());
        }
        confirm(naming.words().0, Some(name), subscriptions.len(), reply);
    }
    client.subscriptions = Some(subscriptions);
}

/// Unsubscribes from the named channels or patterns, or from all.
pub(crate) fn unsubscribe(
    client: &mut Client,
    naming: Naming,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) {
    let mut subscriptions = client.subscriptions.take().unwrap_or_default();
    let word = naming.words().1;
    let names: Vec<Vec<u8>> = match args.len() {
        1 => subscriptions.of(naming).clone(),
        _ => args.iter_from(1).map(<[u8]>::to_vec).collect(),
    };
    for name in &names {
        subscriptions.of(naming).retain(|known| known != name);
        confirm(word, Some(name), subscriptions.len(), reply);
    }
    if names.is_empty() {
        confirm(word, None, subscriptions.len(), reply);
    }
    client.subscriptions = Some(subscriptions).filter(|own| !own.is_empty());
}

/// Returns the error for a command that a RESP2 connection cannot send while it is subscribed: its replies could be
/// taken for messages.
#[cold]
pub(crate) fn refusal(client: &Client, spec: &Spec) -> Option<String> {
    let is_allowed = client.protocol == Protocol::Resp3
        || matches!(
            spec.id,
            CommandId::Sentinel(
                SentinelId::Subscribe
                    | SentinelId::Unsubscribe
                    | SentinelId::PSubscribe
                    | SentinelId::PUnsubscribe
            ) | CommandId::Echo(EchoId::Ping)
                | CommandId::Connection(ConnectionId::Quit | ConnectionId::Reset)
        );
    (!is_allowed).then(|| {
        format!(
            "ERR Can't execute '{}': only (P)SUBSCRIBE, (P)UNSUBSCRIBE, PING, QUIT and RESET are allowed while a \
             connection of RESP2 is subscribed",
            spec.lower_name()
        )
    })
}

/// Answers PING on a subscribed RESP2 connection.
pub(crate) fn ping(args: Args<'_>, reply: &mut Reply<'_>) {
    reply.array(2);
    reply.text("pong");
    reply.bulk(args.get(1).unwrap_or_default());
}
