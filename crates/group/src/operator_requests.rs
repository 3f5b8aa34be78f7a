//! Requests of operators: TRANSFER and REMOVE. Each gets its reply when the change has ended, so that the operator can
//! rely on it. A request that does not end in time gets an error that says how far it is.

use crate::membership::{Membership, OperatorRequest};
use scurry_consensus::shard::ShardGroup;

/// Most requests that are in progress, and most replies that were not delivered yet.
const OPEN_MAX: usize = 16;
/// Ticks after which a request that has not ended gets an error: 10 s.
const OPEN_TICKS_MAX: u32 = 334;
/// Ticks for which a reply is kept that cannot be delivered: 3 s.
const KEPT_TICKS_MAX: u32 = 100;

/// The outcome of a request: the reason if it has failed.
pub type RequestOutcome = Result<(), String>;

/// Delivers the outcome of a request. Returns false if it cannot be delivered now, and then is called again.
pub type RequestReply = Box<dyn Fn(&RequestOutcome) -> bool + Send>;

/// A request in progress.
struct Open {
    request: OperatorRequest,
    reply: RequestReply,
    ticks: u32,
}

/// A reply that was not delivered yet.
struct Answer {
    reply: RequestReply,
    outcome: RequestOutcome,
    ticks: u32,
}

/// The requests in progress, and the replies that were not delivered yet.
#[derive(Default)]
pub(super) struct OperatorRequests {
    open: Vec<Open>,
    answers: Vec<Answer>,
}

impl OperatorRequests {
    /// Reports whether no further request can be accepted.
    pub(super) fn are_too_many(&self) -> bool {
        self.open.len() >= OPEN_MAX
    }

    /// Adds a request that has begun.
    pub(super) fn watch(&mut self, request: OperatorRequest, reply: RequestReply) {
        self.open.push(Open { request, reply, ticks: 0 });
    }

    /// Counts a tick: replies to requests that have ended or timed out.
    pub(super) fn tick(&mut self, groups: &[ShardGroup], membership: &Membership) {
        for mut open in std::mem::take(&mut self.open) {
            open.ticks += 1;
            match outcome(open.request, groups, membership) {
                Some(outcome) => self.answer(open.reply, open.request, outcome),
                None if open.ticks > OPEN_TICKS_MAX => {
                    self.answer(open.reply, open.request, Err(unended(open.request)));
                }
                None => self.open.push(open),
            }
        }
        self.deliver();
    }

    /// Replies to a request with its outcome. A failure is also logged.
    pub(super) fn answer(
        &mut self,
        reply: RequestReply,
        request: OperatorRequest,
        outcome: RequestOutcome,
    ) {
        if let Err(why) = &outcome {
            let id = request.node();
            tracing::warn!(node = %id, ?request, "a request of an operator has failed: {why}");
        }
        if self.answers.len() < OPEN_MAX {
            self.answers.push(Answer { reply, outcome, ticks: 0 });
        }
        self.deliver();
    }

    /// Delivers the replies. One that cannot be delivered now is kept for the next tick.
    fn deliver(&mut self) {
        for mut answer in std::mem::take(&mut self.answers) {
            answer.ticks += 1;
            if !(answer.reply)(&answer.outcome) && answer.ticks <= KEPT_TICKS_MAX {
                self.answers.push(answer);
            }
        }
    }
}

/// Returns the outcome of a request. None while it is in progress.
fn outcome(
    request: OperatorRequest,
    groups: &[ShardGroup],
    membership: &Membership,
) -> Option<RequestOutcome> {
    let leads = groups.iter().all(ShardGroup::leads);
    let is_settled = leads && groups.iter().all(ShardGroup::is_settled);
    match request {
        OperatorRequest::Transfer(to) => {
            if groups.iter().all(|group| group.leader() == Some(to)) {
                return Some(Ok(()));
            }
            // This leader serves again without a change in progress, so the transfer was given up.
            let stays =
                "it has not taken over, and this node leads on: look at its log and its lag";
            is_settled.then(|| Err(stays.to_owned()))
        }
        OperatorRequest::Remove(id) => {
            let leader = groups.first().and_then(ShardGroup::leader);
            if !leads && leader.is_some_and(|leader| leader != membership.node()) {
                // A new leader may or may not commit the removal: only its state can tell.
                return Some(Err(
                    "another node leads now: its SCUR.REPLICA STATUS shows whether the removal was \
                     committed; stop nothing before"
                        .to_owned(),
                ));
            }
            let is_gone = |group: &ShardGroup| {
                let membership = group.replica.membership();
                !membership.is_joint() && membership.members.iter().all(|member| member != id)
            };
            if groups.iter().all(is_gone) {
                // Removed in the log of this node. The reply waits until a majority knows it, since the change could
                // otherwise be lost with this leader.
                let voters = groups.first().and_then(ShardGroup::voters).unwrap_or_default();
                return membership.are_known(groups, voters).then_some(Ok(()));
            }
            let is_there = is_settled && !groups.iter().any(is_gone);
            is_there.then(|| Err("its removal was not begun: ask again".to_owned()))
        }
    }
}

/// Returns the error for a request that has timed out.
fn unended(request: OperatorRequest) -> String {
    match request {
        OperatorRequest::Transfer(_) => {
            "it is to lead, and does not yet: SCUR.REPLICA STATUS shows who does".to_owned()
        }
        OperatorRequest::Remove(_) => "its removal has begun, and is not known to a majority of the others yet: stop nothing before \
                            SCUR.REPLICA STATUS names it no more and can_lose_a_node or the lags say that the others are well"
            .to_owned(),
    }
}
