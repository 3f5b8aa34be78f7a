//! The exchange of capabilities: RFC 6733, 5.3. It is read and written once per connection.

use super::admission::PeerIdentity;
use super::settings::PeerSettings;
use crate::attribute::{
    ACCT_APPLICATION_ID, AUTH_APPLICATION_ID, ERROR_MESSAGE, FIRMWARE_REVISION, HOST_IP_ADDRESS,
    INBAND_SECURITY_ID, ORIGIN_HOST, ORIGIN_REALM, ORIGIN_STATE_ID, PRODUCT_NAME, RESULT_CODE,
    SUPPORTED_VENDOR_ID, VENDOR_ID, VENDOR_SPECIFIC_APPLICATION_ID,
};
use crate::header::{Header, application};
use crate::message::Message;
use crate::refusal::Refusal;
use crate::refusal_answer::write_failed;
use crate::result_code::ResultCode;
use crate::vendor_application::VendorApplication;
use crate::writer::MessageWriter;

/// The one security mechanism within the protocol: none. TLS is negotiated before, or not at all.
const NO_INBAND_SECURITY: u32 = 0;
/// Addresses of a peer that are kept.
const ADDRESSES_MAX: usize = 8;
/// Vendors with which a peer names credit control that are repeated in the answer.
const VENDORS_MAX: usize = 4;

/// What a peer can do, and who it is.
#[derive(Debug, Default)]
pub(super) struct Capabilities {
    pub(super) identity: PeerIdentity,
    pub(super) result: Option<ResultCode>,
    has_application: bool,
    /// Vendors of a Vendor-Specific-Application-Id that names credit control.
    vendors: Vec<u32>,
    security: Security,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Security {
    #[default]
    NotSaid,
    None,
    Other,
}

impl Capabilities {
    /// Reads a request or an answer. In an answer only the origin is needed.
    pub(super) fn read<'a>(message: &Message<'a>) -> Result<Capabilities, Refusal<'a>> {
        let is_request = message.header.flags.is_request();
        let mut read = Capabilities::default();
        let (mut vendor_id, mut has_product, mut has_address) = (None, false, false);
        for avp in message.avps() {
            let avp = avp?;
            let identity = &mut read.identity;
            match avp {
                _ if avp.is(ORIGIN_HOST) => first(&mut identity.host, avp.identity()?),
                _ if avp.is(ORIGIN_REALM) => first(&mut identity.realm, avp.identity()?),
                _ if avp.is(HOST_IP_ADDRESS) => {
                    has_address = true;
                    let room = identity.addresses.len() < ADDRESSES_MAX;
                    identity.addresses.extend(avp.address()?.filter(|_| room));
                }
                _ if avp.is(VENDOR_ID) => vendor_id = vendor_id.or(Some(avp.u32()?)),
                _ if avp.is(PRODUCT_NAME) => {
                    has_product = true;
                    first(&mut identity.product_name, avp.text()?);
                }
                _ if avp.is(FIRMWARE_REVISION) => identity.firmware_revision = Some(avp.u32()?),
                _ if avp.is(ORIGIN_STATE_ID) => identity.state_id = Some(avp.u32()?),
                _ if avp.is(RESULT_CODE) => read.result = Some(ResultCode(avp.u32()?)),
                _ if avp.is(AUTH_APPLICATION_ID) => read.application(avp.u32()?),
                // Accounting is no application of ours, but a relay names itself in either.
                _ if avp.is(ACCT_APPLICATION_ID) => read.relay(avp.u32()?),
                _ if avp.is(VENDOR_SPECIFIC_APPLICATION_ID) => {
                    read.vendor_application(VendorApplication::read(&avp)?);
                }
                _ if avp.is(INBAND_SECURITY_ID) => read.security(avp.u32()?),
                _ if is_request => avp.pass_over()?,
                _ => {}
            }
        }
        read.identity.vendor_id = vendor_id.unwrap_or_default();
        for (is_there, attribute, in_answers) in [
            (!read.identity.host.is_empty(), ORIGIN_HOST, true),
            (!read.identity.realm.is_empty(), ORIGIN_REALM, true),
            (has_address, HOST_IP_ADDRESS, false),
            (vendor_id.is_some(), VENDOR_ID, false),
            (has_product, PRODUCT_NAME, false),
        ] {
            if !is_there && (is_request || in_answers) {
                return Err(Refusal::missing(attribute));
            }
        }
        Ok(read)
    }

    /// Checks that both peers have an application and a security mechanism in common.
    pub(super) fn check(&self) -> Result<(), (ResultCode, &'static str)> {
        if !self.has_application && !self.identity.is_relay {
            return Err((
                ResultCode::NO_COMMON_APPLICATION,
                "this server has credit control (4) as its only application",
            ));
        }
        if self.security == Security::Other {
            return Err((
                ResultCode::NO_COMMON_SECURITY,
                "this server has no security within the protocol",
            ));
        }
        Ok(())
    }

    fn application(&mut self, id: u32) {
        self.has_application |= id == application::CREDIT_CONTROL;
        self.relay(id);
    }

    fn relay(&mut self, id: u32) {
        self.identity.is_relay |= id == application::RELAY;
    }

    fn vendor_application(&mut self, named: VendorApplication) {
        if let Some(auth) = named.auth {
            self.application(auth);
            let is_new = !self.vendors.contains(&named.vendor) && self.vendors.len() < VENDORS_MAX;
            if auth == application::CREDIT_CONTROL && is_new {
                self.vendors.push(named.vendor);
            }
        }
        if let Some(acct) = named.acct {
            self.relay(acct);
        }
    }

    fn security(&mut self, id: u32) {
        if id == NO_INBAND_SECURITY {
            self.security = Security::None;
        } else if self.security == Security::NotSaid {
            self.security = Security::Other;
        }
    }
}

