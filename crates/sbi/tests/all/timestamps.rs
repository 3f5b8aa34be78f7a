//! The form of 3gpp-Sbi-Sender-Timestamp.

use http::{HeaderMap, HeaderValue};
use scurry_sbi::{RequestHeaders, SENDER_TIMESTAMP, SenderTimestamp};

fn read(value: &str) -> Option<u64> {
    let mut headers = HeaderMap::new();
    headers.insert(SENDER_TIMESTAMP, HeaderValue::try_from(value).expect("a value"));
    let read = RequestHeaders::read(&headers, u64::MAX).expect("no deadline");
    assert_eq!(read.sent.is_none(), !read.ignored.is_empty(), "{value}");
    read.sent.map(SenderTimestamp::ms)
}

#[test]
fn times_are_read_and_written_alike() {
    for (value, ms) in [
        ("Thu, 01 Jan 1970 00:00:00.000 GMT", 0),
        ("Sun, 04 Aug 2019 08:49:37.845 GMT", 1_564_908_577_845),
        ("Sat, 29 Feb 2020 23:59:59.999 GMT", 1_583_020_799_999),
        ("Sat, 05 Oct 2024 07:15:55.265 GMT", 1_728_112_555_265),
        ("Fri, 31 Dec 9999 23:59:59.999 GMT", 253_402_300_799_999),
    ] {
        assert_eq!(read(value), Some(ms), "{value}");
        let written = SenderTimestamp::from_ms(ms).expect("a time");
        assert_eq!(written.to_string(), value);
        assert_eq!(HeaderValue::from(written), value);
        assert_eq!(written.ms(), ms);
    }
    assert_eq!(SenderTimestamp::from_ms(253_402_300_800_000), None);
    assert_eq!(SenderTimestamp::from_ms(u64::MAX), None);
}

#[test]
fn other_forms_and_days_that_are_not_there_are_ignored() {
    let others = [
        "",
        // The date of HTTP, and others that are near.
        "Sun, 04 Aug 2019 08:49:37 GMT",
        "Sun, 04 Aug 2019 08:49:37.84 GMT",
        "Sun, 04 Aug 2019 08:49:37.8450 GMT",
        "Sun, 04 Aug 2019 08:49:37.845",
        "Sun, 04 Aug 2019 08:49:37.845 UTC",
        "Sun, 04 Aug 2019 08:49:37.845 gmt",
        "Sun, 04 Aug 2019 08:49:37,845 GMT",
        "Sun, 4 Aug 2019 08:49:37.845 GMT",
        "Sun,  4 Aug 2019 08:49:37.845 GMT",
        "Sunday, 04 Aug 2019 08:49:37.845 GMT",
        "2019-08-04T08:49:37.845Z",
        "1564908577845",
        // The day is a Sunday.
        "Mon, 04 Aug 2019 08:49:37.845 GMT",
        "sun, 04 Aug 2019 08:49:37.845 GMT",
        "Sun, 04 aug 2019 08:49:37.845 GMT",
        "Sun, 04 Avg 2019 08:49:37.845 GMT",
        "Fri, 29 Feb 2019 08:49:37.845 GMT",
        "Wed, 00 Aug 2019 08:49:37.845 GMT",
        "Thu, 32 Aug 2019 08:49:37.845 GMT",
        "Sun, 04 Aug 2019 24:49:37.845 GMT",
        "Sun, 04 Aug 2019 08:60:37.845 GMT",
        "Sun, 04 Aug 2019 08:49:60.845 GMT",
        "Sun, +4 Aug 2019 08:49:37.845 GMT",
        "Wed, 31 Dec 1969 23:59:59.999 GMT",
        "Sun, 04 Aug 2019 08:49:37.845 GMT x",
    ];
    for value in others {
        assert_eq!(read(value), None, "{value}");
    }
}
