//! Somebody at each node who asks there again and again, and waits for no answer for long: clients that wait for a
//! node which stands still would measure their own patience.

use super::client::{Sent, Way};
use crate::route::Signals;
use std::time::Duration;

/// An answer that takes longer is none.
const PATIENCE: Duration = Duration::from_millis(250);
/// Between two requests.
const PACE: Duration = Duration::from_millis(10);

/// Writes a key of its own by way of one node until the load is over. What is answered ends a gap.
pub(crate) fn ask(node: (String, u16), signals: &Signals) {
    let key = format!("probe:{}:{}", node.0, node.1);
    let mut way = Way::new(vec![node], 0, PATIENCE);
    let mut number = 0_u64;
    while !signals.is_over() {
        if !signals.holds() {
            number += 1;
            let words = ["SET", &key, &number.to_string()].map(|word| word.as_bytes().to_vec());
            if matches!(way.send(&words.into()), Sent::Clear(_)) {
                signals.answered();
            }
        }
        std::thread::sleep(PACE); // tidy: allow (it asks at a pace)
    }
}
