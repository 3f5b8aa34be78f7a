//! The AVPs that this crate reads and writes by name. Codes and M flags are those of RFC 6733, 4.5, RFC 8506, 8 and
//! TS 32.299, 7.2.

use crate::dictionary::VENDOR_3GPP;

/// V: the AVP has a vendor field.
pub const FLAG_VENDOR: u8 = 0x80;
/// M: a receiver that does not know the AVP refuses the message.
pub const FLAG_MANDATORY: u8 = 0x40;

/// An AVP without its data: what identifies it, and whether senders set its M flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its code.
    pub code: u32,
    /// Its vendor; 0 is the IETF, whose AVPs have no vendor field.
    pub vendor: u32,
    /// True if senders set the M flag.
    pub mandatory: bool,
}

impl Attribute {
    /// Returns an AVP of the IETF whose M flag is set.
    #[must_use]
    pub const fn base(code: u32) -> Attribute {
        Attribute { code, vendor: 0, mandatory: true }
    }

    /// Returns an AVP of 3GPP whose M flag is set.
    #[must_use]
    pub const fn tgpp(code: u32) -> Attribute {
        Attribute { code, vendor: VENDOR_3GPP, mandatory: true }
    }

    /// Returns the flags that senders set.
    #[must_use]
    pub const fn flags(self) -> u8 {
        match (self.vendor, self.mandatory) {
            (0, false) => 0,
            (0, true) => FLAG_MANDATORY,
            (_, false) => FLAG_VENDOR,
            (_, true) => 0xc0,
        }
    }

    const fn optional(code: u32) -> Attribute {
        Attribute { code, vendor: 0, mandatory: false }
    }
}

macro_rules! attributes {
    ($($constructor:ident { $($name:ident = $code:literal, $text:literal;)* })*) => {
        $($(
            #[doc = $text]
            pub const $name: Attribute = Attribute::$constructor($code);
        )*)*

        #[cfg(test)]
        const NAMED: &[(Attribute, &str)] = &[$($(($name, $text),)*)*];
    };
}

