//! The subscriber of a request, and the answer of the store about it.

use super::failure::Failure;
use scurry_diameter::ccr::{SubscriptionIds, SubscriptionKind};
use scurry_quota::{Called, QuotaFailure, Subscriber};
use scurry_service::{Answered, CallError, Reply};
use scurry_service_table::{ServiceTable, SubscriberKind};

/// Returns the subscriber that these identifiers have in the table.
pub(super) fn subscriber(ids: &SubscriptionIds<'_>, table: &ServiceTable) -> Subscriber {
    Subscriber::of(table, |of| ids.find(kind(of)))
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
pub(super) fn answered(called: Result<Called<'_>, QuotaFailure>) -> Result<Answered, Failure> {
    match called?.reply {
        Reply::Answer(answered) => Ok(answered),
        _ => Err(CallError::WrongShape.into()),
    }
}
