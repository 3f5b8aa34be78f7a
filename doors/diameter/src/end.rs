//! Why a connection has ended.

use crate::metrics::ConnectionFault;
use scurry_diameter::ResultCode;
use scurry_diameter::peer::CloseReason;
use std::io;

/// The reason why a connection has ended, for the log and the list of peers.
#[derive(Debug, thiserror::Error)]
pub(crate) enum End {
    /// The peer machine has ended it.
    #[error(transparent)]
    Closed(CloseReason),
    /// The peer has closed it.
    #[error("the peer has closed the connection")]
    ByPeer,
    /// The system has ended it.
    #[error("the connection is lost: {0}")]
    Lost(#[from] io::Error),
    /// The peer did not read.
    #[error("the peer has read nothing for too long")]
    WriteTimeout,
    /// A message was not complete in time.
    #[error("the peer has not completed a message in time")]
    SlowMessage,
    /// The peer has another connection.
    #[error("the peer has connected again")]
    Replaced,
}

impl End {
    /// Returns the fault that is counted; None for an ordinary end.
    pub(crate) fn fault(&self) -> Option<ConnectionFault> {
        match self {
            End::Closed(reason) => match reason {
                CloseReason::CapabilitiesTimeout => Some(ConnectionFault::NoCapabilities),
                CloseReason::BeforeCapabilities(_) => Some(ConnectionFault::BeforeCapabilities),
                CloseReason::Refused(ResultCode::UNKNOWN_PEER) => {
                    Some(ConnectionFault::UnknownPeer)
                }
                CloseReason::Refused(ResultCode::ELECTION_LOST) => {
                    Some(ConnectionFault::ElectionLost)
                }
                CloseReason::Refused(_)
                | CloseReason::RefusedByPeer(_)
                | CloseReason::UnreadableCapabilities
                | CloseReason::IdentityChanged => Some(ConnectionFault::Refused),
                CloseReason::Frame(_) => Some(ConnectionFault::Frame),
                CloseReason::WatchdogTimeout => Some(ConnectionFault::Watchdog),
                CloseReason::DisconnectedByPeer(_)
                | CloseReason::Disconnected
                | CloseReason::DisconnectTimeout => None,
            },
            End::SlowMessage => Some(ConnectionFault::SlowMessage),
            End::WriteTimeout => Some(ConnectionFault::WriteTimeout),
            End::ByPeer | End::Lost(_) | End::Replaced => None,
        }
    }
}
