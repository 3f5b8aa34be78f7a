//! Which requests are refused, with which Result-Code and which AVP.

use crate::support::{
    HEAD, avp, origin, refused, request_of, text, update, with_avp, with_request, without,
};
use scurry_diameter::attribute::{
    AUTH_APPLICATION_ID, CC_REQUEST_NUMBER, CC_REQUEST_TYPE, CC_TOTAL_OCTETS, DESTINATION_REALM,
    EVENT_TIMESTAMP, MULTIPLE_SERVICES_CREDIT_CONTROL, ORIGIN_HOST, ORIGIN_REALM, PROXY_INFO,
    RATING_GROUP, REQUESTED_ACTION, REQUESTED_SERVICE_UNIT, ROUTE_RECORD, SERVICE_CONTEXT_ID,
    SERVICE_IDENTIFIER, SESSION_ID, SUBSCRIPTION_ID, USED_SERVICE_UNIT, USER_NAME,
};
use scurry_diameter::ccr::{
    IDENTIFIERS_MAX, Money, RequestHead, RequestType, SERVICES_MAX, Service, SubscriptionKind,
    USED_MAX, Units, UsedUnits,
};
use scurry_diameter::{Attribute, Message, write_refusal};

#[test]
fn a_request_has_the_bytes_of_the_standard() {
    // Computed by hand from RFC 6733, 3 and 4, and RFC 8506, 8.
    let golden = "010000f4c00001100000000411223344aabbccdd\
        000001074000001e736d662e6578616d706c653b313b323b6170705f67790000\
        0000010840000013736d662e6578616d706c6500\
        000001284000000f6578616d706c6500\
        0000011b4000000f6578616d706c6500\
        000001024000000c00000004\
        000001cd4000001633323235314033677070\
        2e6f72670000\
        000001a04000000c00000002\
        0000019f4000000c00000007\
        000001c840000050\
        000001b540000008\
        000001be40000018000001a54000001000000000000f4240\
        000001b74000000c00000003000001b04000000c00000009\
        00000368c0000010000028af00000003";
    let bytes = request_of(&HEAD, |request| {
        let units = Units { total_octets: Some(1_000_000), ..Units::default() };
        request.service(&Service {
            requested: Some(Units::default()),
            used: &[UsedUnits { units, ..UsedUnits::default() }],
            identifiers: &[3],
            rating_group: Some(9),
            reporting_reason: Some(3),
            ..Service::default()
        });
    });
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, golden.replace(char::is_whitespace, ""));
}

#[test]
fn a_missing_avp_is_named_by_an_example() {
    let whole = update(1);
    for attribute in [
        SESSION_ID,
        ORIGIN_HOST,
        ORIGIN_REALM,
        DESTINATION_REALM,
        AUTH_APPLICATION_ID,
        SERVICE_CONTEXT_ID,
        CC_REQUEST_TYPE,
        CC_REQUEST_NUMBER,
    ] {
        assert_eq!(refused(&without(&whole, attribute)), (5005, Some((attribute.code, 0))));
    }
    let event = RequestHead { request_type: RequestType::Event, ..HEAD };
    assert_eq!(refused(&request_of(&event, |_| {})), (5005, Some((REQUESTED_ACTION.code, 0))));
    with_request(&without(&whole, EVENT_TIMESTAMP), |read| assert!(read.is_ok()));
}

#[test]
fn what_decides_about_money_occurs_once_and_the_rest_may_repeat() {
    let whole = update(1);
    for attribute in [SESSION_ID, SERVICE_CONTEXT_ID] {
        let twice = with_avp(&whole, &avp(attribute, b"x"));
        assert_eq!(refused(&twice), (5009, Some((attribute.code, 0))));
    }
    for attribute in [CC_REQUEST_TYPE, CC_REQUEST_NUMBER] {
        let twice = with_avp(&whole, &avp(attribute, &[0, 0, 0, 2]));
        assert_eq!(refused(&twice), (5009, Some((attribute.code, 0))));
    }
    for (attribute, data) in [
        (ORIGIN_HOST, &b"x"[..]),
        (ORIGIN_REALM, b"x"),
        (DESTINATION_REALM, b"x"),
        (AUTH_APPLICATION_ID, &[0, 0, 0, 4]),
        (EVENT_TIMESTAMP, &[0; 4]),
    ] {
        with_request(&with_avp(&whole, &avp(attribute, data)), |read| {
            let request = read.expect("a request");
            assert_eq!(
                (request.origin_host, request.destination_realm),
                ("smf.example", "example")
            );
            assert_eq!(request.event_time_s, Some(1_764_460_800));
        });
    }
}

