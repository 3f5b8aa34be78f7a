//! Rate limit for messages without data: a burst, a number per second, and one for each message
//! with data.

use crate::fault::Fault;

/// State of the limit: the messages without data that the peer may still send.
#[derive(Debug)]
pub(crate) struct ControlRateLimit {
    left: u32,
    burst: u32,
    per_s: u32,
    /// Time up to which the gain per second was credited, ms.
    at_ms: i64,
}

impl ControlRateLimit {
    pub(crate) fn new(burst: u32, per_s: u32, now_ms: i64) -> ControlRateLimit {
        ControlRateLimit { left: burst, burst, per_s, at_ms: now_ms }
    }

    /// Credits one message without data, because a message with data has arrived.
    pub(crate) fn earn(&mut self) {
        self.left = (self.left + 1).min(self.burst);
    }

    /// Charges one message without data; [`Fault::Flood`] when the limit is used up.
    pub(crate) fn spend(&mut self, now_ms: i64) -> Result<(), Fault> {
        let elapsed_ms = u64::try_from(now_ms - self.at_ms).unwrap_or(0);
        let gained = elapsed_ms.saturating_mul(u64::from(self.per_s)) / 1_000;
        if gained > 0 {
            let left = (u64::from(self.left) + gained).min(u64::from(self.burst));
            self.left = u32::try_from(left).unwrap_or(self.burst);
            self.at_ms = now_ms;
        }
        self.left = self.left.checked_sub(1).ok_or(Fault::Flood)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many messages are allowed at this time.
    fn spent(control_rate_limit: &mut ControlRateLimit, now_ms: i64) -> u32 {
        let mut count = 0;
        while control_rate_limit.spend(now_ms).is_ok() {
            count += 1;
        }
        count
    }

    #[test]
    fn a_burst_and_then_so_many_in_a_second() {
        let mut control_rate_limit = ControlRateLimit::new(10, 4, 0);
        assert_eq!(spent(&mut control_rate_limit, 0), 10);
        assert_eq!(spent(&mut control_rate_limit, 249), 0);
        assert_eq!(spent(&mut control_rate_limit, 1_000), 4);
        assert_eq!(spent(&mut control_rate_limit, 100_000), 10);
        // A clock that goes backwards credits nothing.
        assert_eq!(spent(&mut control_rate_limit, 0), 0);
    }

    #[test]
    fn data_pays_for_as_many() {
        let mut control_rate_limit = ControlRateLimit::new(3, 0, 0);
        assert_eq!(spent(&mut control_rate_limit, 0), 3);
        control_rate_limit.earn();
        control_rate_limit.earn();
        assert_eq!(spent(&mut control_rate_limit, 0), 2);
        (0..100).for_each(|_| control_rate_limit.earn());
        assert_eq!(spent(&mut control_rate_limit, 0), 3);
    }
}
