//! What a broker has, beside what the store has.

use std::time::Duration;

/// How long a condition may take to come about.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Waits until a condition holds.
#[track_caller]
pub(crate) fn wait_until(words: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..PATIENCE.as_millis() / LOOK_EVERY.as_millis() {
        if holds() {
            return;
        }
        std::thread::sleep(LOOK_EVERY); // tidy: allow (a broker tells no one that it has more)
    }
    panic!("{words} did not come about");
}

/// Checks that each thread's events are there, once and in order.
#[track_caller]
pub(crate) fn same(store: &[Vec<String>], broker: &[Vec<String>]) {
    for (thread, (expected, found)) in store.iter().zip(broker).enumerate() {
        let place = expected.iter().zip(found).position(|(a, b)| a != b);
        let near = |ids: &[String]| {
            ids[place.unwrap_or(0).min(ids.len())..].iter().take(3).cloned().collect::<Vec<_>>()
        };
        assert!(
            expected == found,
            "thread {thread} has {} events, and the broker {}; they differ from place {place:?} on: {:?}, {:?}",
            expected.len(),
            found.len(),
            near(expected),
            near(found)
        );
    }
}
