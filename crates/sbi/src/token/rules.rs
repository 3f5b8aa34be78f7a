//! What the claims of a token must say to be accepted here.

use super::claims::Claims;
use super::fault::TokenFault;
use super::quote::quoted;

/// Rules for the claims of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRules {
    /// NRFs whose tokens are accepted: a token's `iss` is one of them.
    pub issuers: Vec<String>,
    /// Names of this service: its NF type and its NF instance id. A token's `aud` has one of them.
    pub audiences: Vec<String>,
    /// Name of the service, which a token's `scope` must have.
    pub scope: String,
    /// How much the clocks of the NRF and of this machine may differ, seconds.
    pub leeway_s: u64,
}

impl TokenRules {
    /// Checks the claims of a token whose signature is right (TS 33.501 clause 13.4.1.1.2).
    ///
    /// # Errors
    /// The first rule that they break. That of the scope is the last: a consumer is told that it lacks the scope only
    /// if its token is good for all else.
    pub(crate) fn check(&self, claims: &Claims, now_s: u64) -> Result<(), TokenFault> {
        if !self.issuers.contains(&claims.issuer) {
            return Err(TokenFault::Issuer(quoted(&claims.issuer)));
        }
        if !claims.audience.iter().any(|audience| self.is_ours(audience)) {
            return Err(TokenFault::Audience(quoted(&claims.audience.join(", "))));
        }
        // On or after `exp` a token is not accepted (RFC 7519 section 4.1.4).
        if now_s >= claims.expires_s.saturating_add(self.leeway_s) {
            return Err(TokenFault::Expired { ago_s: now_s - claims.expires_s });
        }
        let now_at_most_s = now_s.saturating_add(self.leeway_s);
        if let Some(not_before_s) = claims.not_before_s.filter(|&begin| begin > now_at_most_s) {
            return Err(TokenFault::Early { until_s: not_before_s - now_s });
        }
        if let Some(claim) = claims.restriction {
            return Err(TokenFault::Restricted { claim });
        }
        if !claims.scope.split(' ').any(|service| service == self.scope) {
            return Err(TokenFault::Scope {
                has: quoted(&claims.scope),
                needs: self.scope.clone(),
            });
        }
        Ok(())
    }

    /// Reports whether a token for this audience is for us. Ids of NF instances are UUIDs, which may be written in
    /// capitals (RFC 9562 section 4); types of NFs have no such variants, so nothing is confused.
    fn is_ours(&self, audience: &str) -> bool {
        self.audiences.iter().any(|ours| ours.eq_ignore_ascii_case(audience))
    }
}
