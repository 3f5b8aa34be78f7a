//! Probes: one client per node that writes repeatedly with a short timeout. They measure gaps in service, where a
//! client that waits for a stopped node would only measure its own timeout.

use super::client::{ClientAddress, FailoverConnection, Sent};
use crate::route::Signals;
use std::time::Duration;

/// Timeout of a reply.
const PATIENCE: Duration = Duration::from_millis(250);
/// Pause between two requests.
const PACE: Duration = Duration::from_millis(10);

/// Writes the node's probe key through one node until the load is over. Each answer ends a gap.
pub(crate) fn ask(node: ClientAddress, signals: &Signals) {
    let key = format!("probe:{}", node.name());
    let mut connection = FailoverConnection::new(vec![node], 0, PATIENCE);
    let mut number = 0_u64;
    while !signals.is_over() {
        if !signals.holds() {
            number += 1;
            let words = ["SET", &key, &number.to_string()].map(|word| word.as_bytes().to_vec());
            if matches!(connection.send(&words.into()), Sent::Clear(_)) {
                signals.answered();
            }
        }
        std::thread::sleep(PACE); // tidy: allow (it asks at a pace)
    }
}
