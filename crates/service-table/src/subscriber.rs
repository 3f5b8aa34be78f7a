//! How the subscriber of a request becomes an account.

use scurry_ledger::Name;
use serde::Deserialize;

/// Kinds of identifiers of a subscriber, as Subscription-Id-Type of RFC 8506 has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubscriberKind {
    /// A telephone number (E.164, MSISDN).
    E164,
    /// An IMSI.
    Imsi,
    /// A SIP URI.
    SipUri,
    /// A network access identifier.
    Nai,
    /// An identifier that only the client and this server know.
    Private,
}

/// One rule: how an identifier of this kind finds its account. The rules are tried in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriberRule {
    /// The kind of the identifier.
    pub kind: SubscriberKind,
    /// Text before and after the identifier in the id of the account: `imsi-{}` is `("imsi-", "")`.
    pub account: Option<(String, String)>,
    /// Kind of the identity by which the account is found, if it is not found by its id.
    pub identity: Option<Name>,
}

impl SubscriberRule {
    /// Returns the rules that hold without settings: an IMSI finds `imsi-{}`, then a telephone number finds `msisdn-{}`.
    pub(crate) fn standard() -> Vec<SubscriberRule> {
        let rule = |kind, before: &str| {
            let account = Some((before.to_owned(), String::new()));
            SubscriberRule { kind, account, identity: None }
        };
        vec![rule(SubscriberKind::Imsi, "imsi-"), rule(SubscriberKind::E164, "msisdn-")]
    }

    /// Returns the id of the account of an identifier. None if the rule has no pattern of accounts. The caller checks that
    /// the id is one that an account can have.
    pub fn account_of(&self, data: &str) -> Option<String> {
        let (before, after) = self.account.as_ref()?;
        Some([before.as_str(), data, after.as_str()].concat())
    }
}
