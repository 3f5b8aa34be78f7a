//! Why a token is not accepted, in words and as the answer that RFC 6750 asks for.

use http::{HeaderValue, StatusCode};
use thiserror::Error;

/// Bytes of `error_description` at most.
const DESCRIPTION_LEN_MAX: usize = 256;

/// Why a request's token does not open the service. Texts of the token are in quotes, escaped and shortened.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TokenFault {
    /// The request has no Authorization with the scheme Bearer.
    #[error("the request has no access token: get one from the NRF, for Authorization: Bearer")]
    NoToken,
    /// The token is longer than any.
    #[error("the token has {len} bytes: at most {len_max} are read")]
    Oversize {
        /// Its length.
        len: usize,
        /// The greatest length.
        len_max: usize,
    },
    /// It is no token, or not one with the claims of an access token.
    #[error("this is no access token: {0}")]
    Malformed(String),
    /// It is signed in a way that is not accepted, or not at all.
    #[error("the token is signed with {0}: have the NRF sign with RS256 or ES256")]
    Algorithm(String),
    /// It has extensions that must be understood.
    #[error("the token has extensions (`crit`) that are not known here")]
    Critical,
    /// There is no key of its kind and name.
    #[error(
        "no public key for {algorithm}{} is known here: add the key of the NRF to `keys`",
        kid.as_ref().map(|kid| format!(" with kid {kid}")).unwrap_or_default()
    )]
    NoKey {
        /// Algorithm of the token.
        algorithm: &'static str,
        /// Name of the key that the token names.
        kid: Option<String>,
    },
    /// None of the keys has signed it.
    #[error("the signature of the token is not that of a key in `keys`")]
    Signature,
    /// It is of another NRF.
    #[error("the token is of issuer {0}, which is not one of `issuers`")]
    Issuer(String),
    /// It is for another service.
    #[error("the token is for audience {0}, which has none of `audiences`")]
    Audience(String),
    /// It is valid no more.
    #[error("the token expired {ago_s} s ago: get a new one from the NRF")]
    Expired {
        /// How long ago, seconds.
        ago_s: u64,
    },
    /// It is not valid yet.
    #[error("the token is valid only in {until_s} s: synchronize the clocks")]
    Early {
        /// How long until then, seconds.
        until_s: u64,
    },
    /// It is valid for a PLMN, for slices or for a set of NFs, and this service does not know which are its own.
    #[error(
        "the token is restricted by {claim}, which cannot be checked here: have the NRF leave it out"
    )]
    Restricted {
        /// Name of the claim.
        claim: &'static str,
    },
    /// It is good, but not for this service.
    #[error("the token is for the services {has}: this one needs the scope {needs}")]
    Scope {
        /// Scope of the token.
        has: String,
        /// The scope that is missing.
        needs: String,
    },
}

impl TokenFault {
    /// Returns the status of the answer: 403 if the scope is missing, else 401 (RFC 6750 section 3.1).
    pub fn status(&self) -> StatusCode {
        match self {
            TokenFault::Scope { .. } => StatusCode::FORBIDDEN,
            _ => StatusCode::UNAUTHORIZED,
        }
    }

    /// Returns WWW-Authenticate of the answer (RFC 6750 section 3). A request without a token gets no error code.
    pub fn challenge(&self) -> HeaderValue {
        let words = description(&self.to_string());
        let text = match self {
            TokenFault::NoToken => "Bearer realm=\"3gpp-sbi\"".to_owned(),
            TokenFault::Scope { needs, .. } => {
                let scope = description(needs);
                format!(
                    "Bearer error=\"insufficient_scope\", error_description=\"{words}\", scope=\"{scope}\""
                )
            }
            _ => format!("Bearer error=\"invalid_token\", error_description=\"{words}\""),
        };
        HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("Bearer"))
    }
}

/// Returns a text in the characters that `error_description` may have: ASCII without quotes and backslashes (RFC 6750
/// section 3).
fn description(text: &str) -> String {
    let allowed = text.chars().take(DESCRIPTION_LEN_MAX).map(|letter| match letter {
        '"' => '\'',
        ' '..='~' if letter != '\\' => letter,
        _ => '?',
    });
    allowed.collect()
}
