//! What TS 29.500 asks of any service of a 5G core, whatever it serves: the access tokens that consumers show, the
//! headers of their requests, a client for what it calls itself, and its registration at an NRF. Of charging it knows only
//! how a charging function is registered.
#![forbid(unsafe_code)]

pub mod client;
mod headers;
pub mod nrf;
mod token;

pub use headers::{
    ApiVersion, CALLBACK, CORRELATION_INFO, CORRELATION_INFO_LEN_MAX, CallbackType,
    CorrelationInfo, HeaderFault, IgnoredHeader, MAX_RSP_TIME, MESSAGE_PRIORITY, MaxRspTime,
    MessagePriority, RequestHeaders, SENDER_TIMESTAMP, SenderTimestamp, SentHeaders,
};
pub use token::{
    AUDIENCES_MAX, Claims, ISSUERS_MAX, KEYS_MAX, KeyError, LEEWAY_S, OauthSettings,
    OauthSettingsError, TOKEN_LEN_MAX, TokenCheck, TokenFault, TokenKeys, TokenRules,
};
