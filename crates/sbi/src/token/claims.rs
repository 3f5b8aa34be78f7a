//! The claims of an access token: AccessTokenClaims of TS 29.510 clause 6.3.5.2.4.

use super::fault::TokenFault;
use super::present::present;
use super::quote::shortened;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// What a token says, which was verified: about the consumer, and what it may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// `iss`: the NRF that made it, by its NF instance id.
    pub issuer: String,
    /// `sub`: the consumer, by its NF instance id.
    pub subject: String,
    /// `aud`: whom the token is for: one NF type, or NF instance ids.
    pub audience: Vec<String>,
    /// `scope`: names of services with spaces between.
    pub scope: String,
    /// `exp`: the token is valid before this time, seconds since 1970.
    pub expires_s: u64,
    /// `nbf` of RFC 7519: it is valid from this time on, seconds since 1970. TS 29.510 does not name it.
    pub not_before_s: Option<u64>,
    /// The first claim that restricts the token to a PLMN, to slices or to a set of NFs.
    pub(crate) restriction: Option<&'static str>,
}

/// The claims as JSON has them. A required one that is missing, or one that is there twice, is an error.
#[derive(Deserialize)]
#[serde(expecting = "an object with claims")]
struct JsonClaims {
    iss: String,
    sub: String,
    aud: JsonAudience,
    scope: String,
    exp: u64,
    #[serde(default, deserialize_with = "present")]
    nbf: Option<u64>,
    #[serde(default, rename = "producerPlmnId", deserialize_with = "present")]
    plmn: Option<IgnoredAny>,
    #[serde(default, rename = "producerSnpnId", deserialize_with = "present")]
    snpn: Option<IgnoredAny>,
    #[serde(default, rename = "producerSnssaiList", deserialize_with = "present")]
    snssais: Option<IgnoredAny>,
    #[serde(default, rename = "producerNsiList", deserialize_with = "present")]
    nsis: Option<IgnoredAny>,
    #[serde(default, rename = "producerNfSetId", deserialize_with = "present")]
    nf_set: Option<IgnoredAny>,
    #[serde(default, rename = "producerNfServiceSetId", deserialize_with = "present")]
    service_set: Option<IgnoredAny>,
}

/// One NF type, or NF instance ids.
#[derive(Deserialize)]
#[serde(untagged, expecting = "`aud` is neither a text nor a list of texts")]
enum JsonAudience {
    One(String),
    All(Vec<String>),
}

impl Claims {
    /// Reads the claims of a token.
    ///
    /// # Errors
    /// If they are not those of an access token.
    pub(crate) fn read(json: &[u8]) -> Result<Claims, TokenFault> {
        let claims: JsonClaims = serde_json::from_slice(json).map_err(|error| {
            TokenFault::Malformed(format!("its claims: {}", shortened(&error.to_string())))
        })?;
        let restriction = claims.restriction();
        Ok(Claims {
            issuer: claims.iss,
            subject: claims.sub,
            audience: match claims.aud {
                JsonAudience::One(audience) => vec![audience],
                JsonAudience::All(audience) => audience,
            },
            scope: claims.scope,
            expires_s: claims.exp,
            not_before_s: claims.nbf,
            restriction,
        })
    }
}

impl JsonClaims {
    fn restriction(&self) -> Option<&'static str> {
        let all = [
            ("producerPlmnId", &self.plmn),
            ("producerSnpnId", &self.snpn),
            ("producerSnssaiList", &self.snssais),
            ("producerNsiList", &self.nsis),
            ("producerNfSetId", &self.nf_set),
            ("producerNfServiceSetId", &self.service_set),
        ];
        all.into_iter().find(|(_, claim)| claim.is_some()).map(|(name, _)| name)
    }
}
