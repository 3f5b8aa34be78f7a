//! What TS 29.500 asks of any service of a 5G core, whatever it serves: the access tokens that consumers show, and the
//! headers of their requests. It knows nothing of charging.
#![forbid(unsafe_code)]

mod token;

pub use token::{
    AUDIENCES_MAX, Claims, ISSUERS_MAX, KEYS_MAX, KeyError, LEEWAY_S, OauthSettings,
    OauthSettingsError, TOKEN_LEN_MAX, TokenCheck, TokenFault, TokenKeys, TokenRules,
};
