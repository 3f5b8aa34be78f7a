//! Requests as clients in use send them: each is read, although some differ from the standards.

use crate::support::{HEAD, avp, request_of, with_avp, with_request, without};
use scurry_diameter::Attribute;
use scurry_diameter::attribute::{
    AOC_REQUEST_TYPE, AUTH_APPLICATION_ID, CC_TIME, MULTIPLE_SERVICES_CREDIT_CONTROL,
    MULTIPLE_SERVICES_INDICATOR, ORIGIN_HOST, ORIGIN_REALM, RATING_GROUP, REQUESTED_SERVICE_UNIT,
    SERVICE_IDENTIFIER, USED_SERVICE_UNIT, VENDOR_ID, VENDOR_SPECIFIC_APPLICATION_ID,
};
use scurry_diameter::ccr::{
    Money, RequestHead, RequestType, RequestedAction, Service, SubscriptionId, SubscriptionKind,
    Units, UsedUnits,
};

#[test]
fn open5gs_sends_input_and_output_without_a_total_and_no_rating_group() {
    let bytes = request_of(&HEAD, |request| {
        request.action(RequestedAction::DirectDebiting);
        request.writer().u32(AOC_REQUEST_TYPE, 1);
        request.writer().u32(MULTIPLE_SERVICES_INDICATOR, 0);
        let used = UsedUnits {
            units: Units {
                time_s: Some(9),
                input_octets: Some(70),
                output_octets: Some(30),
                ..Units::default()
            },
            reporting_reason: Some(2),
            ..UsedUnits::default()
        };
        let requested = Units { total_octets: Some(1_000_000), ..Units::default() };
        request.service(&Service {
            requested: Some(requested),
            used: &[used],
            ..Service::default()
        });
    });
    with_request(&bytes, |read| {
        let request = read.expect("a request");
        assert_eq!(request.requested_action, Some(RequestedAction::DirectDebiting));
        assert_eq!((request.aoc_request_type, request.multiple_services), (Some(1), Some(false)));
        let service = request.services.iter().next().expect("a service");
        assert_eq!((service.rating_group, request.services.len()), (None, 1));
        assert!(!service.is_pooled && service.triggers.is_empty());
        assert_eq!(service.requested.and_then(|units| units.total_octets), Some(1_000_000));
        assert_eq!((service.used[0].units.total_octets, service.used.len()), (None, 1));
        assert_eq!(service.used[0].units.input_octets, Some(70));
        assert_eq!(service.used[0].reporting_reason, Some(2));
    });
}

#[test]
fn magma_and_sigscale_ask_with_an_empty_group() {
    let bytes = request_of(&HEAD, |request| {
        for identifier in [&[3_u32][..], &[]] {
            request.service(&Service {
                requested: Some(Units::default()),
                identifiers: identifier,
                rating_group: Some(9),
                ..Service::default()
            });
        }
        request.service(&Service { rating_group: Some(9), ..Service::default() });
    });
    with_request(&bytes, |read| {
        let request = read.expect("a request");
        let asked: Vec<_> = request
            .services
            .iter()
            .map(|service| (service.requested, service.identifiers.to_vec()))
            .collect();
        let empty = Some(Units::default());
        assert_eq!(asked, [(empty, vec![3]), (empty, vec![]), (None, vec![])]);
    });
}

#[test]
fn kamailio_repeats_its_origin_and_names_the_application_in_a_group() {
    let head = RequestHead { service_context_id: "ext.01.001.8.32260@3gpp.org", ..HEAD };
    let bytes = request_of(&head, |request| {
        request.subscription(&SubscriptionId {
            kind: SubscriptionKind::SipUri,
            data: "sip:alice@example",
        });
        request.writer().bytes(ORIGIN_HOST, b"other.example");
        request.writer().bytes(ORIGIN_REALM, b"other");
        request.writer().group(VENDOR_SPECIFIC_APPLICATION_ID, |writer| {
            writer.u32(VENDOR_ID, 10_415);
            writer.u32(AUTH_APPLICATION_ID, 4);
        });
        // Accounting-Record-Type and -Number.
        request.writer().u32(Attribute::base(480), 3);
        request.writer().u32(Attribute::base(485), 1);
    });
    let bytes = without(&bytes, AUTH_APPLICATION_ID);
    with_request(&bytes, |read| {
        let request = read.expect("a request");
        assert_eq!((request.origin_host, request.origin_realm), ("smf.example", "example"));
        let uri = request.subscription_ids.find(SubscriptionKind::SipUri);
        assert_eq!(uri, Some("sip:alice@example"));
        assert_eq!(request.subscription_ids.find(SubscriptionKind::Imsi), None);
    });
}

