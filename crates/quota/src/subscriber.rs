//! Finds the account of a request. The subscriber's identifiers give candidates, in the order of the settings: ids of
//! accounts, and identities that are looked up. A session stays with the account that opened it, also when an
//! identity moves meanwhile ([`Step::Later`]).

use crate::QuotaFailure;
use scurry_ledger::{ACCOUNT_ID_LEN_MAX, Code, HolderStanding, Id, Name, is_printable};
use scurry_service::{
    CallError, FoundAccounts, Refusal, Reply, Request, Service, StoreRead, StoreReply,
};
use scurry_service_table::{ServiceTable, SubscriberKind, UnknownSubscriber};
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
pub struct Subscriber {
    candidates: SmallVec<[Candidate; 1]>,
    unknown: UnknownSubscriber,
}

/// The reply to a request, and the account that it was carried out on.
#[derive(Clone, Debug)]
pub struct Called<'a> {
    /// Id of the account.
    pub account: Cow<'a, [u8]>,
    /// The store's reply.
    pub reply: Reply,
}

/// Whether an earlier request has chosen the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// It has not: this request has no session.
    First,
    /// This request opens the ledger's session with this id, unless it is a copy of one that has.
    Opens(&'a [u8]),
    /// It has, for the ledger's session with this id.
    Later(&'a [u8]),
}

impl Subscriber {
    /// Returns the candidates in the table. `identifier` returns the subscriber's identifier of a kind.
    pub fn of<'i>(
        table: &ServiceTable,
        identifier: impl Fn(SubscriberKind) -> Option<&'i str>,
    ) -> Subscriber {
        let mut candidates = SmallVec::new();
        for rule in table.subscribers() {
            let Some(data) = identifier(rule.kind) else { continue };
            if let Some(id) = rule.account_of(data).filter(|id| is_account_id(id.as_bytes())) {
                candidates.push(Candidate::Account(id.into_bytes()));
            }
            if let (Some(kind), Some(value)) = (rule.identity, Id::new(data.as_bytes())) {
                candidates.push(Candidate::Identity { kind, value });
            }
        }
        Subscriber { candidates, unknown: table.unknown_subscriber() }
    }

    /// Returns the subscriber with the account of this id, if nothing else leads to an account.
    pub fn or_account(mut self, id: &str) -> Subscriber {
        if self.candidates.is_empty() && is_account_id(id.as_bytes()) {
            self.candidates.push(Candidate::Account(id.as_bytes().to_vec()));
        }
        self
    }

    /// Carries a request out on the subscriber's account. `request` makes it for an account; if its second argument is
    /// true, use is settled although the session is not open.
    ///
    /// # Errors
    /// When no account or several are the subscriber's, or the store does not carry the request out.
    pub async fn call(
        &self,
        store: &dyn Service,
        step: Step<'_>,
        request: impl Fn(&[u8], bool) -> Request,
    ) -> Result<Called<'_>, QuotaFailure> {
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
                outcome => return Ok(Called { reply: outcome?, account }),
            }
        }
        let Some(account) = present else {
            return Err(QuotaFailure::UnknownSubscriber(self.unknown));
        };
        Ok(Called { reply: store.call(request(&account, true)).await?, account })
    }
}

/// Finds the account of an identity. With a session it is the one that has the session, and the second value is what the
/// account is to it. None if no account has the identity.
async fn find(
    store: &dyn Service,
    kind: Name,
    value: &Id,
    session: Option<Id>,
) -> Result<Option<(Vec<u8>, Option<HolderStanding>)>, QuotaFailure> {
    let read = StoreRead::Find { kind, value: value.clone(), session };
    let StoreReply::Found(FoundAccounts { mut accounts, more, holder }) =
        store.read_store(read).await?
    else {
        return Err(CallError::WrongShape.into());
    };
    if more || accounts.len() > 1 {
        return Err(QuotaFailure::SeveralAccounts);
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
