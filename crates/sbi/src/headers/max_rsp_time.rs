//! 3gpp-Sbi-Max-Rsp-Time.

use super::single::number;
use http::HeaderValue;

/// Digits of the header at most.
const DIGITS_MAX: usize = 5;

/// How long the sender of a request waits for its answer: 0 to 99,999 ms (TS 29.500 clause 5.2.3.3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MaxRspTime(u32);

impl MaxRspTime {
    /// The longest time that the header can tell.
    pub const LONGEST: MaxRspTime = MaxRspTime(99_999);

    /// Returns this time, or the longest if it is longer.
    pub fn from_ms(ms: u64) -> MaxRspTime {
        u32::try_from(ms).map_or(MaxRspTime::LONGEST, |ms| MaxRspTime(ms).min(MaxRspTime::LONGEST))
    }

    /// Returns the milliseconds.
    pub fn ms(self) -> u64 {
        u64::from(self.0)
    }

    pub(crate) fn read(text: &[u8]) -> Result<MaxRspTime, &'static str> {
        number(text, DIGITS_MAX).map(MaxRspTime).ok_or("it is no number of 1 to 5 digits")
    }
}

impl From<MaxRspTime> for HeaderValue {
    fn from(time: MaxRspTime) -> HeaderValue {
        HeaderValue::from(time.0)
    }
}