#[test]
fn an_ims_client_asks_outside_of_any_group_for_services() {
    let head = RequestHead { request_type: RequestType::Event, ..HEAD };
    let bytes = request_of(&head, |request| {
        request.action(RequestedAction::RefundAccount);
        request.outside(&Service {
            requested: Some(Units { service_specific: Some(1), ..Units::default() }),
            used: &[UsedUnits::default()],
            identifiers: &[1, 2],
            rating_group: Some(4),
            refund_information: b"ref",
            ..Service::default()
        });
        request.service(&Service { identifiers: &[3], ..Service::default() });
        request.outside(&Service { identifiers: &[5], ..Service::default() });
    });
    with_request(&bytes, |read| {
        let request = read.expect("a request");
        assert_eq!(request.request_type, RequestType::Event);
        let outside = request.outside;
        assert_eq!(outside.requested.and_then(|units| units.service_specific), Some(1));
        assert_eq!((outside.identifiers, outside.used.len()), (&[1, 2, 5][..], 1));
        assert_eq!((outside.rating_group, outside.refund_information), (Some(4), &b"ref"[..]));
        let inside = request.services.iter().next().expect("a service");
        assert_eq!((inside.identifiers, inside.refund_information), (&[3][..], &b""[..]));
    });
}

#[test]
fn the_padding_of_the_last_avp_of_a_group_may_be_missing() {
    let mut service = avp(RATING_GROUP, &[0, 0, 0, 4]);
    service.extend(avp(Attribute { mandatory: false, ..Attribute::base(1) }, b"x"));
    let bytes =
        with_avp(&request_of(&HEAD, |_| {}), &avp(MULTIPLE_SERVICES_CREDIT_CONTROL, &service));
    with_request(&bytes, |read| {
        let groups = read.expect("a request").services.iter();
        assert_eq!(groups.map(|service| service.rating_group).collect::<Vec<_>>(), [Some(4)]);
    });
}

#[test]
fn all_that_a_service_may_have_is_read() {
    let mut group = Vec::new();
    group.extend(avp(REQUESTED_SERVICE_UNIT, &avp(CC_TIME, &[0, 0, 0, 60])));
    for usage in 0..=1 {
        let mut used = avp(scurry_diameter::attribute::TARIFF_CHANGE_USAGE, &[0, 0, 0, usage]);
        used.extend(avp(CC_TIME, &[0, 0, 0, 10 + usage]));
        group.extend(avp(USED_SERVICE_UNIT, &used));
    }
    group.extend(avp(SERVICE_IDENTIFIER, &[0, 0, 0, 1]));
    // G-S-U-Pool-Reference, Tariff-Time-Change and a 3GPP Trigger with two types.
    group.extend(avp(Attribute::base(457), &[]));
    group.extend(avp(Attribute::base(451), &[0, 0, 0, 1]));
    let mut types = avp(Attribute::tgpp(870), &[0, 0, 0, 3]);
    types.extend(avp(Attribute::tgpp(870), &[0, 0, 0, 73]));
    group.extend(avp(Attribute::tgpp(1264), &types));
    group.extend(avp(Attribute::tgpp(872), &[0, 0, 0, 6]));
    let bytes =
        with_avp(&request_of(&HEAD, |_| {}), &avp(MULTIPLE_SERVICES_CREDIT_CONTROL, &group));
    with_request(&bytes, |read| {
        let service = read.expect("a request").services.iter().next().expect("a service");
        let tariffs: Vec<_> =
            service.used.iter().map(|used| (used.tariff_change_usage, used.units.time_s)).collect();
        assert_eq!(tariffs, [(Some(0), Some(10)), (Some(1), Some(11))]);
        assert!(service.is_pooled && service.triggers.contains(3) && service.triggers.contains(73));
        assert!(!service.triggers.contains(4) && !service.triggers.contains(u32::MAX));
        assert_eq!(service.reporting_reason, Some(6));
    });
}

#[test]
fn avps_that_are_known_and_not_read_are_passed_over_in_each_group() {
    let name = avp(Attribute::base(1), b"alice");
    let name = [name, vec![0; 3]].concat();
    let group = |code: u32, members: &[&[u8]]| avp(Attribute::base(code), &members.concat());
    let digits = avp(Attribute::base(447), &[0, 0, 0, 0, 0, 0, 0, 5]);
    let currency = avp(Attribute::base(425), &[0, 0, 3, 0xd2]);
    let exponent = avp(Attribute::base(429), &[0xff, 0xff, 0xff, 0xfe]);
    let value = group(445, &[&name, &digits, &name, &exponent, &name]);
    let money = group(413, &[&name, &value, &name, &currency, &name]);
    // Event-Charging-TimeStamp of 3GPP, which clients send for each event.
    let stamps = avp(Attribute::tgpp(1258), &[0, 0, 0, 1]).repeat(2);
    let reason = avp(Attribute::tgpp(872), &[0, 0, 0, 2]);
    let usage = avp(Attribute::base(452), &[0, 0, 0, 1]);
    let used = group(446, &[&name, &stamps, &usage, &name, &reason, &stamps, &money]);
    let id = group(
        443,
        &[
            &name,
            &avp(Attribute::base(450), &[0, 0, 0, 1]),
            &name,
            &avp(Attribute::base(444), b"0010"),
            &name,
        ],
    );
    let bytes = with_avp(&with_avp(&request_of(&HEAD, |_| {}), &used), &id);
    with_request(&bytes, |read| {
        let request = read.expect("a request");
        assert_eq!(request.subscription_ids.find(SubscriptionKind::Imsi), Some("0010"));
        let expected = Money { digits: 5, exponent: -2, currency: Some(978) };
        let units = Units { money: Some(expected), ..Units::default() };
        let used = UsedUnits { units, tariff_change_usage: Some(1), reporting_reason: Some(2) };
        assert_eq!(request.outside.used, [used]);
    });
}
