//! The settings of access tokens, `[nchf.oauth2]`.

use super::quote::quoted;
use super::rules::TokenRules;
use serde::Deserialize;
use std::path::PathBuf;
use thiserror::Error;

/// How much the clocks of the NRF and of this machine may differ, seconds.
pub const LEEWAY_S: u64 = 10;

/// Issuers at most.
pub const ISSUERS_MAX: usize = 16;

/// Audiences at most.
pub const AUDIENCES_MAX: usize = 16;

/// Bytes of an issuer or an audience at most.
const NAME_LEN_MAX: usize = 256;

/// Which tokens open the service. Without this table no token is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OauthSettings {
    /// Files with public keys of the NRFs, in PEM: read by [`TokenKeys`](super::TokenKeys), and again at SIGHUP.
    pub keys: Vec<PathBuf>,
    /// The NRFs: `iss` of their tokens, which is their NF instance id.
    pub issuers: Vec<String>,
    /// Names of this service in `aud`: its NF type, and its NF instance id.
    pub audiences: Vec<String>,
}

/// A mistake in `[nchf.oauth2]`, with the cure.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OauthSettingsError {
    /// A list is empty.
    #[error("[nchf.oauth2] `{key}` is empty: {cure}, or remove [nchf.oauth2] to ask for no tokens")]
    Empty {
        /// Name of the list.
        key: &'static str,
        /// What to write.
        cure: &'static str,
    },
    /// A list is too long.
    #[error("[nchf.oauth2] `{key}` has {len} values: at most {len_max} are allowed")]
    TooMany {
        /// Name of the list.
        key: &'static str,
        /// How many values it has.
        len: usize,
        /// How many it may have.
        len_max: usize,
    },
    /// A value cannot be in a token as it is written.
    #[error("[nchf.oauth2] `{key}` has {value}: {why}")]
    Value {
        /// Name of the list.
        key: &'static str,
        /// The value, in quotes.
        value: String,
        /// What is allowed.
        why: &'static str,
    },
}

impl OauthSettings {
    /// Checks the settings, without reading a file, and returns the rules for tokens of this scope.
    ///
    /// # Errors
    /// The first mistake.
    pub fn rules(&self, scope: &str) -> Result<TokenRules, OauthSettingsError> {
        if self.keys.is_empty() {
            let cure = "name the file with the public key of the NRF";
            return Err(OauthSettingsError::Empty { key: "keys", cure });
        }
        let cure = "give the NF instance id of the NRF, as `iss` of its tokens has it";
        check("issuers", &self.issuers, ISSUERS_MAX, cure)?;
        let cure = "give the NF type \"CHF\", and the NF instance id of this service";
        check("audiences", &self.audiences, AUDIENCES_MAX, cure)?;
        Ok(TokenRules {
            issuers: self.issuers.clone(),
            audiences: self.audiences.clone(),
            scope: scope.to_owned(),
            leeway_s: LEEWAY_S,
        })
    }
}

fn check(
    key: &'static str,
    values: &[String],
    len_max: usize,
    cure: &'static str,
) -> Result<(), OauthSettingsError> {
    if values.is_empty() {
        return Err(OauthSettingsError::Empty { key, cure });
    }
    if values.len() > len_max {
        return Err(OauthSettingsError::TooMany { key, len: values.len(), len_max });
    }
    for (index, value) in values.iter().enumerate() {
        let is_printable = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_graphic());
        let why = if !is_printable || value.len() > NAME_LEN_MAX {
            "give 1 to 256 characters of ASCII without spaces"
        } else if values[..index].contains(value) {
            "it is there twice: remove one"
        } else {
            continue;
        };
        return Err(OauthSettingsError::Value { key, value: quoted(value), why });
    }
    Ok(())
}
