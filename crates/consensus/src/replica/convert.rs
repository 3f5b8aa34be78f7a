//! Conversions between the engine's messages and entries and those of this crate.

use crate::replica::entry::{Entry, EntryKind, Members, Membership};
use crate::replica::ids::{Index, NodeId, Round, Term};
use crate::replica::log::{Log, engine_entry};
use crate::replica::message::{Message, MessageBody};
use raft::CAMPAIGN_TRANSFER;
use raft::eraftpb::{
    ConfChangeSingle, ConfChangeTransition, ConfChangeType, ConfChangeV2, ConfState,
    Entry as RaftEntry, EntryType, Message as RaftMessage, MessageType,
};

/// Converts a message for the engine. Its entries have no content.
pub(crate) fn to_engine(message: &Message) -> RaftMessage {
    let mut to = RaftMessage::default();
    to.from = message.from.get();
    to.to = message.to.get();
    to.term = message.term.0;
    match &message.body {
        MessageBody::Append { previous, previous_term, committed, entries } => {
            to.set_msg_type(MessageType::MsgAppend);
            to.index = previous.0;
            to.log_term = previous_term.0;
            to.commit = committed.0;
            to.set_entries(entries.iter().map(entry_to_engine).collect::<Vec<_>>().into());
        }
        MessageBody::Appended { index, committed } => {
            to.set_msg_type(MessageType::MsgAppendResponse);
            to.index = index.0;
            to.commit = committed.0;
        }
        MessageBody::NotAppended { previous, hint, hint_term, committed } => {
            to.set_msg_type(MessageType::MsgAppendResponse);
            to.index = previous.0;
            to.reject = true;
            to.reject_hint = hint.0;
            to.log_term = hint_term.0;
            to.commit = committed.0;
        }
        MessageBody::AskVote { before, transfer, last, last_term, committed, committed_term } => {
            to.set_msg_type(if *before {
                MessageType::MsgRequestPreVote
            } else {
                MessageType::MsgRequestVote
            });
            if *transfer {
                to.context = CAMPAIGN_TRANSFER.into();
            }
            to.index = last.0;
            to.log_term = last_term.0;
            to.commit = committed.0;
            to.commit_term = committed_term.0;
        }
        MessageBody::Vote { before, granted, committed, committed_term } => {
            to.set_msg_type(if *before {
                MessageType::MsgRequestPreVoteResponse
            } else {
                MessageType::MsgRequestVoteResponse
            });
            to.reject = !granted;
            to.commit = committed.0;
            to.commit_term = committed_term.0;
        }
        MessageBody::Heartbeat { committed, round } | MessageBody::Alive { committed, round } => {
            let is_alive = matches!(message.body, MessageBody::Alive { .. });
            to.set_msg_type(if is_alive {
                MessageType::MsgHeartbeatResponse
            } else {
                MessageType::MsgHeartbeat
            });
            to.commit = committed.0;
            if *round > Round(0) {
                to.context = round.0.to_le_bytes().to_vec().into();
            }
        }
        MessageBody::TimeoutNow => to.set_msg_type(MessageType::MsgTimeoutNow),
    }
    to
}

