//! A token in the compact form of JSON Web Signature (RFC 7515 section 7.1): header, claims and signature, each in
//! base64url, with dots between them.

use super::algorithm::TokenAlgorithm;
use super::fault::TokenFault;
use super::present::present;
use super::quote::{quoted, shortened};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// Bytes of a token at most.
pub const TOKEN_LEN_MAX: usize = 8 * 1024;

/// A token whose signature has not been verified.
#[derive(Debug)]
pub(crate) struct Jws<'a> {
    pub(crate) algorithm: TokenAlgorithm,
    /// Name of the key that has signed it, if the token says so.
    pub(crate) kid: Option<String>,
    /// JSON of the claims.
    pub(crate) claims: Vec<u8>,
    /// What was signed.
    pub(crate) signed: &'a [u8],
    pub(crate) signature: Vec<u8>,
}

/// The members of the JOSE header that matter (RFC 7515 section 4.1). Keys and addresses of keys in the header are not
/// read, since a forger can name its own key there.
#[derive(Deserialize)]
struct JoseHeader {
    alg: String,
    #[serde(default, deserialize_with = "present")]
    kid: Option<String>,
    /// Names of extensions that must be understood (section 4.1.11). We understand none.
    #[serde(default, deserialize_with = "present")]
    crit: Option<IgnoredAny>,
}

impl<'a> Jws<'a> {
    /// Takes a token apart. A fourth part is a dot in one of the three, which base64url has not.
    ///
    /// # Errors
    /// If it is too long, no token of this form, has an algorithm other than RS256 and ES256, or extensions that must
    /// be understood.
    pub(crate) fn read(token: &'a str) -> Result<Jws<'a>, TokenFault> {
        if token.len() > TOKEN_LEN_MAX {
            return Err(TokenFault::Oversize { len: token.len(), len_max: TOKEN_LEN_MAX });
        }
        let no_token = || TokenFault::Malformed("it is not three parts with dots between".into());
        let (signed, signature) = token.rsplit_once('.').ok_or_else(no_token)?;
        let (header, claims) = signed.split_once('.').ok_or_else(no_token)?;
        let header = decoded("header", header)?;
        let JoseHeader { alg, kid, crit } = serde_json::from_slice(&header).map_err(|error| {
            TokenFault::Malformed(format!("its header: {}", shortened(&error.to_string())))
        })?;
        if crit.is_some() {
            return Err(TokenFault::Critical);
        }
        Ok(Jws {
            algorithm: TokenAlgorithm::of_name(&alg)
                .ok_or_else(|| TokenFault::Algorithm(quoted(&alg)))?,
            kid,
            claims: decoded("claims", claims)?,
            signed: signed.as_bytes(),
            signature: decoded("signature", signature)?,
        })
    }
}

fn decoded(what: &str, text: &str) -> Result<Vec<u8>, TokenFault> {
    URL_SAFE_NO_PAD
        .decode(text)
        .map_err(|_| TokenFault::Malformed(format!("the part of its {what} is not in base64url")))
}