#[test]
fn within_a_service_each_unit_and_the_rating_group_occur_once() {
    let octets = avp(CC_TOTAL_OCTETS, &[0; 8]);
    let twice = |one: &[u8]| [one, one].concat();
    let refund = twice(&avp(Attribute::tgpp(2022), b"four"));
    let bytes = with_avp(&update(0), &avp(MULTIPLE_SERVICES_CREDIT_CONTROL, &refund));
    assert_eq!(refused(&bytes), (5009, Some((2022, 10_415))));
    for (group, code) in [
        (twice(&avp(RATING_GROUP, &[0; 4])), RATING_GROUP.code),
        (twice(&avp(REQUESTED_SERVICE_UNIT, &[])), REQUESTED_SERVICE_UNIT.code),
        (avp(USED_SERVICE_UNIT, &twice(&octets)), CC_TOTAL_OCTETS.code),
        (avp(REQUESTED_SERVICE_UNIT, &twice(&octets)), CC_TOTAL_OCTETS.code),
    ] {
        let bytes = with_avp(&update(0), &avp(MULTIPLE_SERVICES_CREDIT_CONTROL, &group));
        assert_eq!(refused(&bytes), (5009, Some((code, 0))));
        // The same holds outside of a service.
        assert_eq!(refused(&with_avp(&update(0), &group)), (5009, Some((code, 0))));
    }
}

#[test]
fn lists_have_bounds() {
    let services = |count: usize| update(u32::try_from(count).expect("few"));
    with_request(&services(SERVICES_MAX), |read| assert!(read.is_ok()));
    let code = MULTIPLE_SERVICES_CREDIT_CONTROL.code;
    assert_eq!(refused(&services(SERVICES_MAX + 1)), (5009, Some((code, 0))));
    for (attribute, data, max) in [
        (USED_SERVICE_UNIT, &[][..], USED_MAX),
        (SERVICE_IDENTIFIER, &[0, 0, 0, 1], IDENTIFIERS_MAX),
    ] {
        let group = |count: usize| {
            let members = avp(attribute, data).repeat(count);
            with_avp(&update(0), &avp(MULTIPLE_SERVICES_CREDIT_CONTROL, &members))
        };
        with_request(&group(max), |read| assert!(read.is_ok()));
        assert_eq!(refused(&group(max + 1)), (5009, Some((attribute.code, 0))));
    }
    let id = update(0);
    let id = Message::read(&id).expect("a message");
    let id = id.avps().flatten().find(|avp| avp.is(SUBSCRIPTION_ID)).expect("an id").bytes;
    let mut bytes = update(0);
    for _ in 0..6 {
        bytes = with_avp(&bytes, id);
    }
    with_request(&bytes, |read| {
        assert_eq!(read.expect("a request").subscription_ids.as_slice().len(), 8);
    });
    assert_eq!(refused(&with_avp(&bytes, id)), (5009, Some((443, 0))));
}

#[test]
fn values_that_are_not_allowed_are_refused() {
    let whole = without(&without(&update(1), CC_REQUEST_TYPE), AUTH_APPLICATION_ID);
    for (attribute, data, code) in [
        (CC_REQUEST_TYPE, &[0, 0, 0, 9][..], 5004),
        (CC_REQUEST_TYPE, &[0, 0, 0, 0], 5004),
        (CC_REQUEST_TYPE, &[0, 0, 2], 5014),
        (AUTH_APPLICATION_ID, &[0, 0, 0, 5], 5004),
        (REQUESTED_ACTION, &[0, 0, 0, 4], 5004),
        (USER_NAME, b"\xff", 5004),
        (ORIGIN_HOST, b"", 5014),
        (ORIGIN_HOST, b"a b", 5004),
        (EVENT_TIMESTAMP, &[0, 0], 5014),
        (REQUESTED_SERVICE_UNIT, &[0, 0, 1, 0xa5, 0x40, 0, 0, 12, 0, 0, 0, 1], 5014),
    ] {
        let (result, failed) = refused(&with_avp(&whole, &avp(attribute, data)));
        let expected =
            if attribute == REQUESTED_SERVICE_UNIT { CC_TOTAL_OCTETS } else { attribute };
        assert_eq!((result, failed), (code, Some((expected.code, 0))), "{attribute:?} {data:?}");
    }
}

