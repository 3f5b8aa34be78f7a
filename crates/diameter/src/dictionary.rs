//! The AVPs that are known: their names, types and M flags. An unknown AVP with the M flag refuses a request, so the
//! dictionary is wide: each AVP of TS 32.299 and of the texts that it refers to is in it.
//!
//! Codes, names and types are those of RFC 6733, RFC 8506 (and 4006), RFC 7155, TS 32.299, TS 29.061, TS 29.214,
//! TS 29.272 and the other texts that the tables name.

mod etsi;
mod ietf_1;
mod ietf_256;
mod ietf_480;
mod tgpp_1;
mod tgpp_1300;
mod tgpp_2000;
mod tgpp_3000;
mod tgpp_3500;
mod tgpp_870;

/// Vendor id of 3GPP.
pub const VENDOR_3GPP: u32 = 10_415;
/// Vendor id of ETSI.
pub const VENDOR_ETSI: u32 = 13_019;

/// Data types of AVPs: RFC 6733, 4.2 and 4.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AvpType {
    /// Any bytes, also those of filter rules.
    OctetString,
    /// Signed, 32 bits.
    Integer32,
    /// Signed, 64 bits.
    Integer64,
    /// Unsigned, 32 bits.
    Unsigned32,
    /// Unsigned, 64 bits.
    Unsigned64,
    /// IEEE 754, 32 bits.
    Float32,
    /// IEEE 754, 64 bits.
    Float64,
    /// AVPs.
    Grouped,
    /// A family, then an address of this family.
    Address,
    /// Seconds since 1900.
    Time,
    /// Text in UTF-8, also a DiameterURI.
    Utf8String,
    /// A DiameterIdentity: a host or a realm.
    Identity,
    /// A number with a name for each value, 32 bits.
    Enumerated,
}

impl AvpType {
    /// Returns the length of the shortest valid data, bytes.
    #[must_use]
    pub const fn len_min(self) -> usize {
        match self {
            AvpType::OctetString | AvpType::Utf8String | AvpType::Grouped => 0,
            AvpType::Identity => 1,
            AvpType::Address => 6,
            AvpType::Integer32
            | AvpType::Unsigned32
            | AvpType::Float32
            | AvpType::Time
            | AvpType::Enumerated => 4,
            AvpType::Integer64 | AvpType::Unsigned64 | AvpType::Float64 => 8,
        }
    }
}

/// Rules for the M flag of an AVP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mandatory {
    /// Senders set it.
    Must,
    /// Senders may set it.
    May,
    /// Senders do not set it.
    MustNot,
}

/// An AVP as its specification describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AvpInfo {
    /// Its code.
    pub code: u32,
    /// Its name.
    pub name: &'static str,
    /// The type of its data.
    pub kind: AvpType,
    /// Whether its M flag is set.
    pub mandatory: Mandatory,
}

const fn must(code: u32, name: &'static str, kind: AvpType) -> AvpInfo {
    AvpInfo { code, name, kind, mandatory: Mandatory::Must }
}

const fn may(code: u32, name: &'static str, kind: AvpType) -> AvpInfo {
    AvpInfo { code, name, kind, mandatory: Mandatory::May }
}

const fn never(code: u32, name: &'static str, kind: AvpType) -> AvpInfo {
    AvpInfo { code, name, kind, mandatory: Mandatory::MustNot }
}

/// The tables by (vendor, code), each sorted by code; the codes of one vendor increase from table to table.
const TABLES: [(u32, &[AvpInfo]); 10] = [
    (0, ietf_1::AVPS),
    (0, ietf_256::AVPS),
    (0, ietf_480::AVPS),
    (VENDOR_3GPP, tgpp_1::AVPS),
    (VENDOR_3GPP, tgpp_870::AVPS),
    (VENDOR_3GPP, tgpp_1300::AVPS),
    (VENDOR_3GPP, tgpp_2000::AVPS),
    (VENDOR_3GPP, tgpp_3000::AVPS),
    (VENDOR_3GPP, tgpp_3500::AVPS),
    (VENDOR_ETSI, etsi::AVPS),
];

