//! SCUR.WATCH and SCUR.STATEMENT: finds the thread that has the events, and sends it the request.

use crate::execute::client::Client;
use crate::execute::effect::Effect;
use crate::execute::node::Node;
use crate::mail::message::{EventRequest, Message, Statement};
use crate::net::port::PortKind;
use crate::ticket::Sender;
use scurry_engine::{Durability, Event, LowThresholds, TimeRange};
use scurry_ledger::Id;
use scurry_resp::{Args, FollowRequest, NO_LOG, Reply, Scratch, StatementRequest, WatchStart};

/// Requests events. The reply is made by the thread that reads events.
pub(crate) fn follow(
    node: &mut Node,
    client: &mut Client,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Effect {
    if node.durable.durability() == Durability::None {
        reply.error(NO_LOG);
        return Effect::None;
    }
    let mut scratch: Scratch<'_> = std::mem::take(&mut node.scratch).reuse();
    let effect = match scurry_resp::parse_follow(args, &mut scratch) {
        Ok(request) => match known(&request).and_then(|()| thread(node, client, &request)) {
            Ok(thread) => {
                begin(node, client, &request, thread);
                Effect::Suspend
            }
            Err(text) => {
                reply.error(text);
                Effect::None
            }
        },
        Err(fault) => {
            reply.error(fault);
            Effect::None
        }
    };
    node.scratch = scratch.reuse();
    effect
}

fn begin(node: &mut Node, client: &mut Client, request: &FollowRequest<'_>, thread: u16) {
    let low = |&(unit, threshold): &(_, i64)| LowThresholds { unit, threshold };
    let request = EventRequest {
        sender: sender(node, client),
        protocol: client.protocol,
        start: request.start,
        count: request.count,
        block_ms: request.block_ms,
        lows: request.lows.iter().map(low).collect(),
        events: request.events.to_vec(),
        account: request.account.map(Into::into),
        statement: None,
    };
    send(node, client, request, thread);
}

/// Requests a statement: the events of one account in a period.
pub(crate) fn state(
    node: &mut Node,
    client: &mut Client,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Effect {
    if node.durable.durability() == Durability::None {
        reply.error(NO_LOG);
        return Effect::None;
    }
    let request = match scurry_resp::parse_statement(args) {
        Ok(request) => request,
        Err(fault) => {
            reply.error(fault);
            return Effect::None;
        }
    };
    let StatementRequest { account, from, to, cursor, count, unit, .. } = request;
    let thread = node.shared.slots.owner_of(account);
    // Another thread's commits were durable before any reply showed them, so only own ones are waited for.
    let shown = if thread == node.core { node.shard.sequence() } else { 0 };
    let request = EventRequest {
        sender: sender(node, client),
        protocol: client.protocol,
        start: cursor.map_or(WatchStart::Oldest, WatchStart::At),
        count,
        block_ms: 0,
        lows: Vec::new(),
        events: Vec::new(),
        account: Some(account.into()),
        statement: Some(Statement {
            period: TimeRange { from, to },
            unit,
            transaction: request.transaction.and_then(Id::new),
            session: request.session.and_then(Id::new),
            is_reversed: request.is_reversed,
            shown,
        }),
    };
    send(node, client, request, thread);
    Effect::Suspend
}

fn sender(node: &Node, client: &Client) -> Sender {
    let ticket = client.ticket;
    Sender { core: node.core, connection: ticket.key, client: ticket.client }
}

fn send(node: &mut Node, client: &mut Client, request: EventRequest, thread: u16) {
    let request = Box::new(request);
    client.following = Some(thread);
    if thread == node.core {
        node.durable.follow(request, node.now.uptime_ms);
    } else {
        node.mesh.send(thread, Message::Follow(request));
    }
}

/// Returns the error text if no event has one of the names: a reader would wait for it forever.
fn known(request: &FollowRequest<'_>) -> Result<(), String> {
    let unknown = request.events.iter().find(|name| !Event::WORDS.contains(&name.as_str()));
    unknown.map_or(Ok(()), |name| {
        Err(format!(
            "ERR no event of the log is called {}; those are: {}",
            name.as_str(),
            Event::WORDS.join(" ")
        ))
    })
}

/// Returns the thread that has the events, or the error text.
fn thread(node: &Node, client: &Client, request: &FollowRequest<'_>) -> Result<u16, String> {
    let slots = node.shared.slots;
    let last = slots.cores() - 1;
    let of_position = match request.start {
        WatchStart::At(position) => Some(position.thread),
        WatchStart::Oldest | WatchStart::Newest => None,
    };
    let of_port = (client.port == PortKind::Core || last == 0).then_some(node.core);
    let of_account = || request.account.map(|account| slots.owner_of(account));
    let chosen = request.thread.or(of_port).or(of_position).or_else(of_account);
    let Some(thread) = chosen else {
        return Err(format!("ERR each thread has events of its own: add THREAD 0 to {last}"));
    };
    if let Some(other) = of_position.filter(|&other| other != thread) {
        return Err(format!(
            "ERR the position is one of thread {other}, and thread {thread} is asked for: begin \
             at 0 where the threads have changed"
        ));
    }
    if thread > last {
        return Err(format!(
            "ERR there is no thread {thread}: the threads are 0 to {last}, and where they have \
             changed each begins at 0"
        ));
    }
    if let Some(account) = request.account
        && slots.owner_of(account) != thread
    {
        return Err(format!(
            "ERR thread {} has the events of account {}, and thread {thread} is asked for",
            slots.owner_of(account),
            account.escape_ascii()
        ));
    }
    if client.port == PortKind::Core && last > 0 && thread != node.core {
        return Err(format!(
            "ERR this port is that of thread {}: ask the main port for thread {thread}",
            node.core
        ));
    }
    Ok(thread)
}
