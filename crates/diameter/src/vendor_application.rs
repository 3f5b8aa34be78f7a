//! Vendor-Specific-Application-Id: an application with its vendor, in capabilities and in requests of some clients.

use crate::attribute::{ACCT_APPLICATION_ID, AUTH_APPLICATION_ID, VENDOR_ID};
use crate::avp::Avp;
use crate::avps::Avps;
use crate::refusal::Refusal;

/// The contents of a Vendor-Specific-Application-Id: RFC 6733, 6.11. Of AVPs that occur twice, the first counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VendorApplication {
    /// Vendor-Id; 0 if there is none.
    pub vendor: u32,
    /// Auth-Application-Id.
    pub auth: Option<u32>,
    /// Acct-Application-Id.
    pub acct: Option<u32>,
}

impl VendorApplication {
    /// Reads the group.
    ///
    /// # Errors
    /// 5014 for wrong lengths, 5001 for unknown AVPs with the M flag.
    pub fn read<'a>(group: &Avp<'a>) -> Result<VendorApplication, Refusal<'a>> {
        let (mut read, mut vendor) = (VendorApplication::default(), None);
        for avp in Avps::within(group)? {
            let avp = avp?;
            let slot = match avp {
                _ if avp.is(VENDOR_ID) => &mut vendor,
                _ if avp.is(AUTH_APPLICATION_ID) => &mut read.auth,
                _ if avp.is(ACCT_APPLICATION_ID) => &mut read.acct,
                _ => {
                    avp.pass_over()?;
                    continue;
                }
            };
            let value = avp.u32()?;
            slot.get_or_insert(value);
        }
        read.vendor = vendor.unwrap_or_default();
        Ok(read)
    }
}