const _: () = assert!(is_sorted(), "the dictionary is sorted by vendor and code");

const fn is_sorted() -> bool {
    let (mut vendor, mut code, mut table) = (0, 0, 0);
    while table < TABLES.len() {
        let (of_table, avps) = TABLES[table];
        if of_table < vendor {
            return false;
        }
        if of_table > vendor {
            (vendor, code) = (of_table, 0);
        }
        let mut at = 0;
        while at < avps.len() {
            if avps[at].code <= code {
                return false;
            }
            code = avps[at].code;
            at += 1;
        }
        table += 1;
    }
    true
}

/// Returns what is known about an AVP; vendor 0 is the IETF. It searches by halves, and is meant for the AVPs that a
/// reader does not match itself.
#[must_use]
pub fn find(vendor: u32, code: u32) -> Option<&'static AvpInfo> {
    let last = |avps: &[AvpInfo]| avps.last().is_some_and(|avp| avp.code >= code);
    let (_, avps) = TABLES.iter().find(|(of, avps)| *of == vendor && last(avps))?;
    let at = avps.binary_search_by_key(&code, |avp| avp.code).ok()?;
    avps.get(at)
}

/// Returns all AVPs that are known, with their vendors.
pub fn all() -> impl Iterator<Item = (u32, &'static AvpInfo)> {
    TABLES.iter().flat_map(|(vendor, avps)| avps.iter().map(|avp| (*vendor, avp)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn avps_of_all_sources_are_found() {
        for (vendor, code, name, kind) in [
            (0, 1, "User-Name", AvpType::Utf8String),
            (0, 8, "Framed-IP-Address", AvpType::OctetString),
            (0, 263, "Session-Id", AvpType::Utf8String),
            (0, 264, "Origin-Host", AvpType::Identity),
            (0, 416, "CC-Request-Type", AvpType::Enumerated),
            (0, 456, "Multiple-Services-Credit-Control", AvpType::Grouped),
            (0, 480, "Accounting-Record-Type", AvpType::Enumerated),
            (0, 669, "QoS-Final-Unit-Indication", AvpType::Grouped),
            (VENDOR_3GPP, 1, "3GPP-IMSI", AvpType::Utf8String),
            (VENDOR_3GPP, 868, "Time-Quota-Threshold", AvpType::Unsigned32),
            (VENDOR_3GPP, 872, "Reporting-Reason", AvpType::Enumerated),
            (VENDOR_3GPP, 873, "Service-Information", AvpType::Grouped),
            (VENDOR_3GPP, 2022, "Refund-Information", AvpType::OctetString),
            (VENDOR_ETSI, 500, "Line-Identifier", AvpType::OctetString),
        ] {
            let found = find(vendor, code).map(|avp| (avp.code, avp.name, avp.kind));
            assert_eq!(found, Some((code, name, kind)));
        }
    }

    #[test]
    fn others_are_not_found() {
        for (vendor, code) in
            [(0, 0), (0, u32::MAX), (9, 131), (VENDOR_3GPP, 0), (VENDOR_3GPP, 28), (u32::MAX, 1)]
        {
            assert_eq!(find(vendor, code), None, "{vendor}:{code}");
        }
    }

    #[test]
    fn every_avp_is_found_under_its_own_code_and_has_a_name() {
        let mut count = 0;
        for (vendor, avp) in all() {
            assert_eq!(find(vendor, avp.code), Some(avp));
            let is_name = |c: char| c.is_ascii_alphanumeric() || "-().&/".contains(c);
            assert!(!avp.name.is_empty() && avp.name.chars().all(is_name), "{}", avp.name);
            count += 1;
        }
        assert!(count > 2_000, "{count}");
    }
}
