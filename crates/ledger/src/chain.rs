//! A chain: several commands, each on an account of its own, that are all carried out or none
//! (docs/ledger.md section 15). The rules of the chain as a whole stand here; what a command does on
//! its account, alone or denied by its chain, stands in `decide`.

use crate::{
    Account, Answer, CHAIN_MAX, Change, Code, CodeKind, Command, Decision, Limits, Rejection, Time,
    decide, decide_denied_with,
};
use alloc::vec::Vec;

/// One command of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// Account id.
    pub account: &'a [u8],
    /// Command to the account.
    pub command: Command<'a>,
}

/// A refusal of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainRejection {
    /// Place of the link that is refused, from 0; none where it is the chain as a whole.
    pub link: Option<usize>,
    /// The refusal: its own, where it is one link.
    pub rejection: Rejection,
}

/// A judgement on a chain, by the decisions on its links, each as if it were alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every link is carried out as it was decided.
    Commit,
    /// A link is denied. Each that is denied by itself is carried out as it was decided; the others are
    /// decided anew, by [`crate::decide_denied_with`].
    Deny,
    /// Every link is a duplicate: the stored answers.
    Replay,
    /// Nothing changes.
    Reject(ChainRejection),
}

/// The outcome of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainDecision {
    /// Duplicates: the stored answer of each link. Nothing changes.
    Replay(Vec<Answer>),
    /// A refusal: nothing changes, nothing is stored.
    Reject(ChainRejection),
    /// Changes to log and apply, all or none, and the answers, each in the order of the links.
    Commit(Vec<(Change, Answer)>),
}

/// Decides a chain on its accounts, which are in the order of the links (docs/ledger.md section 15).
/// Pure, as [`decide`] is. A host with room of its own does the same in place.
///
/// [`decide`]: crate::decide
pub fn decide_chain(
    accounts: &[Option<&Account>],
    links: &[Link<'_>],
    clock: Time,
    limits: &Limits,
) -> ChainDecision {
    if let Err(rejection) = check_chain(links) {
        return ChainDecision::Reject(rejection);
    }
    let now = accounts.iter().fold(clock, |now, account| now.on(*account));
    let each = || accounts.iter().zip(links);
    let decisions: Vec<Decision> =
        each().map(|(account, link)| decide(*account, &link.command, now, limits)).collect();
    let verdict = judge(&decisions);
    let mut commits = Vec::new();
    let mut stored = Vec::new();
    for ((account, link), decision) in each().zip(decisions) {
        match (verdict, decision) {
            (Verdict::Reject(rejection), _) => return ChainDecision::Reject(rejection),
            (Verdict::Deny, Decision::Commit(_, answer)) if !is_denial(&answer) => {
                let mut draft = account.cloned();
                let ops = &mut Vec::new();
                let denied = decide_denied_with(ops, &mut draft, &link.command, now, limits);
                if let Decision::Commit(change, answer) = denied {
                    commits.push((change, answer));
                }
            }
            (_, Decision::Commit(change, answer)) => commits.push((change, answer)),
            (_, Decision::Replay(answer)) => stored.push(answer),
            // The verdict would be another one.
            (_, Decision::Reject(_)) => {}
        }
    }
    if verdict == Verdict::Replay {
        ChainDecision::Replay(stored)
    } else {
        ChainDecision::Commit(commits)
    }
}

/// Refuses a chain for what it says by itself.
pub fn check_chain(links: &[Link<'_>]) -> Result<(), ChainRejection> {
    let invalid = |link, why| {
        let rejection = Rejection { code: Code::Invalid, why, bound: None, expired_ms: None };
        Err(ChainRejection { link, rejection })
    };
    if links.is_empty() || links.len() > CHAIN_MAX {
        return invalid(None, "a chain has 1 to 16 commands");
    }
    for (at, link) in links.iter().enumerate() {
        if !may_be_chained(&link.command) {
            return invalid(
                Some(at),
                "a chain takes RESERVE, UPDATE, TERMINATE, DEBIT, TOPUP and REFUND only",
            );
        }
        if links[..at].iter().any(|other| other.account == link.account) {
            return invalid(Some(at), "the accounts of a chain must differ");
        }
    }
    Ok(())
}

fn may_be_chained(command: &Command<'_>) -> bool {
    matches!(
        command,
        Command::Reserve(_)
            | Command::Update(_)
            | Command::Terminate(_)
            | Command::Debit { .. }
            | Command::DebitItems { .. }
            | Command::TopUp { .. }
            | Command::Refund { .. }
            | Command::RefundItems { .. }
    )
}

/// The verdict on a chain by the decisions on its links.
pub fn judge(decisions: &[Decision]) -> Verdict {
    let (mut replays, mut denials) = (0, 0);
    for (at, decision) in decisions.iter().enumerate() {
        match decision {
            Decision::Reject(rejection) => {
                return Verdict::Reject(ChainRejection { link: Some(at), rejection: *rejection });
            }
            Decision::Replay(_) => replays += 1,
            Decision::Commit(_, answer) => denials += usize::from(is_denial(answer)),
        }
    }
    if replays == decisions.len() {
        return Verdict::Replay;
    }
    if replays > 0 {
        let link = decisions.iter().position(|one| matches!(one, Decision::Replay(_)));
        return Verdict::Reject(ChainRejection { link, rejection: PART_IS_KNOWN });
    }
    if denials > 0 { Verdict::Deny } else { Verdict::Commit }
}

const PART_IS_KNOWN: Rejection = Rejection {
    code: Code::RequestMismatch,
    why: "this command was answered before and others of the chain were not, or are forgotten; \
          nothing was done now: look at the accounts (SCUR.GET, SCUR.STATEMENT) for what was done \
          before you send any of it with new ids",
    bound: None,
    expired_ms: None,
};

/// True for an answer that denies its chain.
pub fn is_denial(answer: &Answer) -> bool {
    matches!(answer.code().kind(), CodeKind::Denial)
}

/// Place of the link that denies its chain, by the answers: the first that is denied by itself. None
/// where no link is denied.
pub fn first_denied(answers: &[Answer]) -> Option<usize> {
    let by_itself = |answer: &Answer| is_denial(answer) && answer.code() != Code::ChainDenied;
    // Links that were denied by other chains may stand in this one as duplicates.
    answers.iter().position(by_itself).or_else(|| answers.iter().position(is_denial))
}
