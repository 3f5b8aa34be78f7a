//! Request numbers of the ledger for requests to an open session. A consumer that counts gives its own numbers. One that
//! does not is numbered by invocationTimeStamp: its first request that has the number of the Create, or a number that
//! was used with another body, and all after it. The numbers by time are above all that are counted.

/// Lowest number by time. Numbers of consumers below it are taken as they are.
const BY_TIME: u32 = 1 << 24;
/// How long before the Create a request may be, by its time, ms; 12 days: the clock of its consumer was set back.
const BEFORE_MS: i64 = 1 << 30;
/// How long numbers by time are one for each ms from then on, ms; until 24 days after the Create.
const FINE_MS: u64 = 3 << 30;
/// Later they are one for so many ms: 67 years have a number.
const COARSE_MS: u64 = 2_000;
/// Most requests that have the same number by time.
const SAME_TIME_MAX: u32 = 16;

/// The numbers that a request is tried with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbering {
    /// The consumer's own number, unless it is known that the consumer does not count.
    pub(crate) counted: Option<u32>,
    /// First number by time.
    by_time: u32,
}

impl Numbering {
    /// Returns the numbers of a request: `number` and `time_ms` are its own, `created` and `created_ms` are those of the
    /// Create. All times that are longer before the Create are one.
    pub(crate) fn new(number: u32, time_ms: i64, created: u32, created_ms: i64) -> Numbering {
        let age_ms = time_ms.saturating_sub(created_ms).saturating_add(BEFORE_MS);
        let age_ms = u64::try_from(age_ms).unwrap_or(0);
        let steps = match age_ms.checked_sub(FINE_MS) {
            None => age_ms,
            Some(more_ms) => FINE_MS + more_ms / COARSE_MS,
        };
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        let counted = (number != created && number < BY_TIME).then_some(number);
        Numbering { counted, by_time: BY_TIME.saturating_add(steps) }
    }

    /// Returns the numbers by time, of which the first is taken that no other request has.
    pub(crate) fn by_time(&self) -> impl Iterator<Item = u32> {
        let first = self.by_time;
        first..=first.saturating_add(SAME_TIME_MAX - 1)
    }

    /// Reports whether a session whose highest request number is this one is numbered by time.
    pub(crate) fn is_by_time(last_request: Option<u32>) -> bool {
        last_request.is_some_and(|number| number >= BY_TIME)
    }

    /// Returns the number of a Create.
    pub(crate) fn of_create(number: u32) -> u32 {
        if number < BY_TIME { number } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_by_time_rise_with_the_time_and_are_above_those_that_are_counted() {
        let numbering = |number, time_ms| Numbering::new(number, time_ms, 0, 1_000);
        let of = |time_ms| numbering(0, time_ms).by_time().next().expect("one");
        let day_ms = 86_400_000;
        let times = [
            -day_ms,
            999,
            1_000,
            1_001,
            24 * day_ms,
            24 * day_ms + 1,
            25 * day_ms,
            24_000 * day_ms,
        ];
        assert!(times.windows(2).all(|pair| of(pair[0]) < of(pair[1])), "{:?}", times.map(of));
        let first = 1_000 - BEFORE_MS;
        assert_eq!((of(first), of(first + 1)), (BY_TIME, BY_TIME + 1));
        assert_eq!(of(first - 1), BY_TIME, "too long before");
        assert_eq!(numbering(3, 1_000).counted, Some(3));
        assert_eq!(numbering(0, 1_000).counted, None, "the number of the Create");
        assert_eq!(numbering(BY_TIME, 1_000).counted, None);
        assert_eq!((Numbering::of_create(5), Numbering::of_create(BY_TIME)), (5, 0));
        let last = numbering(0, i64::MAX);
        assert_eq!(last.by_time().collect::<Vec<_>>(), [u32::MAX], "it does not overflow");
    }
}
