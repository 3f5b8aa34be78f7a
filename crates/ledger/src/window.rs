//! The window of a limit: for how long a use counts.

use crate::{Cycle, Period, Span, Time};
use core::fmt;

/// How long a use counts against a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// Until its period is over.
    Period(Cycle),
    /// For the span, and at most a thirtieth of it longer.
    Rolling(Span),
    /// Until it has drained: of all that is used, the limit's amount drains in each span.
    Rate {
        /// Time in which the amount drains.
        span: Span,
        /// Most units that may be used and held at once; `None` for the amount.
        burst: Option<i64>,
    },
}

impl Window {
    /// The window in which use counts for ever.
    pub const NONE: Window = Window::Period(Cycle::NONE);

    /// Parts of a rolling span.
    pub const PARTS: i64 = 30;

    /// Most parts of which some use still counts at one moment.
    pub const PARTS_MAX: usize = Window::PARTS as usize + 1;

    /// Returns the periods; `None` of a window that has none.
    pub const fn cycle(self) -> Option<Cycle> {
        match self {
            Window::Period(cycle) => Some(cycle),
            Window::Rolling(_) | Window::Rate { .. } => None,
        }
    }

    /// Returns the burst, where it is not the amount of the limit.
    pub const fn given_burst(self) -> Option<i64> {
        match self {
            Window::Rate { burst, .. } => burst,
            Window::Period(_) | Window::Rolling(_) => None,
        }
    }

    /// Returns the window with these words, as it is shown.
    pub fn new(words: &[u8]) -> Option<Window> {
        let span = |word| Span::parse_ms(word).and_then(Span::new);
        if let Some(word) = words.strip_prefix(b"rolling ") {
            return span(word).map(Window::Rolling);
        }
        if let Some(word) = words.strip_prefix(b"rate ") {
            return span(word).map(|span| Window::Rate { span, burst: None });
        }
        Period::new(words).map(|period| Window::Period(Cycle::fixed(period, 0)))
    }

    /// Returns the length of a part of a rolling span, ms.
    pub(crate) const fn part_ms(span: Span) -> i64 {
        (span.ms() + Window::PARTS - 1) / Window::PARTS
    }

    /// Returns the start of the part that contains a moment. Parts are counted from 1970.
    pub(crate) const fn part_start(span: Span, now: Time) -> Time {
        let ms = Window::part_ms(span);
        Time(now.0.div_euclid(ms).saturating_mul(ms))
    }

    /// Returns the first moment at which no use of a part counts: the last use of it, in its last ms, has counted for
    /// the span.
    pub(crate) const fn part_end(span: Span, start: Time) -> Time {
        start.plus_ms(Window::part_ms(span) - 1 + span.ms())
    }
}

/// Writes the period without its zone, or the kind of the window and its span.
impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Window::Period(cycle) => cycle.period.fmt(f),
            Window::Rolling(span) => write!(f, "rolling {span}"),
            Window::Rate { span, .. } => write!(f, "rate {span}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A use counts for the span and less than a part longer, and at most 31 parts count.
    #[test]
    fn a_part_ends_when_its_last_use_is_as_old_as_the_span() {
        for ms in [1_000, 1_001, 1_029, 60_000, 59_999, 18_000_000, Span::MS_MAX] {
            let span = Span::new(ms).expect("a span");
            let part_ms = Window::part_ms(span);
            assert!(part_ms * Window::PARTS >= ms && (part_ms - 1) * Window::PARTS < ms);
            for now in [0, 1, part_ms - 1, part_ms, 1_700_000_000_123] {
                let start = Window::part_start(span, Time(now));
                let end = Window::part_end(span, start);
                assert!((ms..ms + part_ms).contains(&(end.0 - now)), "{ms} {now}");
                let counting = (0..).map(|n| Time(start.0 - n * part_ms));
                let counting = counting.take_while(|of| Window::part_end(span, *of).0 > now);
                assert!(counting.count() <= Window::PARTS_MAX, "{ms} {now}");
            }
        }
    }

    #[test]
    fn a_window_is_read_as_it_is_shown() {
        for words in ["none", "day", "5h", "rolling 30d", "rate 1m"] {
            let window = Window::new(words.as_bytes()).expect("a window");
            assert_eq!(alloc::string::ToString::to_string(&window), words);
        }
        for words in ["rolling", "rolling 1ms", "rate day", "rates 5h", ""] {
            assert_eq!(Window::new(words.as_bytes()), None, "{words}");
        }
    }
}
