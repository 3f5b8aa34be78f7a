//! The subscriber of a request.

use scurry_quota::Subscriber;
use scurry_service_table::{ServiceTable, SubscriberKind};

/// Returns the subscriber with this identifier (SUPI or GPSI of TS 29.571). Where the settings say nothing of subscribers,
/// an identifier for which there is no rule is the id of the account.
pub(crate) fn subscriber(identifier: &str, table: &ServiceTable) -> Subscriber {
    let (kind, data) = kind(identifier);
    let subscriber = Subscriber::of(table, |of| (of == kind).then_some(data));
    match table.has_own_subscribers() {
        true => subscriber,
        false => subscriber.or_account(identifier),
    }
}

/// Returns the kind of an identifier, and what follows the word for it.
fn kind(identifier: &str) -> (SubscriberKind, &str) {
    let kinds = [
        ("imsi-", SubscriberKind::Imsi),
        ("msisdn-", SubscriberKind::E164),
        ("nai-", SubscriberKind::Nai),
    ];
    let known = kinds.into_iter().find_map(|(word, kind)| {
        let data = identifier.strip_prefix(word)?;
        Some((kind, data))
    });
    known.unwrap_or((SubscriberKind::Private, identifier))
}
