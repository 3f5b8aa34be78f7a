//! Who the peer is, and whether the host admits it. Only the host knows its peers and its other connections.

use crate::result_code::ResultCode;
use std::net::IpAddr;

/// What a peer has said of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerIdentity {
    /// Origin-Host, as the peer writes it. Names are compared without regard to case.
    pub host: String,
    /// Origin-Realm.
    pub realm: String,
    /// Host-IP-Address: addresses of IPv4 and IPv6.
    pub addresses: Vec<IpAddr>,
    /// Vendor-Id.
    pub vendor_id: u32,
    /// Product-Name.
    pub product_name: String,
    /// Firmware-Revision.
    pub firmware_revision: Option<u32>,
    /// Origin-State-Id.
    pub state_id: Option<u32>,
    /// True if it is a relay, which forwards any application.
    pub is_relay: bool,
}

/// Decision of the host on a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is admitted. If another connection has the same Origin-Host, the host has ended that one.
    Admit,
    /// It is not known: 3010.
    UnknownPeer,
    /// Another connection with the same Origin-Host stays: 4003.
    ElectionLost,
    /// It is refused with this code.
    Refuse(ResultCode),
}

impl Admission {
    /// Returns the Result-Code of the answer, with a text if it is an error.
    pub(super) fn result(self) -> Result<(), (ResultCode, &'static str)> {
        match self {
            Admission::Admit => Ok(()),
            Admission::UnknownPeer => {
                Err((ResultCode::UNKNOWN_PEER, "this peer is not known here"))
            }
            Admission::ElectionLost => {
                Err((ResultCode::ELECTION_LOST, "another connection of this peer stays"))
            }
            Admission::Refuse(result) => Err((result, "this peer is not admitted")),
        }
    }
}
