//! Headers of requests: what is read, what is ignored, and when a request is too late.

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use scurry_sbi::{
    ApiVersion, CALLBACK, CORRELATION_INFO, CORRELATION_INFO_LEN_MAX, CallbackType, HeaderFault,
    MAX_RSP_TIME, MESSAGE_PRIORITY, MaxRspTime, MessagePriority, RequestHeaders, SENDER_TIMESTAMP,
    SenderTimestamp, SentHeaders,
};

/// `Sun, 04 Aug 2019 08:49:37.845 GMT`, ms since 1970.
const SENT_MS: u64 = 1_564_908_577_845;
const SENT: &str = "Sun, 04 Aug 2019 08:49:37.845 GMT";

fn headers(values: &[(HeaderName, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in values {
        headers.append(name.clone(), HeaderValue::try_from(*value).expect("a value"));
    }
    headers
}

fn read(values: &[(HeaderName, &str)], now_ms: u64) -> RequestHeaders {
    RequestHeaders::read(&headers(values), now_ms).expect("in time")
}

/// Returns why a header was ignored.
fn ignored(name: &HeaderName, value: &str) -> &'static str {
    let read = read(&[(name.clone(), value)], SENT_MS);
    let expected = RequestHeaders { ignored: read.ignored.clone(), ..RequestHeaders::default() };
    assert_eq!(read, expected, "{name}: {value}");
    let [ignored] = read.ignored.as_slice() else { panic!("{name}: {value}: {read:?}") };
    assert_eq!(ignored.name, *name);
    ignored.why
}

#[test]
fn a_request_without_them_says_nothing() {
    let read = read(&[], SENT_MS);
    assert_eq!(read, RequestHeaders::default());
    assert!(!read.is_late(u64::MAX));
    let mut answer = HeaderMap::new();
    read.write_answer(&mut answer);
    assert!(answer.is_empty());
}

#[test]
fn all_of_them_are_read() {
    let read = read(
        &[
            (MESSAGE_PRIORITY, " 10 "),
            (CALLBACK, "Nchf_ConvergedCharging_Notify; apiversion=3"),
            (SENDER_TIMESTAMP, SENT),
            (MAX_RSP_TIME, "10000"),
            (CORRELATION_INFO, "imsi-345012123123123; msisdn-1234567890"),
        ],
        SENT_MS + 100,
    );
    assert_eq!(read.priority.map(MessagePriority::number), Some(10));
    let callback = read.callback.as_ref().expect("a callback");
    assert_eq!(callback.name(), "Nchf_ConvergedCharging_Notify");
    assert_eq!(callback.version(), Some(ApiVersion(3)));
    assert_eq!(read.sent.map(SenderTimestamp::ms), Some(SENT_MS));
    assert_eq!(read.deadline_ms, Some(SENT_MS + 10_000));
    assert!(read.ignored.is_empty());
    let mut answer = HeaderMap::new();
    read.write_answer(&mut answer);
    let expected = headers(&[(CORRELATION_INFO, "imsi-345012123123123; msisdn-1234567890")]);
    assert_eq!(answer, expected);
}

#[test]
fn priorities_are_0_to_31() {
    for number in 0..=31 {
        let read = read(&[(MESSAGE_PRIORITY, &number.to_string())], 0);
        assert_eq!(read.priority.map(MessagePriority::number), Some(number));
    }
    for value in ["32", "99", "-1", "05", "00", "031", "1.0", "", "x", "+1", "1 2"] {
        assert_eq!(ignored(&MESSAGE_PRIORITY, value), "it is no number from 0 to 31");
    }
    assert_eq!(MessagePriority::new(31), Some(MessagePriority::LOWEST));
    assert_eq!(MessagePriority::new(32), None);
}

#[test]
fn the_deadline_counts_from_the_senders_time() {
    let values = [(SENDER_TIMESTAMP, SENT), (MAX_RSP_TIME, "1500")];
    for now_ms in [SENT_MS, SENT_MS + 1, SENT_MS + 1499] {
        let read = read(&values, now_ms);
        assert_eq!(read.deadline_ms, Some(SENT_MS + 1500));
        assert!(!read.is_late(SENT_MS + 1499));
        assert!(read.is_late(SENT_MS + 1500));
    }
}

#[test]
fn without_a_time_of_the_sender_the_deadline_counts_from_now() {
    for values in [
        // None, one that cannot be read, and one of a clock that is ahead of ours.
        vec![(MAX_RSP_TIME, "1500")],
        vec![(MAX_RSP_TIME, "1500"), (SENDER_TIMESTAMP, "04 Aug 2019 08:49:37")],
        vec![(MAX_RSP_TIME, "1500"), (SENDER_TIMESTAMP, "Sun, 04 Aug 2019 08:49:37.846 GMT")],
        vec![(MAX_RSP_TIME, "1500"), (SENDER_TIMESTAMP, "Sat, 04 Aug 2029 08:49:37.845 GMT")],
    ] {
        assert_eq!(read(&values, SENT_MS).deadline_ms, Some(SENT_MS + 1500), "{values:?}");
    }
    // A time alone asks for no deadline.
    assert_eq!(read(&[(SENDER_TIMESTAMP, SENT)], SENT_MS + 3_600_000).deadline_ms, None);
    // At the end of time there is no overflow.
    assert_eq!(read(&[(MAX_RSP_TIME, "1500")], u64::MAX - 1).deadline_ms, Some(u64::MAX));
}

#[test]
fn a_request_whose_sender_waits_no_more_is_refused() {
    let values = [
        (SENDER_TIMESTAMP, SENT),
        (MAX_RSP_TIME, "1500"),
        (CORRELATION_INFO, "imsi-001010000000001"),
    ];
    for late_ms in [0, 1, 86_400_000] {
        let fault = RequestHeaders::read(&headers(&values), SENT_MS + 1500 + late_ms);
        let fault = fault.expect_err("too late");
        assert_eq!(fault.status(), StatusCode::GATEWAY_TIMEOUT);
        assert_eq!(fault.cause(), "TIMED_OUT_REQUEST");
        let words = format!("the sender of the request stopped waiting {late_ms} ms ago by its ");
        assert!(fault.to_string().starts_with(&words), "{fault}");
        let HeaderFault::TimedOut { late_ms: found, correlation_info } = fault;
        assert_eq!(found, late_ms);
        let info = correlation_info.expect("what the answer gives back");
        assert_eq!(info.value(), "imsi-001010000000001");
    }
    // A sender that does not wait at all.
    assert!(RequestHeaders::read(&headers(&[(MAX_RSP_TIME, "0")]), SENT_MS).is_err());
}

#[test]
fn times_to_wait_have_up_to_five_digits() {
    for (value, ms) in [("1", 1), ("00010", 10), ("99999", 99_999)] {
        assert_eq!(read(&[(MAX_RSP_TIME, value)], 0).deadline_ms, Some(ms), "{value}");
    }
    for value in ["", "-1", "100000", "000001", "1.5", "1e3", "10 ms", "\u{661}"] {
        assert_eq!(ignored(&MAX_RSP_TIME, value), "it is no number of 1 to 5 digits", "{value}");
    }
    assert_eq!(MaxRspTime::from_ms(10_000).ms(), 10_000);
    assert_eq!(MaxRspTime::from_ms(100_000), MaxRspTime::LONGEST);
    assert_eq!(MaxRspTime::from_ms(u64::MAX), MaxRspTime::LONGEST);
}

#[test]
fn callbacks_have_a_type_and_a_version() {
    let of = |value| read(&[(CALLBACK, value)], 0).callback.expect("a callback");
    // Types of annex B.
    let plain = of("Nsmf_PDUSession_smContextStatusNotification");
    assert_eq!(plain.name(), "Nsmf_PDUSession_smContextStatusNotification");
    assert_eq!(plain.version(), None);
    assert_eq!(
        of("N5g-ddnmf_Discovery_MonitorUpdateResult;apiversion=2").version(),
        Some(ApiVersion(2))
    );
    // Types are the same in any case, versions are not the same.
    let notify = CallbackType::new("Nchf_ConvergedCharging_Notify", Some(ApiVersion(3)));
    assert_eq!(Some(of("NCHF_CONVERGEDCHARGING_NOTIFY; apiversion=3")), notify);
    assert!(of("nchf_convergedcharging_notify").is("Nchf_ConvergedCharging_Notify"));
    assert_ne!(Some(of("Nchf_ConvergedCharging_Notify; apiversion=2")), notify);
    assert_ne!(of("Nchf_ConvergedCharging"), of("Nchf_ConvergedCharging_Notify"));
    let long = "x".repeat(129);
    let broken = [
        "",
        ";",
        "a b",
        "a;",
        "a; apiversion=",
        "a; apiversion=x",
        "a; apiversion=1000",
        "a; x=1",
        "a ; apiversion=1",
        "a; apiversion=1; apiversion=1",
        "a/b",
        "\u{e9}",
        &long,
    ];
    for value in broken {
        let why = ignored(&CALLBACK, value);
        assert_eq!(why, "it is no callback type, with or without `; apiversion=`", "{value}");
    }
    assert_eq!(CallbackType::new(&long, None), None);
    assert!(CallbackType::new(&long[1..], None).is_some());
}

#[test]
fn correlation_info_is_given_back_as_it_was_received() {
    let values = [
        "imsi-345012123123123",
        "imsi-345012123123123; msisdn-1234567890",
        "impi-user@example.org;imeisv-1234567890123456",
        "extid-a@b; mac-00-00-5E-00-53-00; x-y-z",
    ];
    for value in values {
        let read = read(&[(CORRELATION_INFO, value)], 0);
        let mut answer = headers(&[(CORRELATION_INFO, "another-one")]);
        read.write_answer(&mut answer);
        assert_eq!(answer, headers(&[(CORRELATION_INFO, value)]));
    }
    for value in [
        "",
        "imsi",
        "-1",
        "imsi-",
        "imsi-1;",
        ";imsi-1",
        "imsi-1 ;msisdn-2",
        "imsi-1,x-2",
        "imsi-a b",
        "nai-\u{e9}",
    ] {
        let why = ignored(&CORRELATION_INFO, value);
        assert_eq!(why, "its parts are not each a type, a dash and a value", "{value}");
    }
    let most = format!("imsi-{}", "1".repeat(CORRELATION_INFO_LEN_MAX - 5));
    assert!(read(&[(CORRELATION_INFO, &most)], 0).correlation_info.is_some());
    assert_eq!(ignored(&CORRELATION_INFO, &format!("{most}1")), "it has more than 512 bytes");
}

#[test]
fn a_header_that_is_there_twice_is_ignored() {
    let names = [MESSAGE_PRIORITY, CALLBACK, SENDER_TIMESTAMP, MAX_RSP_TIME, CORRELATION_INFO];
    let values = ["1", "a", SENT, "1", "imsi-1"];
    for (name, value) in names.into_iter().zip(values) {
        let read = read(&[(name.clone(), value), (name.clone(), value)], SENT_MS);
        assert_eq!(read.ignored.len(), 1);
        assert_eq!(read.ignored[0].name, name);
        assert_eq!(read.ignored[0].why, "it is there more than once");
        let expected =
            RequestHeaders { ignored: read.ignored.clone(), ..RequestHeaders::default() };
        assert_eq!(read, expected);
    }
}

#[test]
fn what_we_send_is_read_as_it_was_meant() {
    let notify = CallbackType::new("Nchf_ConvergedCharging_Notify", Some(ApiVersion(3)));
    let notify = notify.expect("a type");
    let asked = read(&[(CORRELATION_INFO, "imsi-001010000000001")], 0);
    let sent = SentHeaders {
        priority: MessagePriority::new(5),
        callback: Some(&notify),
        max_rsp_time: Some(MaxRspTime::from_ms(3000)),
        correlation_info: asked.correlation_info.as_ref(),
    };
    let mut written = HeaderMap::new();
    sent.write(&mut written, SENT_MS);
    let expected = headers(&[
        (MESSAGE_PRIORITY, "5"),
        (CALLBACK, "Nchf_ConvergedCharging_Notify; apiversion=3"),
        (MAX_RSP_TIME, "3000"),
        (SENDER_TIMESTAMP, SENT),
        (CORRELATION_INFO, "imsi-001010000000001"),
    ]);
    assert_eq!(written, expected);
    let read = RequestHeaders::read(&written, SENT_MS).expect("in time");
    assert_eq!(read.deadline_ms, Some(SENT_MS + 3000));
    assert_eq!(read.callback.as_ref(), Some(&notify));
    assert!(read.ignored.is_empty());
    let mut none = HeaderMap::new();
    SentHeaders::default().write(&mut none, SENT_MS);
    assert!(none.is_empty());
    // A year that the header cannot tell.
    let mut late = HeaderMap::new();
    sent.write(&mut late, u64::MAX);
    assert_eq!(late.get(SENDER_TIMESTAMP), None);
}
