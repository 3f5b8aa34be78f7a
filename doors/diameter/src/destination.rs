//! Whether a request is for this server: RFC 6733, 6.1.4. The door forwards nothing.

use scurry_diameter::attribute::{DESTINATION_HOST, DESTINATION_REALM};
use scurry_diameter::{Message, Refusal, ResultCode};

/// The names under which this server takes requests.
#[derive(Debug)]
pub(crate) struct Destination {
    pub(crate) host: String,
    pub(crate) realms: Vec<String>,
}

impl Destination {
    /// Checks a request. A request that cannot be read as far as these AVPs passes: its reader refuses it.
    ///
    /// # Errors
    /// 3003 for another realm, 3002 for another host.
    pub(crate) fn check<'a>(&self, message: &Message<'a>) -> Result<(), Refusal<'a>> {
        for avp in message.avps() {
            let Ok(avp) = avp else { break };
            let is = |name: &String| name.as_bytes().eq_ignore_ascii_case(avp.data);
            if avp.is(DESTINATION_REALM) && !self.realms.iter().any(is) {
                let text = "no server here serves this Destination-Realm";
                return Err(Refusal::new(ResultCode::REALM_NOT_SERVED, text));
            }
            if avp.is(DESTINATION_HOST) && !is(&self.host) {
                let text = "this server is not the Destination-Host, and forwards nothing";
                return Err(Refusal::new(ResultCode::UNABLE_TO_DELIVER, text));
            }
        }
        Ok(())
    }
}
