//! What a client does when the last units are used.

use crate::RedirectKind;

/// What a client does when the last units are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FinalAction {
    /// It ends the service.
    Terminate,
    /// It redirects the user to this address: IPv4, IPv6, URL or SIP URI.
    Redirect(String),
    /// It restricts the user to these destinations.
    Restrict {
        /// IPFilterRules.
        rules: Vec<String>,
        /// Names of filters that the client knows.
        filters: Vec<String>,
    },
}

impl FinalAction {
    /// Returns the kind of the address to which the user is redirected. None if there is no redirection.
    pub fn redirect_kind(&self) -> Option<RedirectKind> {
        match self {
            FinalAction::Redirect(address) => RedirectKind::of(address),
            FinalAction::Terminate | FinalAction::Restrict { .. } => None,
        }
    }
}
