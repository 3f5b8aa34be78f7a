//! The small messages between peers: Device-Watchdog and Disconnect-Peer. RFC 6733, 5.4 and 5.5.

use crate::attribute::{DISCONNECT_CAUSE, RESULT_CODE};
use crate::header::{Flags, Header, MessageIds, application};
use crate::message::Message;
use crate::origin::Origin;
use crate::refusal::Refusal;
use crate::result_code::ResultCode;
use crate::writer::MessageWriter;
use std::fmt;

/// Why a peer disconnects: Disconnect-Cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisconnectCause {
    /// It restarts soon.
    Rebooting,
    /// It has no room for this connection.
    Busy,
    /// It does not expect messages on this connection.
    DoNotWantToTalkToYou,
    /// Another value, or none.
    Other(Option<u32>),
}

impl DisconnectCause {
    fn of(number: Option<u32>) -> DisconnectCause {
        match number {
            Some(0) => DisconnectCause::Rebooting,
            Some(1) => DisconnectCause::Busy,
            Some(2) => DisconnectCause::DoNotWantToTalkToYou,
            other => DisconnectCause::Other(other),
        }
    }

    fn number(self) -> u32 {
        match self {
            DisconnectCause::Rebooting => 0,
            DisconnectCause::Busy => 1,
            DisconnectCause::DoNotWantToTalkToYou => 2,
            DisconnectCause::Other(number) => number.unwrap_or(2),
        }
    }
}

impl fmt::Display for DisconnectCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DisconnectCause::Rebooting => f.write_str("it restarts"),
            DisconnectCause::Busy => f.write_str("it is busy"),
            DisconnectCause::DoNotWantToTalkToYou => {
                f.write_str("it has no use for the connection")
            }
            DisconnectCause::Other(Some(number)) => write!(f, "cause {number}"),
            DisconnectCause::Other(None) => f.write_str("it gives no cause"),
        }
    }
}

/// Returns the header of a request between peers.
pub(super) fn request_header(command: u32, ids: MessageIds) -> Header {
    Header {
        flags: Flags(Flags::REQUEST),
        command,
        application: application::BASE,
        hop_by_hop: ids.hop_by_hop,
        end_to_end: ids.end_to_end,
    }
}

/// Writes a request between peers, with a cause if it is one to disconnect.
pub(super) fn write_request(
    out: &mut Vec<u8>,
    header: Header,
    origin: &Origin,
    cause: Option<DisconnectCause>,
) {
    let mut writer = MessageWriter::begin(out, header);
    origin.write(&mut writer);
    if let Some(cause) = cause {
        writer.u32(DISCONNECT_CAUSE, cause.number());
    }
    writer.finish();
}

/// Writes the answer of success to a request between peers.
pub(super) fn write_answer(out: &mut Vec<u8>, request: &Header, origin: &Origin) {
    let mut writer = MessageWriter::begin(out, request.answer(false));
    writer.u32(RESULT_CODE, ResultCode::SUCCESS.0);
    origin.write(&mut writer);
    writer.finish();
}

/// Reads a request between peers: its Disconnect-Cause, where it has one.
pub(super) fn read_request<'a>(message: &Message<'a>) -> Result<DisconnectCause, Refusal<'a>> {
    let mut cause = None;
    for avp in message.avps() {
        let avp = avp?;
        if avp.is(DISCONNECT_CAUSE) { cause = Some(avp.u32()?) } else { avp.pass_over()? }
    }
    Ok(DisconnectCause::of(cause))
}