#[test]
fn unknown_avps_are_refused_with_the_m_flag_wherever_they_are_read() {
    let cisco = Attribute { code: 131_100, vendor: 9, mandatory: true };
    let harmless = Attribute { mandatory: false, ..cisco };
    for (attribute, is_refused) in [(cisco, true), (harmless, false)] {
        let unknown = avp(attribute, &[0; 4]);
        for bytes in [
            with_avp(&update(1), &unknown),
            with_avp(&update(1), &avp(MULTIPLE_SERVICES_CREDIT_CONTROL, &unknown)),
            with_avp(&update(1), &avp(USED_SERVICE_UNIT, &unknown)),
            with_avp(&update(1), &avp(REQUESTED_SERVICE_UNIT, &unknown)),
        ] {
            if is_refused {
                assert_eq!(refused(&bytes), (5001, Some((131_100, 9))));
            } else {
                with_request(&bytes, |read| assert!(read.is_ok()));
            }
        }
    }
    let base = avp(Attribute { code: 9_999, vendor: 0, mandatory: true }, &[]);
    for bytes in [
        with_avp(&update(1), &base),
        with_avp(&update(1), &avp(MULTIPLE_SERVICES_CREDIT_CONTROL, &base)),
    ] {
        assert_eq!(refused(&bytes), (5001, Some((9_999, 0))));
    }
    // Known AVPs of 3GPP are passed over with their M flag, and groups that are not read are not opened.
    for known in [Attribute::tgpp(909), Attribute::tgpp(2066), Attribute::base(30)] {
        let bytes = with_avp(&update(1), &avp(known, &avp(cisco, &[])));
        with_request(&bytes, |read| assert!(read.is_ok()));
    }
    let service_information = avp(Attribute::tgpp(873), &avp(cisco, &[]));
    let bytes = with_avp(&update(1), &service_information);
    with_request(&bytes, |read| {
        let kept = read.expect("a request").service_information.expect("it is kept");
        assert_eq!(kept.bytes, service_information);
    });
    assert_eq!(refused(&with_avp(&bytes, &service_information)), (5009, Some((873, 10_415))));
}

#[test]
fn other_commands_applications_and_flags_are_refused() {
    for (at, value, code) in
        [(7, 0x13, 3001), (11, 5, 3007), (4, 0x40, 3008), (4, 0xe0, 3008), (4, 0x20, 3008)]
    {
        let mut bytes = update(1);
        bytes[at] = value;
        assert_eq!(refused(&bytes), (code, None));
    }
    // Reserved flags are ignored, and a request need not be proxiable.
    for flags in [0x8f, 0xdf, 0x90] {
        let mut bytes = update(1);
        bytes[4] = flags;
        with_request(&bytes, |read| assert!(read.is_ok()));
    }
}

#[test]
fn refusals_are_answers_with_session_and_failed_avp() {
    let proxy = avp(PROXY_INFO, &avp(Attribute::base(33), b"s"));
    let bytes = with_avp(&without(&update(1), SERVICE_CONTEXT_ID), &proxy);
    let answer = |bytes: &[u8]| {
        let message = Message::read(bytes).expect("a message");
        let mut out = Vec::new();
        with_request(bytes, |read| {
            let refusal = read.expect_err("it is refused");
            assert_eq!(write_refusal(&mut out, &message, &origin(), &refusal), out.len());
        });
        text(&out)
    };
    assert_eq!(
        answer(&bytes),
        "272P Session-Id=smf.example;1;2;app_gy Result-Code=5005 Origin-Host=ocs.example \
         Origin-Realm=example Origin-State-Id=5 Auth-Application-Id=4 CC-Request-Type=2 \
         CC-Request-Number=7 Error-Message=an AVP is missing Failed-AVP={ Service-Context-Id= } \
         Proxy-Info={ Proxy-State=s }"
    );
    // Of repeated AVPs the first counts, and no other application has a type and a number.
    let twice = [(SESSION_ID, &b"x"[..]), (CC_REQUEST_TYPE, &[0; 4]), (CC_REQUEST_NUMBER, &[0; 4])];
    let twice = twice
        .iter()
        .fold(bytes.clone(), |bytes, (attribute, data)| with_avp(&bytes, &avp(*attribute, data)));
    let head = scurry_diameter::AnswerHead::find(&Message::read(&twice).expect("a message"));
    assert_eq!(head.session_id, b"smf.example;1;2;app_gy");
    assert_eq!((head.request_type, head.request_number), (Some(2), Some(7)));
    assert_eq!(head.proxy_infos.iter().count(), 1);
    for (at, value) in [(7, 0x13), (11, 5)] {
        let mut other = bytes.clone();
        other[at] = value;
        assert!(!answer(&other).contains("CC-Request-Type"), "{}", answer(&other));
    }
    let mut str = bytes.clone();
    str[7] = 0x13;
    assert_eq!(
        answer(&str),
        "275PE Session-Id=smf.example;1;2;app_gy Result-Code=3001 Origin-Host=ocs.example \
         Origin-Realm=example Origin-State-Id=5 Error-Message=the command is not known here \
         Proxy-Info={ Proxy-State=s }"
    );
    let number = without(&update(1), CC_REQUEST_NUMBER);
    assert!(answer(&number).ends_with("Failed-AVP={ CC-Request-Number=0 }"), "{}", answer(&number));
    let short = with_avp(&update(1), &avp(Attribute::tgpp(2055), &[0; 3]));
    let mut out = Vec::new();
    with_request(&short, |read| {
        let refusal = read.expect_err("it is refused");
        write_refusal(&mut out, &Message::read(&short).expect("a message"), &origin(), &refusal);
    });
    assert!(out.ends_with(&[0, 0, 8, 7, 0xc0, 0, 0, 15, 0, 0, 0x28, 0xaf, 0, 0, 0, 0]));
}

