//! Answers to credit-control requests, as texts made by a reader that uses the dictionary only.

use crate::support::{HEAD, avp, head_of, origin, request_of, text, with_avp};
use scurry_diameter::attribute::PROXY_INFO;
use scurry_diameter::ccr::{
    AnswerWriter, FinalUnit, Money, RedirectAddressType, ServiceAnswer, Units,
};
use scurry_diameter::{Attribute, FailedAvp, ResultCode};

/// Writes an answer to a plain CCR-U and returns its text after the origin.
fn answer(result: ResultCode, write: impl FnOnce(&mut AnswerWriter<'_>)) -> String {
    let request = request_of(&HEAD, |_| {});
    let mut out = vec![7];
    let mut answer = AnswerWriter::begin(&mut out, head_of(&request), &origin(), result);
    write(&mut answer);
    assert_eq!(answer.finish(), out.len() - 1);
    let text = text(&out[1..]);
    let (before, after) = text.split_once(" Origin-State-Id=5").expect("the origin");
    let flags = if result.is_protocol_error() { "PE" } else { "P" };
    assert_eq!(
        before,
        format!(
            "272{flags} Session-Id=smf.example;1;2;app_gy Result-Code={} \
             Origin-Host=ocs.example Origin-Realm=example",
            result.0
        )
    );
    let head = " Auth-Application-Id=4 CC-Request-Type=2 CC-Request-Number=7";
    after.strip_prefix(head).expect("the head").to_owned()
}

#[test]
fn an_answer_has_the_bytes_of_the_standard() {
    let request = request_of(&HEAD, |_| {});
    let mut out = Vec::new();
    let origin = scurry_diameter::Origin::new("ocs", "example", None);
    let mut answer = AnswerWriter::begin(&mut out, head_of(&request), &origin, ResultCode::SUCCESS);
    answer.service(&ServiceAnswer {
        granted: Some(Units { total_octets: Some(1_000_000), ..Units::default() }),
        rating_group: Some(9),
        validity_s: Some(600),
        volume_threshold: Some(1_000),
        ..ServiceAnswer::new(ResultCode::SUCCESS)
    });
    answer.finish();
    let hex: String = out.iter().map(|byte| format!("{byte:02x}")).collect();
    // Computed by hand from RFC 6733, 3 and 4, and RFC 8506, 8.
    let golden = "010000d4400001100000000411223344aabbccdd\
        000001074000001e736d662e6578616d706c653b313b323b6170705f67790000\
        0000010c4000000c000007d1\
        000001084000000b6f637300\
        000001284000000f6578616d706c6500\
        000001024000000c00000004\
        000001a04000000c00000002\
        0000019f4000000c00000007\
        000001c840000054\
        000001af40000018000001a54000001000000000000f4240\
        000001b04000000c00000009\
        000001c04000000c00000258\
        0000010c4000000c000007d1\
        00000365c0000010000028af000003e8";
    assert_eq!(hex, golden);
}

#[test]
fn services_are_written_one_after_the_other() {
    let services = answer(ResultCode::SUCCESS, |answer| {
        answer.session_failover(true);
        answer.service(&ServiceAnswer {
            granted: Some(Units {
                time_s: Some(60),
                input_octets: Some(1),
                output_octets: Some(2),
                service_specific: Some(3),
                money: Some(Money { digits: 5, exponent: -2, currency: Some(978) }),
                ..Units::default()
            }),
            tariff_change_s: Some(1_764_460_800),
            identifiers: &[4, 5],
            rating_group: Some(6),
            validity_s: Some(600),
            time_threshold_s: Some(10),
            volume_threshold: Some(11),
            unit_threshold: Some(12),
            quota_holding_s: Some(13),
            quota_consumption_s: Some(14),
            ..ServiceAnswer::new(ResultCode::SUCCESS)
        });
        answer.service(&ServiceAnswer {
            rating_group: Some(7),
            ..ServiceAnswer::new(ResultCode::CREDIT_LIMIT_REACHED)
        });
    });
    assert_eq!(
        services,
        " CC-Session-Failover=1 Multiple-Services-Credit-Control={ Granted-Service-Unit={ \
         Tariff-Time-Change=1764460800 CC-Time=60 CC-Money={ Unit-Value={ Value-Digits=5 \
         Exponent=-2 } Currency-Code=978 } CC-Input-Octets=1 CC-Output-Octets=2 \
         CC-Service-Specific-Units=3 } Service-Identifier=4 Service-Identifier=5 Rating-Group=6 \
         Validity-Time=600 Result-Code=2001 Time-Quota-Threshold=10 Volume-Quota-Threshold=11 \
         Unit-Quota-Threshold=12 Quota-Holding-Time=13 Quota-Consumption-Time=14 } \
         Multiple-Services-Credit-Control={ Rating-Group=7 Result-Code=4012 }"
    );
}

#[test]
fn final_units_say_what_the_client_does() {
    for (final_unit, expected) in [
        (FinalUnit::Terminate, "Final-Unit-Action=0"),
        (
            FinalUnit::Redirect { kind: RedirectAddressType::Url, address: "http://top.up" },
            "Final-Unit-Action=1 Redirect-Server={ Redirect-Address-Type=2 \
             Redirect-Server-Address=http://top.up }",
        ),
        (
            FinalUnit::RestrictAccess { rules: &["ab"], filters: &["f1", "f2"] },
            "Final-Unit-Action=2 Restriction-Filter-Rule=ab Filter-Id=f1 Filter-Id=f2",
        ),
    ] {
        let inside = answer(ResultCode::SUCCESS, |answer| {
            answer.service(&ServiceAnswer {
                final_unit: Some(final_unit),
                ..ServiceAnswer::new(ResultCode::SUCCESS)
            });
        });
        let group = format!(" Final-Unit-Indication={{ {expected} }}");
        assert_eq!(
            inside,
            format!(" Multiple-Services-Credit-Control={{ Result-Code=2001{group} }}")
        );
        let outside = answer(ResultCode::SUCCESS, |answer| answer.final_unit(&final_unit));
        assert_eq!(outside, group);
    }
}

#[test]
fn units_and_errors_stand_outside_of_services_too() {
    let event = answer(ResultCode::SUCCESS, |answer| {
        answer.granted(&Units { service_specific: Some(1), ..Units::default() });
        answer.validity(60);
        answer.check_balance(true);
        answer.check_balance(false);
        answer.cost(&Money { digits: 7, exponent: 0, currency: None });
        answer.writer().bytes(Attribute::base(1), b"alice");
    });
    assert_eq!(
        event,
        " Granted-Service-Unit={ CC-Service-Specific-Units=1 } Validity-Time=60 \
         Check-Balance-Result=0 Check-Balance-Result=1 \
         Cost-Information={ Unit-Value={ Value-Digits=7 } } User-Name=alice"
    );
    let busy = answer(ResultCode::TOO_BUSY, |answer| {
        answer.error_message("the store is not reached");
        answer.failed(&FailedAvp::Example { code: 436, vendor: 0, flags: 0x40 });
    });
    assert_eq!(busy, " Error-Message=the store is not reached Failed-AVP={ Requested-Action=0 }");
}

#[test]
fn proxy_infos_are_repeated_in_their_order() {
    let mut request = request_of(&HEAD, |_| {});
    let mut expected = String::new();
    for state in [b"a", b"b"] {
        let mut members = avp(Attribute::base(280), b"dra");
        members.push(0);
        members.extend(avp(Attribute::base(33), state));
        members.extend([0; 3]);
        request = with_avp(&request, &avp(PROXY_INFO, &members));
        request = with_avp(&request, &avp(Attribute::base(1), b"between"));
        let state = String::from_utf8_lossy(state);
        expected += &format!(" Proxy-Info={{ Proxy-Host=dra Proxy-State={state} }}");
    }
    let mut out = Vec::new();
    let head = head_of(&request);
    AnswerWriter::begin(&mut out, head, &origin(), ResultCode::SUCCESS).finish();
    assert!(text(&out).ends_with(&format!("CC-Request-Number=7{expected}")), "{}", text(&out));
    // A door that answers later keeps copies.
    let (session_id, region) = (head.session_id.to_vec(), head.proxy_infos.region().to_vec());
    let kept = scurry_diameter::AnswerHead {
        session_id: &session_id,
        proxy_infos: scurry_diameter::Occurrences::new(PROXY_INFO, &region),
        ..head
    };
    let mut later = Vec::new();
    AnswerWriter::begin(&mut later, kept, &origin(), ResultCode::SUCCESS).finish();
    assert_eq!(later, out);
    assert!(!text(&later).contains("User-Name"));
}