attributes! {
    base {
        USER_NAME = 1, "User-Name";
        EVENT_TIMESTAMP = 55, "Event-Timestamp";
        FILTER_ID = 11, "Filter-Id";
        HOST_IP_ADDRESS = 257, "Host-IP-Address";
        AUTH_APPLICATION_ID = 258, "Auth-Application-Id";
        ACCT_APPLICATION_ID = 259, "Acct-Application-Id";
        VENDOR_SPECIFIC_APPLICATION_ID = 260, "Vendor-Specific-Application-Id";
        SESSION_ID = 263, "Session-Id";
        ORIGIN_HOST = 264, "Origin-Host";
        SUPPORTED_VENDOR_ID = 265, "Supported-Vendor-Id";
        VENDOR_ID = 266, "Vendor-Id";
        RESULT_CODE = 268, "Result-Code";
        DISCONNECT_CAUSE = 273, "Disconnect-Cause";
        ORIGIN_STATE_ID = 278, "Origin-State-Id";
        FAILED_AVP = 279, "Failed-AVP";
        ROUTE_RECORD = 282, "Route-Record";
        DESTINATION_REALM = 283, "Destination-Realm";
        PROXY_INFO = 284, "Proxy-Info";
        RE_AUTH_REQUEST_TYPE = 285, "Re-Auth-Request-Type";
        DESTINATION_HOST = 293, "Destination-Host";
        TERMINATION_CAUSE = 295, "Termination-Cause";
        ORIGIN_REALM = 296, "Origin-Realm";
        EXPERIMENTAL_RESULT = 297, "Experimental-Result";
        EXPERIMENTAL_RESULT_CODE = 298, "Experimental-Result-Code";
        INBAND_SECURITY_ID = 299, "Inband-Security-Id";
        CC_CORRELATION_ID = 411, "CC-Correlation-Id";
        CC_INPUT_OCTETS = 412, "CC-Input-Octets";
        CC_MONEY = 413, "CC-Money";
        CC_OUTPUT_OCTETS = 414, "CC-Output-Octets";
        CC_REQUEST_NUMBER = 415, "CC-Request-Number";
        CC_REQUEST_TYPE = 416, "CC-Request-Type";
        CC_SERVICE_SPECIFIC_UNITS = 417, "CC-Service-Specific-Units";
        CC_SESSION_FAILOVER = 418, "CC-Session-Failover";
        CC_SUB_SESSION_ID = 419, "CC-Sub-Session-Id";
        CC_TIME = 420, "CC-Time";
        CC_TOTAL_OCTETS = 421, "CC-Total-Octets";
        CHECK_BALANCE_RESULT = 422, "Check-Balance-Result";
        COST_INFORMATION = 423, "Cost-Information";
        CURRENCY_CODE = 425, "Currency-Code";
        EXPONENT = 429, "Exponent";
        FINAL_UNIT_INDICATION = 430, "Final-Unit-Indication";
        GRANTED_SERVICE_UNIT = 431, "Granted-Service-Unit";
        RATING_GROUP = 432, "Rating-Group";
        REDIRECT_ADDRESS_TYPE = 433, "Redirect-Address-Type";
        REDIRECT_SERVER = 434, "Redirect-Server";
        REDIRECT_SERVER_ADDRESS = 435, "Redirect-Server-Address";
        REQUESTED_ACTION = 436, "Requested-Action";
        REQUESTED_SERVICE_UNIT = 437, "Requested-Service-Unit";
        RESTRICTION_FILTER_RULE = 438, "Restriction-Filter-Rule";
        SERVICE_IDENTIFIER = 439, "Service-Identifier";
        SUBSCRIPTION_ID = 443, "Subscription-Id";
        SUBSCRIPTION_ID_DATA = 444, "Subscription-Id-Data";
        UNIT_VALUE = 445, "Unit-Value";
        USED_SERVICE_UNIT = 446, "Used-Service-Unit";
        VALUE_DIGITS = 447, "Value-Digits";
        VALIDITY_TIME = 448, "Validity-Time";
        FINAL_UNIT_ACTION = 449, "Final-Unit-Action";
        SUBSCRIPTION_ID_TYPE = 450, "Subscription-Id-Type";
        TARIFF_TIME_CHANGE = 451, "Tariff-Time-Change";
        TARIFF_CHANGE_USAGE = 452, "Tariff-Change-Usage";
        MULTIPLE_SERVICES_INDICATOR = 455, "Multiple-Services-Indicator";
        MULTIPLE_SERVICES_CREDIT_CONTROL = 456, "Multiple-Services-Credit-Control";
        G_S_U_POOL_REFERENCE = 457, "G-S-U-Pool-Reference";
        SERVICE_CONTEXT_ID = 461, "Service-Context-Id";
    }
    optional {
        FIRMWARE_REVISION = 267, "Firmware-Revision";
        PRODUCT_NAME = 269, "Product-Name";
        ERROR_MESSAGE = 281, "Error-Message";
        SUBSCRIPTION_ID_EXTENSION = 659, "Subscription-Id-Extension";
    }
    tgpp {
        TIME_QUOTA_THRESHOLD = 868, "Time-Quota-Threshold";
        VOLUME_QUOTA_THRESHOLD = 869, "Volume-Quota-Threshold";
        TRIGGER_TYPE = 870, "Trigger-Type";
        QUOTA_HOLDING_TIME = 871, "Quota-Holding-Time";
        REPORTING_REASON = 872, "Reporting-Reason";
        QUOTA_CONSUMPTION_TIME = 881, "Quota-Consumption-Time";
        AOC_REQUEST_TYPE = 2055, "AoC-Request-Type";
        UNIT_QUOTA_THRESHOLD = 1226, "Unit-Quota-Threshold";
        TRIGGER = 1264, "Trigger";
        SERVICE_INFORMATION = 873, "Service-Information";
        REFUND_INFORMATION = 2022, "Refund-Information";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dictionary::{Mandatory, find};

    #[test]
    fn flags_follow_from_vendor_and_rule() {
        let quiet = Attribute { mandatory: false, ..TRIGGER };
        let flags = [PRODUCT_NAME, SESSION_ID, quiet, TRIGGER].map(Attribute::flags);
        assert_eq!(flags, [0, 0x40, 0x80, 0xc0]);
    }

    #[test]
    fn the_dictionary_has_each_attribute_with_its_name_and_m_flag() {
        for (attribute, name) in NAMED {
            let known = find(attribute.vendor, attribute.code).expect(name);
            assert_eq!(known.name, *name);
            let must = known.mandatory == Mandatory::Must;
            assert_eq!(attribute.mandatory, must, "{name}: {:?}", known.mandatory);
        }
    }
}
