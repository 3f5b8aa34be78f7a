//! Access tokens of the NRF: JSON Web Tokens (RFC 7519) in the compact form of RFC 7515, with the claims of TS 29.510
//! clause 6.3.5.2.4, shown as RFC 6750 says and checked as TS 33.501 clause 13.4.1 asks.

mod algorithm;
mod check;
mod claims;
mod fault;
mod jws;
mod key_error;
mod keys;
mod present;
mod quote;
mod rules;
mod settings;

pub use check::TokenCheck;
pub use claims::Claims;
pub use fault::TokenFault;
pub use jws::TOKEN_LEN_MAX;
pub use key_error::KeyError;
pub use keys::{KEYS_MAX, TokenKeys};
pub use rules::TokenRules;
pub use settings::{AUDIENCES_MAX, ISSUERS_MAX, LEEWAY_S, OauthSettings, OauthSettingsError};
