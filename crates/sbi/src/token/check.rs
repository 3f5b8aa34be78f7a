//! The check of a request's access token.

use super::claims::Claims;
use super::fault::TokenFault;
use super::jws::Jws;
use super::keys::TokenKeys;
use super::quote::quoted;
use super::rules::TokenRules;
use http::HeaderValue;
use std::sync::{Arc, PoisonError, RwLock};

/// The scheme of Authorization (RFC 6750 section 2.1), in any case (RFC 9110 section 11.1).
const SCHEME: &str = "Bearer";

/// Keys and rules: which tokens open the service.
#[derive(Debug)]
pub struct TokenCheck {
    rules: TokenRules,
    keys: RwLock<Arc<TokenKeys>>,
}

impl TokenCheck {
    /// Returns the check by these rules with these keys.
    pub fn new(rules: TokenRules, keys: TokenKeys) -> TokenCheck {
        TokenCheck { rules, keys: RwLock::new(Arc::new(keys)) }
    }

    /// Replaces the keys for requests from now on, for example at SIGHUP.
    pub fn replace_keys(&self, keys: TokenKeys) {
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
    }

    /// Checks the Authorization header of a request at `now_s`, seconds since 1970; None if the request has none.
    /// The caller gives the only one: a request with two is malformed (RFC 9110 section 5.3).
    ///
    /// # Errors
    /// Why the token does not open the service; [`TokenFault::status`] and [`TokenFault::challenge`] are the answer.
    pub fn check(
        &self,
        authorization: Option<&HeaderValue>,
        now_s: u64,
    ) -> Result<Claims, TokenFault> {
        let token = bearer(authorization)?;
        let jws = Jws::read(token)?;
        let keys = Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner));
        let mut fitting = keys.of(jws.algorithm, jws.kid.as_deref()).peekable();
        if fitting.peek().is_none() {
            let algorithm = jws.algorithm.name();
            return Err(TokenFault::NoKey { algorithm, kid: jws.kid.as_deref().map(quoted) });
        }
        if !fitting.any(|key| key.has_signed(jws.signed, &jws.signature)) {
            return Err(TokenFault::Signature);
        }
        // After this point the NRF has made the token.
        let claims = Claims::read(&jws.claims)?;
        self.rules.check(&claims, now_s)?;
        Ok(claims)
    }
}

/// Returns the token in an Authorization header.
fn bearer(authorization: Option<&HeaderValue>) -> Result<&str, TokenFault> {
    let value = authorization.ok_or(TokenFault::NoToken)?.as_bytes().trim_ascii();
    let (scheme, token) = value.split_at_checked(SCHEME.len()).ok_or(TokenFault::NoToken)?;
    if !scheme.eq_ignore_ascii_case(SCHEME.as_bytes()) || token.first() != Some(&b' ') {
        return Err(TokenFault::NoToken);
    }
    std::str::from_utf8(token.trim_ascii())
        .map_err(|_| TokenFault::Malformed("it has bytes that no token has".into()))
}
