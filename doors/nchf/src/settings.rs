//! The section `[nchf]` of a settings file.

use crate::entry::GrantBound;
use crate::request::Consumer;
use scurry_sbi::{KeyError, OauthSettings, OauthSettingsError, TokenCheck, TokenKeys};
use serde::Deserialize;

/// `[nchf]`. What is absent has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table of settings, [nchf]")]
pub struct NchfSettings {
    /// Names of consumers (nFName, or `*` for all) whose numbers have 31 bits: none is granted more. None by default.
    #[serde(default)]
    pub int32_consumers: Vec<String>,
    /// Which access tokens open the door. Without it no token is asked for, and users are those of the door.
    pub oauth2: Option<OauthSettings>,
}

/// Why the door cannot be opened, or its settings are not taken.
#[derive(Debug, thiserror::Error)]
pub enum NchfError {
    /// `[nchf.oauth2]` is wrong.
    #[error(transparent)]
    Oauth(#[from] OauthSettingsError),
    /// A key cannot be read.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// The scope of tokens for this service.
const SCOPE: &str = "nchf-convergedcharging";

impl NchfSettings {
    /// Returns the check of access tokens. None if none is asked for.
    pub(crate) fn token_check(&self) -> Result<Option<TokenCheck>, NchfError> {
        let Some(oauth) = &self.oauth2 else { return Ok(None) };
        Ok(Some(TokenCheck::new(oauth.rules(SCOPE)?, TokenKeys::read(&oauth.keys)?)))
    }

    pub(crate) fn bound_of(&self, consumer: &Consumer) -> GrantBound {
        let is_small =
            self.int32_consumers.iter().any(|name| name == "*" || name == consumer.name());
        GrantBound(if is_small { i64::from(i32::MAX) } else { i64::MAX })
    }
}
