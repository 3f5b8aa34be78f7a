//! Finds the account of a request. The subscriber's identifiers give candidates, in the order of the settings: ids of
//! accounts, and identities that are looked up. A session stays with the account that opened it, also when an
//! identity moves meanwhile ([`Step::Later`]).

use super::failure::Failure;
use scurry_diameter::ResultCode;
use scurry_diameter::ccr::{SubscriptionIds, SubscriptionKind};
use scurry_ledger::{ACCOUNT_ID_LEN_MAX, Code, HolderStanding, Id, Name, is_printable};
use scurry_service::{
    Answered, CallError, FoundAccounts, Refusal, Reply, Request, Service, StoreRead, StoreReply,
};
use scurry_service_table::{ServiceTable, SubscriberKind};
use smallvec::SmallVec;
use std::borrow::Cow;

/// A way to an account.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Candidate {
    /// The account with this id.
    Account(Vec<u8>),
    /// The account with this identity.
    Identity { kind: Name, value: Id },
}

/// The candidates of a request, and what an unknown subscriber is answered.
#[derive(Clone, Debug)]
pub(super) struct Subscriber {
    candidates: SmallVec<[Candidate; 1]>,
    unknown: ResultCode,
}

/// Whether an earlier request has chosen the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step<'a> {
    /// It has not: this request has no session.
    First,
    /// This request opens the ledger's session with this id, unless it is a copy of one that has.
    Opens(&'a [u8]),
    /// It has, for the ledger's session with this id.
    Later(&'a [u8]),
}

impl Subscriber {
    /// Returns the candidates that these identifiers have in the table.
    pub(super) fn of(ids: &SubscriptionIds<'_>, table: &ServiceTable) -> Subscriber {
        let mut candidates = SmallVec::new();
        for rule in table.subscribers() {
            let Some(data) = ids.find(kind(rule.kind)) else { continue };
            if let Some(id) = rule.account_of(data).filter(|id| is_account_id(id.as_bytes())) {
                candidates.push(Candidate::Account(id.into_bytes()));
            }
            if let (Some(kind), Some(value)) = (rule.identity, Id::new(data.as_bytes())) {
                candidates.push(Candidate::Identity { kind, value });
            }
        }
        Subscriber { candidates, unknown: ResultCode(table.unknown_subscriber().result_code()) }
    }

    /// Carries a request out on the subscriber's account. `request` makes it for an account; if its second argument is
    /// true, use is settled although the session is not open.
    pub(super) async fn call(
        &self,
        store: &dyn Service,
        step: Step<'_>,
        request: impl Fn(&[u8], bool) -> Request,
    ) -> Result<Reply, Failure> {
        // With one id there is no other account that late use could belong to.
        let is_only = matches!(&self.candidates[..], [Candidate::Account(_)]);
        // The account for late use of a session that no account knows.
        let mut present = None;
        for candidate in &self.candidates {
            let (account, is_sure) = match (candidate, step) {
                (Candidate::Account(id), _) => (Cow::Borrowed(&id[..]), is_only),
                (Candidate::Identity { kind, value }, step) => {
                    let found = match step {
                        Step::First => find(store, *kind, value, None).await?,
                        Step::Later(session) => find(store, *kind, value, Id::new(session)).await?,
                        Step::Opens(session) => {
                            let found = find(store, *kind, value, Id::new(session)).await?;
                            match found {
                                // A new session is never that of a former holder.
                                Some((_, Some(HolderStanding::Former))) => {
                                    find(store, *kind, value, None).await?
                                }
                                found => found,
                            }
                        }
                    };
                    match found {
                        None => continue,
                        Some((account, standing)) => {
                            let is_sure =
                                standing.is_some_and(|one| one != HolderStanding::Present);
                            (Cow::Owned(account), is_sure)
                        }
                    }
                }
            };
            match store.call(request(&account, is_sure)).await {
                Err(error) if is_rejected(&error, Code::UnknownAccount) => {}
                Err(error)
                    if matches!(step, Step::Later(_))
                        && !is_sure
                        && is_rejected(&error, Code::UnknownSession) =>
                {
                    present.get_or_insert(account);
                }
                outcome => return Ok(outcome?),
            }
        }
        match present {
            Some(account) => Ok(store.call(request(&account, true)).await?),
            None => Err(Failure::new(self.unknown, "no account is known for this subscriber")),
        }
    }
}

/// Finds the account of an identity. With a session it is the one that has the session, and the second value is what the
/// account is to it. None if no account has the identity.
async fn find(
    store: &dyn Service,
    kind: Name,
    value: &Id,
    session: Option<Id>,
) -> Result<Option<(Vec<u8>, Option<HolderStanding>)>, Failure> {
    let read = StoreRead::Find { kind, value: value.clone(), session };
    let StoreReply::Found(FoundAccounts { mut accounts, more, holder }) =
        store.read_store(read).await?
    else {
        return Err(CallError::WrongShape.into());
    };
    if more || accounts.len() > 1 {
        return Err(Failure::new(
            ResultCode::UNABLE_TO_COMPLY,
            "several accounts have this identity: make its kind unique (--unique-identities)",
        ));
    }
    let standing = holder.map(|holder| holder.standing);
    Ok(accounts.pop().map(|account| (account, standing)))
}

fn is_rejected(error: &CallError, expected: Code) -> bool {
    matches!(error, CallError::Refused(Refusal::Rejected { code, .. }) if *code == expected)
}

fn is_account_id(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.len() <= ACCOUNT_ID_LEN_MAX && is_printable(bytes)
}

fn kind(kind: SubscriberKind) -> SubscriptionKind {
    match kind {
        SubscriberKind::E164 => SubscriptionKind::E164,
        SubscriberKind::Imsi => SubscriptionKind::Imsi,
        SubscriberKind::SipUri => SubscriptionKind::SipUri,
        SubscriberKind::Nai => SubscriptionKind::Nai,
        SubscriberKind::Private => SubscriptionKind::Private,
    }
}

/// Returns the command's answer of a reply.
pub(super) fn answered(reply: Reply) -> Result<Answered, Failure> {
    match reply {
        Reply::Answer(answered) => Ok(answered),
        _ => Err(CallError::WrongShape.into()),
    }
}
