//! The section `[nchf]` of a settings file.

use crate::entry::GrantBound;
use crate::request::Consumer;
use scurry_sbi::client::{
    AllowedTargets, Client, ClientSettings, ClientTlsError, ClientTlsFiles, TargetsError,
};
use scurry_sbi::nrf::{NrfSection, NrfSettingsError, Registration};
use scurry_sbi::{KeyError, OauthSettings, OauthSettingsError, TokenCheck, TokenKeys};
use serde::Deserialize;
use std::path::PathBuf;

/// `[nchf]`. What is absent has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table of settings, [nchf]")]
pub struct NchfSettings {
    /// Names of consumers (nFName, or `*` for all) whose numbers have 31 bits: none is granted more. None by default.
    #[serde(default)]
    pub int32_consumers: Vec<String>,
    /// Which access tokens open the door. Without it no token is asked for, and users are those of the door.
    pub oauth2: Option<OauthSettings>,
    /// How consumers are notified. Without it none is.
    pub notify: Option<NotifySettings>,
    /// Where the door is registered. Without it nowhere.
    pub nrf: Option<NrfSection>,
}

/// `[nchf.notify]`: which of the URIs that consumers name may be called, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotifySettings {
    /// Host names, `*.domain`, IP addresses and networks, each with `:port` or without.
    pub allowed: Vec<String>,
    /// Roots of the certificates of consumers; by default those of the system.
    pub ca: Option<PathBuf>,
    /// Our certificate, for consumers that ask for one.
    pub cert: Option<PathBuf>,
    /// Its private key.
    pub key: Option<PathBuf>,
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
    /// An address of `[nchf.notify]` is wrong.
    #[error(transparent)]
    Targets(#[from] TargetsError),
    /// A file of TLS in `[nchf.notify]` cannot be used.
    #[error("[nchf.notify]: {0}")]
    Tls(#[from] ClientTlsError),
    /// `[nchf.nrf]` is wrong.
    #[error(transparent)]
    Nrf(#[from] NrfSettingsError),
    /// A file of TLS in `[nchf.nrf]` cannot be used.
    #[error("[nchf.nrf]: {0}")]
    NrfTls(ClientTlsError),
    /// The system refuses to start a thread.
    #[error("a thread of the door of 5G cannot be started: {0}")]
    Thread(#[from] std::io::Error),
}

/// The scope of tokens for this service.
const SCOPE: &str = "nchf-convergedcharging";

impl NotifySettings {
    /// Returns the client that notifies consumers.
    pub(crate) fn client(&self) -> Result<Client, NchfError> {
        let targets = AllowedTargets::parse("`allowed` of [nchf.notify]", &self.allowed)?;
        let (ca, certificate, key) = (self.ca.clone(), self.cert.clone(), self.key.clone());
        let tls = ClientTlsFiles { ca, certificate, key };
        Ok(Client::new(&ClientSettings { tls, ..ClientSettings::new(targets) })?)
    }
}

impl NchfSettings {
    /// Returns the registration at an NRF. None if there is none. `port` is the one that the door listens on.
    pub(crate) fn registration(&self, port: u16) -> Result<Option<Registration>, NchfError> {
        let Some(section) = self.nrf.clone() else { return Ok(None) };
        let settings = section.into_settings(Some(port))?;
        Ok(Some(Registration::new(settings.client().map_err(NchfError::NrfTls)?, settings)))
    }

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