#[test]
fn all_fields_are_read() {
    let bytes = request_of(&HEAD, |request| {
        let writer = request.writer();
        writer.bytes(Attribute::base(293), b"ocs.example");
        writer.bytes(USER_NAME, b"alice");
        writer.u32(Attribute::base(295), 1);
        writer.u32(Attribute::base(278), 77);
        writer.u64(Attribute::base(419), 8);
        writer.bytes(Attribute::base(411), b"c");
        writer.u32(Attribute::base(418), 1);
        writer.bytes(ROUTE_RECORD, b"dra1.example");
        writer.bytes(USER_NAME, b"second");
        writer.bytes(ROUTE_RECORD, b"dra2.example");
        // Subscription-Id-Extension with Subscription-Id-NAI.
        writer.group(Attribute { mandatory: false, ..Attribute::base(659) }, |writer| {
            writer.bytes(Attribute { mandatory: false, ..Attribute::base(663) }, b"a@b");
        });
        let money = Money { digits: -5, exponent: -2, currency: Some(978) };
        request.outside(&Service {
            requested: Some(Units { money: Some(money), ..Units::default() }),
            validity_s: Some(60),
            result_code: Some(2001),
            ..Service::default()
        });
    });
    with_request(&bytes, |read| {
        let request = read.expect("a request");
        assert_eq!(request.destination_host, Some("ocs.example"));
        assert_eq!(request.user_name, Some("alice"));
        assert_eq!((request.termination_cause, request.origin_state_id), (Some(1), Some(77)));
        assert_eq!((request.sub_session_id, request.session_failover), (Some(8), Some(1)));
        assert_eq!(request.correlation_id, Some(&b"c"[..]));
        let routes: Vec<_> = request.route_records.iter().map(|avp| avp.text()).collect();
        assert_eq!(routes, [Ok("dra1.example"), Ok("dra2.example")]);
        assert_eq!(request.subscription_ids.find(SubscriptionKind::Nai), Some("a@b"));
        let money = request.outside.requested.and_then(|units| units.money);
        assert_eq!(money, Some(Money { digits: -5, exponent: -2, currency: Some(978) }));
        assert_eq!(
            (request.outside.validity_s, request.outside.result_code),
            (Some(60), Some(2001))
        );
        assert_eq!(
            (request.header.hop_by_hop, request.header.end_to_end),
            (0x1122_3344, 0xaabb_ccdd)
        );
    });
}

#[test]
fn use_that_is_a_negative_number_is_refused() {
    let with_used = |octets| {
        request_of(&HEAD, |request| {
            let units = Units { total_octets: Some(octets), ..Units::default() };
            let used = &[UsedUnits { units, ..UsedUnits::default() }];
            request.service(&Service { used, ..Service::default() });
        })
    };
    with_request(&with_used(i64::MAX.unsigned_abs()), |read| assert!(read.is_ok()));
    // 3 GB in 32 bits with a sign, as 64 bits without one.
    for octets in [(-1_294_967_296_i64).cast_unsigned(), 1 << 63] {
        assert_eq!(refused(&with_used(octets)), (5004, Some((421, 0))));
    }
}