fn first(slot: &mut String, text: &str) {
    if slot.is_empty() {
        text.clone_into(slot);
    }
}

/// Writes a request to exchange capabilities.
pub(super) fn write_request(out: &mut Vec<u8>, header: Header, settings: &PeerSettings) {
    let mut writer = MessageWriter::begin(out, header);
    write_own(&mut writer, settings, &[]);
    writer.finish();
}

/// Writes the answer of success. It names credit control with each vendor with which the request names it, because
/// some clients compare both numbers.
pub(super) fn write_answer(
    out: &mut Vec<u8>,
    request: &Header,
    settings: &PeerSettings,
    capabilities: &Capabilities,
) {
    let mut writer = MessageWriter::begin(out, request.answer(false));
    writer.u32(RESULT_CODE, ResultCode::SUCCESS.0);
    write_own(&mut writer, settings, &capabilities.vendors);
    writer.finish();
}

/// Writes the answer that refuses the peer.
pub(super) fn write_refusal(
    out: &mut Vec<u8>,
    request: &Header,
    settings: &PeerSettings,
    refusal: &Refusal<'_>,
) {
    let header = request.answer(refusal.result.is_protocol_error());
    let mut writer = MessageWriter::begin(out, header);
    writer.u32(RESULT_CODE, refusal.result.0);
    write_own(&mut writer, settings, &[]);
    writer.bytes(ERROR_MESSAGE, refusal.text.as_bytes());
    if let Some(failed) = &refusal.failed {
        write_failed(&mut writer, failed);
    }
    writer.finish();
}

fn write_own(writer: &mut MessageWriter<'_>, settings: &PeerSettings, vendors: &[u32]) {
    settings.origin.write(writer);
    for &address in &settings.addresses {
        writer.address(HOST_IP_ADDRESS, address);
    }
    writer.u32(VENDOR_ID, settings.vendor_id);
    writer.bytes(PRODUCT_NAME, settings.product_name.as_bytes());
    for &vendor in &settings.supported_vendors {
        writer.u32(SUPPORTED_VENDOR_ID, vendor);
    }
    writer.u32(AUTH_APPLICATION_ID, application::CREDIT_CONTROL);
    for &vendor in vendors {
        writer.group(VENDOR_SPECIFIC_APPLICATION_ID, |writer| {
            writer.u32(VENDOR_ID, vendor);
            writer.u32(AUTH_APPLICATION_ID, application::CREDIT_CONTROL);
        });
    }
    if let Some(revision) = settings.firmware_revision {
        writer.u32(FIRMWARE_REVISION, revision);
    }
}