/// Converts a message of the engine, and adds the content of its entries. Returns None when one of them is no longer in
/// the log: the node that created the append no longer leads.
pub(crate) fn from_engine(message: &RaftMessage, log: &Log) -> Option<Message> {
    let (committed, committed_term) = (Index(message.commit), Term(message.commit_term));
    let before = matches!(
        message.get_msg_type(),
        MessageType::MsgRequestPreVote | MessageType::MsgRequestPreVoteResponse
    );
    let body = match message.get_msg_type() {
        MessageType::MsgAppend => {
            let content =
                |of: &RaftEntry| log.entry(Index(of.index)).filter(|is| is.term.0 == of.term);
            let entries = message.entries.iter().map(content).collect::<Option<Vec<Entry>>>()?;
            let (previous, previous_term) = (Index(message.index), Term(message.log_term));
            MessageBody::Append { previous, previous_term, committed, entries }
        }
        MessageType::MsgAppendResponse if message.reject => MessageBody::NotAppended {
            previous: Index(message.index),
            hint: Index(message.reject_hint),
            hint_term: Term(message.log_term),
            committed,
        },
        MessageType::MsgAppendResponse => {
            MessageBody::Appended { index: Index(message.index), committed }
        }
        MessageType::MsgRequestVote | MessageType::MsgRequestPreVote => MessageBody::AskVote {
            before,
            transfer: message.context == CAMPAIGN_TRANSFER,
            last: Index(message.index),
            last_term: Term(message.log_term),
            committed,
            committed_term,
        },
        MessageType::MsgRequestVoteResponse | MessageType::MsgRequestPreVoteResponse => {
            MessageBody::Vote { before, granted: !message.reject, committed, committed_term }
        }
        MessageType::MsgHeartbeat => {
            MessageBody::Heartbeat { committed, round: round(&message.context) }
        }
        MessageType::MsgHeartbeatResponse => {
            MessageBody::Alive { committed, round: round(&message.context) }
        }
        MessageType::MsgTimeoutNow => MessageBody::TimeoutNow,
        // The host never causes the other kinds, or they stay within the engine.
        _ => return None,
    };
    let (from, to) = (NodeId::new(message.from)?, NodeId::new(message.to)?);
    Some(Message { from, to, term: Term(message.term), body })
}

/// Returns the round that a context names; 0 for none.
pub(crate) fn round(context: &[u8]) -> Round {
    Round(context.try_into().map_or(0, u64::from_le_bytes))
}

/// Returns true for an entry about members.
pub(crate) fn is_turn(entry: &RaftEntry) -> bool {
    entry.get_entry_type() == EntryType::EntryConfChangeV2
}

/// Returns an entry that the engine has created by itself.
pub(crate) fn made_by_engine(entry: &RaftEntry) -> Entry {
    let kind = if is_turn(entry) { EntryKind::MembersFinal } else { EntryKind::Empty };
    Entry { term: Term(entry.term), index: Index(entry.index), kind }
}

fn entry_to_engine(entry: &Entry) -> RaftEntry {
    let is_turn = matches!(entry.kind, EntryKind::Members(_) | EntryKind::MembersFinal);
    engine_entry(entry.term, entry.index, is_turn)
}

/// Returns the engine's change from one list of members to another, by both majorities.
pub(crate) fn change_to(before: &Members, after: &Members) -> ConfChangeV2 {
    let mut change = ConfChangeV2::default();
    // The engine appends the end of the change by itself.
    change.set_transition(ConfChangeTransition::Implicit);
    let mut add = |node: NodeId, kind| {
        let mut single = ConfChangeSingle { node_id: node.get(), ..ConfChangeSingle::default() };
        single.set_change_type(kind);
        change.mut_changes().push(single);
    };
    for node in after.voters().iter().filter(|node| !before.voters().contains(node)) {
        add(*node, ConfChangeType::AddNode);
    }
    for node in after.learners().iter().filter(|node| !before.learners().contains(node)) {
        add(*node, ConfChangeType::AddLearnerNode);
    }
    for node in before.iter().filter(|node| !after.iter().any(|other| other == *node)) {
        add(node, ConfChangeType::RemoveNode);
    }
    change
}

/// Converts the engine's members; None when they are invalid.
pub(crate) fn membership(state: &ConfState) -> Option<Membership> {
    let nodes = |numbers: &[u64]| -> Vec<NodeId> {
        numbers.iter().filter_map(|number| NodeId::new(*number)).collect()
    };
    let mut outgoing = nodes(state.get_voters_outgoing());
    outgoing.sort_unstable();
    // `learners_next` are old voters that become learners when the change ends.
    let learners = [nodes(state.get_learners()), nodes(state.get_learners_next())].concat();
    let members = Members::new(nodes(state.get_voters()), learners).ok()?;
    Some(Membership { members, outgoing })
}
