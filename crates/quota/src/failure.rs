//! Why a request was not carried out.

use scurry_service::CallError;
use scurry_service_table::UnknownSubscriber;

/// Why a request was not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuotaFailure {
    /// The store has refused it, or did not answer.
    Store(CallError),
    /// There is no account for the subscriber; the table says what is answered.
    UnknownSubscriber(UnknownSubscriber),
    /// Several accounts have the subscriber's identity.
    SeveralAccounts,
}

impl QuotaFailure {
    /// What [`QuotaFailure::UnknownSubscriber`] means, in words.
    pub const UNKNOWN_SUBSCRIBER: &str = "no account is known for this subscriber";
    /// What [`QuotaFailure::SeveralAccounts`] means, in words.
    pub const SEVERAL_ACCOUNTS: &str =
        "several accounts have this identity: make its kind unique (--unique-identities)";
}

impl From<CallError> for QuotaFailure {
    fn from(error: CallError) -> QuotaFailure {
        QuotaFailure::Store(error)
    }
}
