//! 3gpp-Sbi-Sender-Timestamp: a date of RFC 9110 section 5.6.7 with milliseconds, such as
//! `Sun, 04 Aug 2019 08:49:37.845 GMT`.

use super::single::number;
use http::HeaderValue;
use std::fmt;
use time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time};

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Where the separators of the fixed form are.
const SEPARATORS: [(usize, &[u8]); 8] = [
    (3, b", "),
    (7, b" "),
    (11, b" "),
    (16, b" "),
    (19, b":"),
    (22, b":"),
    (25, b"."),
    (29, b" GMT"),
];
const LEN: usize = 33;

/// When a message was sent, with milliseconds (TS 29.500 clause 5.2.3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SenderTimestamp(OffsetDateTime);

impl SenderTimestamp {
    /// Returns this time, ms since 1970; None after the year 9999, which the header cannot tell.
    pub fn from_ms(ms: u64) -> Option<SenderTimestamp> {
        let nanoseconds = i128::from(ms) * 1_000_000;
        OffsetDateTime::from_unix_timestamp_nanos(nanoseconds).ok().map(SenderTimestamp)
    }

    /// Returns the milliseconds since 1970.
    pub fn ms(self) -> u64 {
        // No SenderTimestamp is before 1970.
        u64::try_from(self.0.unix_timestamp_nanos() / 1_000_000).unwrap_or(0)
    }

    pub(crate) fn read(text: &[u8]) -> Result<SenderTimestamp, &'static str> {
        parsed(text).ok_or("it is no time such as `Sun, 04 Aug 2019 08:49:37.845 GMT`")
    }
}

/// Reads the fixed form. The day of the week must be that of the date: one of the two is wrong otherwise.
fn parsed(text: &[u8]) -> Option<SenderTimestamp> {
    let is_form = text.len() == LEN
        && SEPARATORS.iter().all(|(at, separator)| text[*at..].starts_with(separator));
    if !is_form {
        return None;
    }
    let field = |at: usize, len: usize| number(&text[at..at + len], len);
    let short = |at: usize, len: usize| field(at, len).and_then(|value| u8::try_from(value).ok());
    let month = MONTHS.iter().position(|month| month.as_bytes() == &text[8..11])?;
    let month = Month::try_from(u8::try_from(month + 1).ok()?).ok()?;
    let year = i32::try_from(field(12, 4)?).ok().filter(|year| *year >= 1970)?;
    let date = Date::from_calendar_date(year, month, short(5, 2)?).ok()?;
    let milliseconds = u16::try_from(field(26, 3)?).ok()?;
    let time = Time::from_hms_milli(short(17, 2)?, short(20, 2)?, short(23, 2)?, milliseconds);
    (day_name(date).as_bytes() == &text[..3])
        .then_some(SenderTimestamp(PrimitiveDateTime::new(date, time.ok()?).assume_utc()))
}

fn day_name(date: Date) -> &'static str {
    DAYS[usize::from(date.weekday().number_days_from_monday())]
}

impl fmt::Display for SenderTimestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (date, time) = (self.0.date(), self.0.time());
        let month = MONTHS[usize::from(u8::from(date.month())) - 1];
        write!(f, "{}, {:02} {month} {:04} ", day_name(date), date.day(), date.year())?;
        let (hour, minute, second) = time.as_hms();
        write!(f, "{hour:02}:{minute:02}:{second:02}.{:03} GMT", time.millisecond())
    }
}

impl From<SenderTimestamp> for HeaderValue {
    fn from(timestamp: SenderTimestamp) -> HeaderValue {
        // Digits and names of days and months are characters of a header.
        HeaderValue::try_from(timestamp.to_string()).unwrap_or(HeaderValue::from_static(""))
    }
}
