//! A chain: several commands, each on a different account. Either all of them are executed, or none (docs/ledger.md
//! section 15). This file has the rules for the chain as a whole; `decide` has the rules for each command on its
//! account, alone or denied by its chain.

use crate::{
    Account, Answer, CHAIN_MAX, Change, Code, CodeKind, Command, Decision, Limits, Rejection, Time,
    decide, decide_denied_with,
};
use alloc::vec::Vec;

/// One command of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// Id of the account.
    pub account: &'a [u8],
    /// Command to execute on the account.
    pub command: Command<'a>,
}

/// A refusal of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainRejection {
    /// Index of the refused link, from 0; `None` if the chain is refused as a whole.
    pub link: Option<usize>,
    /// Refusal of that link, or of the chain.
    pub rejection: Rejection,
}

/// Verdict on a chain, derived from the decisions on its links, each decided as if it were alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainVerdict {
    /// Every link is carried out as decided.
    Commit,
    /// At least one link is denied. Each link that is denied by itself is carried out as decided; the others are
    /// decided again, by [`crate::decide_denied_with`].
    Deny,
    /// Every link is a duplicate and gets its stored answer.
    Replay,
    /// The chain is refused, and nothing changes.
    Reject(ChainRejection),
}

/// Outcome of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainDecision {
    /// Stored answers of duplicates, one per link. Nothing changes.
    Replay(Vec<Answer>),
    /// Refusal: nothing changes, nothing is stored.
    Reject(ChainRejection),
    /// Changes to log and apply, all or none, with their answers, in the order of the links.
    Commit(Vec<(Change, Answer)>),
}

/// Decides a chain on its accounts, which are in the order of the links (docs/ledger.md section 15). Pure, as
/// [`decide`] is. A host that owns copies of the accounts does the same in place.
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
    // All commands of a chain have the same `now`: the latest of the clock and every account's last Change.
    let now = accounts.iter().fold(clock, |now, account| now.on(*account));
    let each = || accounts.iter().zip(links);
    let decisions: Vec<Decision> =
        each().map(|(account, link)| decide(*account, &link.command, now, limits)).collect();
    let verdict = judge(&decisions);
    let mut commits = Vec::new();
    let mut stored = Vec::new();
    for ((account, link), decision) in each().zip(decisions) {
        match (verdict, decision) {
            (ChainVerdict::Reject(rejection), _) => return ChainDecision::Reject(rejection),
            (ChainVerdict::Deny, Decision::Commit(_, answer)) if !is_denial(&answer) => {
                let mut draft = account.cloned();
                let ops = &mut Vec::new();
                let denied = decide_denied_with(ops, &mut draft, &link.command, now, limits);
                if let Decision::Commit(change, answer) = denied {
                    commits.push((change, answer));
                }
            }
            (_, Decision::Commit(change, answer)) => commits.push((change, answer)),
            (_, Decision::Replay(answer)) => stored.push(answer),
            // Unreachable: a rejected link makes the verdict a rejection.
            (_, Decision::Reject(_)) => {}
        }
    }
    if verdict == ChainVerdict::Replay {
        ChainDecision::Replay(stored)
    } else {
        ChainDecision::Commit(commits)
    }
}

/// Checks the chain by itself, before any account is read: its length, its commands, and that its accounts differ.
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

/// Returns the verdict on a chain from the decisions on its links.
pub fn judge(decisions: &[Decision]) -> ChainVerdict {
    let (mut replays, mut denials) = (0, 0);
    for (at, decision) in decisions.iter().enumerate() {
        match decision {
            Decision::Reject(rejection) => {
                return ChainVerdict::Reject(ChainRejection {
                    link: Some(at),
                    rejection: *rejection,
                });
            }
            Decision::Replay(_) => replays += 1,
            Decision::Commit(_, answer) => denials += usize::from(is_denial(answer)),
        }
    }
    if replays == decisions.len() {
        return ChainVerdict::Replay;
    }
    // Some commands are duplicates and others are not: to carry out only the others would break all or none.
    if replays > 0 {
        let link = decisions.iter().position(|one| matches!(one, Decision::Replay(_)));
        return ChainVerdict::Reject(ChainRejection { link, rejection: PART_IS_KNOWN });
    }
    if denials > 0 { ChainVerdict::Deny } else { ChainVerdict::Commit }
}

const PART_IS_KNOWN: Rejection = Rejection {
    code: Code::RequestMismatch,
    why: "this command was answered before and others of the chain were not, or are forgotten; \
          nothing was done now: look at the accounts (SCUR.GET, SCUR.STATEMENT) for what was done \
          before you send any of it with new ids",
    bound: None,
    expired_ms: None,
};

/// Reports whether the answer denies its chain.
pub fn is_denial(answer: &Answer) -> bool {
    matches!(answer.code().kind(), CodeKind::Denial)
}

/// Returns the index of the link that denies the chain: the first that is denied by itself. `None` if no link is
/// denied.
pub fn first_denied(answers: &[Answer]) -> Option<usize> {
    let by_itself = |answer: &Answer| is_denial(answer) && answer.code() != Code::ChainDenied;
    // A replayed chain may hold duplicates that another chain denied (CHAIN_DENIED): then the first of these is
    // returned.
    answers.iter().position(by_itself).or_else(|| answers.iter().position(is_denial))
}
