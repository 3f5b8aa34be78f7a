//! Requests of the server in the middle of a session: Re-Auth (RFC 8506, 5.5; RFC 6733, 8.3) makes the client ask
//! again, Abort-Session (8.5) makes it end the session. And their answers.

use crate::attribute::{
    AUTH_APPLICATION_ID, DESTINATION_HOST, DESTINATION_REALM, ERROR_MESSAGE, EXPERIMENTAL_RESULT,
    EXPERIMENTAL_RESULT_CODE, ORIGIN_HOST, RATING_GROUP, RE_AUTH_REQUEST_TYPE, RESULT_CODE,
    SERVICE_IDENTIFIER, SESSION_ID,
};
use crate::avp::Avp;
use crate::avps::Avps;
use crate::header::{Flags, Header, MessageIds, application, command};
use crate::message::Message;
use crate::origin::Origin;
use crate::refusal::Refusal;
use crate::result_code::ResultCode;
use crate::writer::MessageWriter;

const COMMAND_UNSUPPORTED: Refusal<'static> =
    Refusal::new(ResultCode::COMMAND_UNSUPPORTED, "the command is not one for a session");

/// What the client is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerAction {
    /// Ask for units again: for the whole session, or for one service of it.
    ReAuth {
        /// Rating-Group of the service.
        rating_group: Option<u32>,
        /// Service-Identifier of the service.
        identifier: Option<u32>,
    },
    /// End the session.
    Abort,
}

/// A request of the server for a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerRequest<'a> {
    /// Session-Id.
    pub session_id: &'a str,
    /// Destination-Host: Origin-Host of the session's requests.
    pub destination_host: &'a str,
    /// Destination-Realm: Origin-Realm of the session's requests.
    pub destination_realm: &'a str,
    /// What the client is asked.
    pub action: ServerAction,
}

impl ServerRequest<'_> {
    /// Returns the command code.
    #[must_use]
    pub fn command(&self) -> u32 {
        match self.action {
            ServerAction::ReAuth { .. } => command::RE_AUTH,
            ServerAction::Abort => command::ABORT_SESSION,
        }
    }

    /// Writes the request. Returns its length, bytes.
    pub fn write(&self, out: &mut Vec<u8>, ids: MessageIds, origin: &Origin) -> usize {
        let header = Header {
            flags: Flags::PROXIABLE_REQUEST,
            command: self.command(),
            application: application::CREDIT_CONTROL,
            hop_by_hop: ids.hop_by_hop,
            end_to_end: ids.end_to_end,
        };
        let mut writer = MessageWriter::begin(out, header);
        writer.bytes(SESSION_ID, self.session_id.as_bytes());
        origin.write(&mut writer);
        writer.bytes(DESTINATION_REALM, self.destination_realm.as_bytes());
        writer.bytes(DESTINATION_HOST, self.destination_host.as_bytes());
        writer.u32(AUTH_APPLICATION_ID, application::CREDIT_CONTROL);
        if let ServerAction::ReAuth { rating_group, identifier } = self.action {
            // AUTHORIZE_ONLY.
            writer.u32(RE_AUTH_REQUEST_TYPE, 0);
            if let Some(identifier) = identifier {
                writer.u32(SERVICE_IDENTIFIER, identifier);
            }
            if let Some(rating_group) = rating_group {
                writer.u32(RATING_GROUP, rating_group);
            }
        }
        writer.finish()
    }
}

impl<'a> ServerRequest<'a> {
    /// Reads a request that another server, or an operator's tool, sends for a session. AVPs that are not read here are
    /// passed over.
    ///
    /// # Errors
    /// 3001 for another command, 5005 for an AVP that is missing, 5014 and 5004 for wrong lengths and texts.
    pub fn read(message: &Message<'a>) -> Result<ServerRequest<'a>, Refusal<'a>> {
        let (mut session_id, mut host, mut realm) = (None, None, None);
        let (mut rating_group, mut identifier) = (None, None);
        for avp in message.avps() {
            let avp = avp?;
            match avp {
                _ if avp.is(SESSION_ID) => session_id = session_id.or(Some(avp.text()?)),
                _ if avp.is(DESTINATION_HOST) => host = host.or(Some(avp.identity()?)),
                _ if avp.is(DESTINATION_REALM) => realm = realm.or(Some(avp.identity()?)),
                _ if avp.is(RATING_GROUP) => rating_group = rating_group.or(Some(avp.u32()?)),
                _ if avp.is(SERVICE_IDENTIFIER) => identifier = identifier.or(Some(avp.u32()?)),
                _ => {}
            }
        }
        let action = match message.header.command {
            command::RE_AUTH => ServerAction::ReAuth { rating_group, identifier },
            command::ABORT_SESSION => ServerAction::Abort,
            _ => return Err(COMMAND_UNSUPPORTED),
        };
        Ok(ServerRequest {
            session_id: session_id.ok_or(Refusal::missing(SESSION_ID))?,
            destination_host: host.ok_or(Refusal::missing(DESTINATION_HOST))?,
            destination_realm: realm.ok_or(Refusal::missing(DESTINATION_REALM))?,
            action,
        })
    }

    /// Writes the answer to a request of `header` for this session. Returns its length, bytes.
    pub fn write_answer(
        &self,
        out: &mut Vec<u8>,
        header: &Header,
        origin: &Origin,
        (result, text): (ResultCode, &str),
    ) -> usize {
        let mut writer = MessageWriter::begin(out, header.answer(result.is_protocol_error()));
        writer.bytes(SESSION_ID, self.session_id.as_bytes());
        writer.u32(RESULT_CODE, result.0);
        origin.write(&mut writer);
        if !text.is_empty() {
            writer.bytes(ERROR_MESSAGE, text.as_bytes());
        }
        writer.finish()
    }
}

/// The answer to a request of ours. What is missing is `None`: no answer goes back to an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientAnswer<'a> {
    /// Result-Code, or the code within Experimental-Result.
    pub result: Option<ResultCode>,
    /// Session-Id.
    pub session_id: Option<&'a str>,
    /// Origin-Host.
    pub origin_host: Option<&'a str>,
}

impl<'a> ClientAnswer<'a> {
    /// Reads an answer. AVPs that are not read here are passed over.
    ///
    /// # Errors
    /// 5014 and 5004 for wrong lengths and texts.
    pub fn read(message: &Message<'a>) -> Result<ClientAnswer<'a>, Refusal<'a>> {
        let mut read = ClientAnswer::default();
        for avp in message.avps() {
            let avp = avp?;
            match avp {
                _ if avp.is(RESULT_CODE) => {
                    let code = avp.u32()?;
                    read.result.get_or_insert(ResultCode(code));
                }
                _ if avp.is(EXPERIMENTAL_RESULT) => read.result = read.result.or(inner(&avp)?),
                _ if avp.is(SESSION_ID) => read.session_id = read.session_id.or(Some(avp.text()?)),
                _ if avp.is(ORIGIN_HOST) => {
                    read.origin_host = read.origin_host.or(Some(avp.identity()?));
                }
                _ => {}
            }
        }
        Ok(read)
    }
}

fn inner<'a>(group: &Avp<'a>) -> Result<Option<ResultCode>, Refusal<'a>> {
    for avp in Avps::within(group)? {
        let avp = avp?;
        if avp.is(EXPERIMENTAL_RESULT_CODE) {
            return Ok(Some(ResultCode(avp.u32()?)));
        }
    }
    Ok(None)
}
