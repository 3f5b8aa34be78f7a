//! Waiting for others.

use std::thread;
use std::time::Duration;

/// How long a test waits for something: longer than any pause of the machine.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// Waits until this holds.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..LONG.as_millis() / 10 {
        if holds() {
            return;
        }
        thread::sleep(Duration::from_millis(10)); // tidy: allow (others have to get there)
    }
    panic!("this does not happen: {what}");
}

/// Returns a port that was free just now.
pub(crate) fn free_port() -> u16 {
    let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    socket.local_addr().expect("it is bound").port()
}
