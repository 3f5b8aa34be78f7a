//! WAIT, ROLE, and the replication section of INFO. A store on one machine has no replicas; in a group the primary is
//! the leader.

mod group;

pub(super) use group::PortRole;
pub(crate) use group::word;

use super::{Lines, NOT_AN_INTEGER};
use crate::execute::client::Client;
use crate::execute::effect::Effect;
use crate::execute::node::Node;
use crate::mail::message::Message;
use crate::ticket::{Sender, Ticket};
use scurry_group::view::{Member, View};
use scurry_group::{OperatorRequest, RequestOutcome, RequestReply};
use scurry_resp::{Args, Reply, parse_integer};
use std::borrow::Cow;

/// Answers ROLE: the node's role, and the address of the leader or of the replicas.
pub(crate) fn role(node: &Node, client: &Client, reply: &mut Reply<'_>) {
    match &node.view {
        Some(view) => PortRole::of(view, client.port, node.core).role(reply),
        None => {
            // A primary without replicas: Redis's replication protocol cannot follow this log.
            reply.array(3);
            reply.text("master");
            reply.integer(0);
            reply.array(0);
        }
    }
}

/// Writes the same as lines of INFO. Some clients do not connect without them.
pub(super) fn describe(node: &Node, client: &Client, lines: &mut Lines) {
    let offset = match &node.view {
        Some(view) => {
            let part = PortRole::of(view, client.port, node.core);
            part.describe(lines);
            part.offset()
        }
        None => {
            lines.line("role", "master");
            lines.line("connected_slaves", 0);
            0
        }
    };
    lines.line("master_failover_state", "no-failover");
    lines.line("master_replid", format_args!("{:040x}", node.shared.run_id));
    lines.line("master_replid2", format_args!("{:040x}", 0));
    lines.line("master_repl_offset", offset);
    lines.line("second_repl_offset", -1);
    lines.line("repl_backlog_active", 0);
    lines.line("repl_backlog_size", 0);
    lines.line("repl_backlog_first_byte_offset", 0);
    lines.line("repl_backlog_histlen", 0);
    if let Some(view) = &node.view {
        group::lines(view, node.now.uptime_ms, lines);
    }
}

/// Answers with the lines of `scurry replica status`.
pub(crate) fn status(node: &Node, reply: &mut Reply<'_>) {
    let Some(view) = &node.view else { return reply.error(super::NO_GROUP) };
    let mut lines = Lines(String::new());
    group::lines(view, node.now.uptime_ms, &mut lines);
    reply.verbatim(&lines.0);
}

/// Transfers the leadership to another node. The reply is sent once that node leads, at once if it leads already.
pub(crate) fn transfer(
    node: &Node,
    client: &mut Client,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Effect {
    start_request(node, client, args, reply, |view, member| {
        if member.id == view.node {
            return Ok(None);
        }
        if !member.votes {
            return Err("it has no vote, and cannot lead".into());
        }
        if !member.is_connected {
            return Err("there is no connection to it".into());
        }
        Ok(Some(OperatorRequest::Transfer(member.id)))
    })
}

/// Removes a node from the group. The reply is sent once the others are a group without it.
pub(crate) fn remove(
    node: &Node,
    client: &mut Client,
    args: Args<'_>,
    reply: &mut Reply<'_>,
) -> Effect {
    start_request(node, client, args, reply, |view, member| {
        if member.id == view.node {
            return Err("it leads: let another node lead first, and ask that one".into());
        }
        match view.too_few_without(member.id) {
            Some(why) => Err(why.into()),
            None => Ok(Some(OperatorRequest::Remove(member.id))),
        }
    })
}

/// Starts a request about a member, where this node leads. `what` returns None when there is nothing to do.
fn start_request(
    node: &Node,
    client: &mut Client,
    args: Args<'_>,
    reply: &mut Reply<'_>,
    what: impl FnOnce(&View, &Member) -> Result<Option<OperatorRequest>, Cow<'static, str>>,
) -> Effect {
    let (Some(view), Some(group)) = (&node.view, &node.group) else {
        reply.error(super::NO_GROUP);
        return Effect::None;
    };
    let shown = args.at(2).escape_ascii();
    let id = str::from_utf8(args.at(2)).ok().and_then(|id| u64::from_str_radix(id, 16).ok());
    let member = view.members.iter().find(|member| Some(member.id.get()) == id);
    match member {
        None => reply.error(format_args!(
            "ERR {shown} is no node of this group: SCUR.REPLICA STATUS shows their ids"
        )),
        Some(_) if !view.leads() => reply
            .error("ERR this node does not lead: ask the leader, which SCUR.REPLICA STATUS shows"),
        Some(member) => match what(view, member) {
            Ok(None) => reply.ok(),
            Ok(Some(request)) => {
                if group.ask(request, reply_to(node, client.ticket, request)) {
                    client.awaits_group = true;
                    return Effect::Suspend;
                }
                reply.error("ERR this node stops: ask the one that leads next");
            }
            Err(why) => reply.error(format_args!("ERR node {shown}: {why}")),
        },
    }
    Effect::None
}

/// Returns the function that sends a client the outcome of its request, by the mail of this core.
fn reply_to(node: &Node, ticket: Ticket, request: OperatorRequest) -> RequestReply {
    let Ticket { key, client } = ticket;
    let sender = Sender { core: node.core, connection: key, client };
    let letterbox = node.mesh.own_letterbox();
    Box::new(move |outcome| {
        letterbox.post(Message::Followed(sender, bytes_of(request, outcome))).is_ok()
    })
}

fn bytes_of(request: OperatorRequest, outcome: &RequestOutcome) -> Vec<u8> {
    match outcome {
        Ok(()) => b"+OK\r\n".to_vec(),
        Err(why) => format!("-ERR node {}: {why}\r\n", request.node()).into_bytes(),
    }
}

pub(crate) fn wait(node: &Node, args: Args<'_>, reply: &mut Reply<'_>) {
    if parse_integer(args.at(1)).is_none() {
        return reply.error(NOT_AN_INTEGER);
    }
    match parse_integer(args.at(2)) {
        None => reply.error("ERR timeout is not an integer or out of range"),
        Some(timeout_ms) if timeout_ms < 0 => reply.error("ERR timeout is negative"),
        Some(timeout_ms) if timeout_ms > i64::MAX - node.now.time.0 => {
            reply.error("ERR timeout is out of range");
        }
        Some(_) => reply.integer(0),
    }
}
