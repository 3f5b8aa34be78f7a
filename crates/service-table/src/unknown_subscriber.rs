//! What a door answers for a subscriber of whom there is no account.

use serde::Deserialize;

/// What a door answers for a subscriber without an account, as the setting `unknown_subscriber` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum UnknownSubscriber {
    /// DIAMETER_USER_UNKNOWN, 5030: `user_unknown`.
    #[default]
    UserUnknown,
    /// DIAMETER_AUTHORIZATION_REJECTED, 5003: `rejected`.
    AuthorizationRejected,
    /// DIAMETER_END_USER_SERVICE_DENIED, 4010: `denied`.
    ServiceDenied,
}

impl TryFrom<String> for UnknownSubscriber {
    type Error = String;

    fn try_from(word: String) -> Result<UnknownSubscriber, String> {
        match &*word {
            "user_unknown" => Ok(UnknownSubscriber::UserUnknown),
            "rejected" => Ok(UnknownSubscriber::AuthorizationRejected),
            "denied" => Ok(UnknownSubscriber::ServiceDenied),
            _ => Err(format!("{word:?} is no such answer: use user_unknown, rejected or denied")),
        }
    }
}

impl UnknownSubscriber {
    /// Returns the Result-Code (RFC 6733 section 7.1, RFC 8506 section 9).
    pub const fn result_code(self) -> u32 {
        match self {
            UnknownSubscriber::UserUnknown => 5030,
            UnknownSubscriber::AuthorizationRejected => 5003,
            UnknownSubscriber::ServiceDenied => 4010,
        }
    }
}
