//! Why a connection ends. Each reason is one plain line for the log.

use super::base_message::DisconnectCause;
use crate::frame::FrameFault;
use crate::result_code::ResultCode;

/// The reason why one connection ends. The host sends what is still in the output, then closes the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CloseReason {
    /// Capabilities were not exchanged in time.
    #[error("the peer has not exchanged capabilities in time")]
    CapabilitiesTimeout,
    /// The first message was not the exchange of capabilities.
    #[error("the peer has sent command {0} before capabilities were exchanged")]
    BeforeCapabilities(u32),
    /// The peer was refused with this Result-Code.
    #[error("the peer was refused with {}", .0.0)]
    Refused(ResultCode),
    /// The peer has refused this server, with this Result-Code if it gave one.
    #[error("the peer has refused this server with {:?}", .0.map(|result| result.0))]
    RefusedByPeer(Option<ResultCode>),
    /// An answer in the exchange of capabilities could not be read.
    #[error("the peer has answered with capabilities that cannot be read")]
    UnreadableCapabilities,
    /// The peer has sent another Origin-Host than before.
    #[error("the peer has exchanged capabilities again, with another Origin-Host")]
    IdentityChanged,
    /// The peer asked to disconnect.
    #[error("the peer disconnects: {0}")]
    DisconnectedByPeer(DisconnectCause),
    /// The peer has answered our request to disconnect.
    #[error("the peer has agreed to disconnect")]
    Disconnected,
    /// The peer has not answered our request to disconnect in time.
    #[error("the peer has not answered the request to disconnect in time")]
    DisconnectTimeout,
    /// The watchdog found the peer down.
    #[error("the peer has not answered the watchdog")]
    WatchdogTimeout,
    /// The bytes of the peer are no message.
    #[error(transparent)]
    Frame(FrameFault),
}
