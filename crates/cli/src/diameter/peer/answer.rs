//! What the probe reads of answers: who the server is and what it can do, and results.

use scurry_diameter::attribute::{
    ACCT_APPLICATION_ID, AUTH_APPLICATION_ID, CHECK_BALANCE_RESULT, ERROR_MESSAGE,
    MULTIPLE_SERVICES_CREDIT_CONTROL, ORIGIN_HOST, ORIGIN_REALM, PRODUCT_NAME, RESULT_CODE,
    VENDOR_SPECIFIC_APPLICATION_ID,
};
use scurry_diameter::{Avp, Avps, Message, Refusal, VendorApplication, application};
use serde::Serialize;

/// Product-Name of our servers.
const OWN_PRODUCT: &str = "Scurry";
/// Most applications that are shown.
const APPLICATIONS_MAX: usize = 32;

/// Who has answered.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Server {
    pub(crate) host: String,
    pub(crate) realm: String,
    pub(crate) product: String,
    /// Ids of its applications.
    pub(crate) applications: Vec<u32>,
}

/// An answer.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) server: Server,
    pub(crate) code: Option<u32>,
    pub(crate) error: Option<String>,
    /// Check-Balance-Result: 0 if the balance covers the units.
    pub(crate) balance: Option<u32>,
    /// Result-Codes of services.
    pub(crate) services: Vec<u32>,
}

impl Server {
    pub(crate) fn is_scurry(&self) -> bool {
        self.product == OWN_PRODUCT
    }

    /// Returns its applications in words.
    pub(crate) fn applications_in_words(&self) -> String {
        let words = |id: &u32| match *id {
            application::BASE => "0 (base)".to_owned(),
            3 => "3 (accounting)".to_owned(),
            application::CREDIT_CONTROL => "4 (credit control)".to_owned(),
            application::RELAY => "all (a relay)".to_owned(),
            other => other.to_string(),
        };
        match &self.applications[..] {
            [] => "no application".to_owned(),
            all => {
                let all: Vec<String> = all.iter().map(words).collect();
                format!("application{} {}", if all.len() > 1 { "s" } else { "" }, all.join(", "))
            }
        }
    }

    fn application(&mut self, id: u32) {
        if !self.applications.contains(&id) && self.applications.len() < APPLICATIONS_MAX {
            self.applications.push(id);
        }
    }
}

impl Answer {
    /// Reads what can be read; what cannot stays empty.
    pub(crate) fn read(bytes: &[u8]) -> Answer {
        let mut answer = Answer::default();
        if let Ok(message) = Message::read(bytes) {
            for avp in message.avps().map_while(Result::ok) {
                // A value that is wrong counts as absent.
                let _ = answer.take(&avp);
            }
        }
        answer
    }

    fn take<'a>(&mut self, avp: &Avp<'a>) -> Result<(), Refusal<'a>> {
        let server = &mut self.server;
        match avp {
            _ if avp.is(RESULT_CODE) => self.code = Some(avp.u32()?),
            _ if avp.is(ERROR_MESSAGE) => self.error = Some(avp.text()?.to_owned()),
            _ if avp.is(ORIGIN_HOST) => avp.text()?.clone_into(&mut server.host),
            _ if avp.is(ORIGIN_REALM) => avp.text()?.clone_into(&mut server.realm),
            _ if avp.is(PRODUCT_NAME) => avp.text()?.clone_into(&mut server.product),
            _ if avp.is(AUTH_APPLICATION_ID) || avp.is(ACCT_APPLICATION_ID) => {
                server.application(avp.u32()?);
            }
            _ if avp.is(VENDOR_SPECIFIC_APPLICATION_ID) => {
                let named = VendorApplication::read(avp)?;
                let ids = named.auth.into_iter().chain(named.acct);
                ids.for_each(|id| server.application(id));
            }
            _ if avp.is(CHECK_BALANCE_RESULT) => self.balance = Some(avp.u32()?),
            _ if avp.is(MULTIPLE_SERVICES_CREDIT_CONTROL) => {
                for part in Avps::within(avp)? {
                    let part = part?;
                    if part.is(RESULT_CODE) {
                        self.services.push(part.u32()?);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}
