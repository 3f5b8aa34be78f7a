//! Loopback proxies between a door and its nodes. A rule decides what happens to the bytes.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// Direction of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    ToNode,
    ToDoor,
}

/// Called with bytes that are about to pass; they pass when it returns. False ends the connection.
pub(crate) trait Rule: FnMut(Way, &[u8]) -> bool + Send + 'static {}

impl<F: FnMut(Way, &[u8]) -> bool + Send + 'static> Rule for F {}

/// Listens before a node until the test ends. `rule` makes a rule for each direction of each connection, from the
/// connection's number. Returns the address.
pub(crate) fn proxy<R: Rule>(
    node: String,
    rule: impl Fn(usize, Way) -> R + Send + 'static,
) -> String {
    proxy_at("127.0.0.1:0", node, rule)
}

/// Listens before a node as [`proxy`] does, at this address.
pub(crate) fn proxy_at<R: Rule>(
    listen: &str,
    node: String,
    rule: impl Fn(usize, Way) -> R + Send + 'static,
) -> String {
    let listener = TcpListener::bind(listen).expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    thread::spawn(move || {
        for (number, door) in listener.incoming().enumerate() {
            let Ok(door) = door else { return };
            // The node may be down.
            let Ok(node) = TcpStream::connect(&node) else { continue };
            let ways = [(Way::ToNode, &door, &node), (Way::ToDoor, &node, &door)];
            for (way, from, to) in ways {
                let ends = (from.try_clone().expect("a copy"), to.try_clone().expect("a copy"));
                let rule = rule(number, way);
                thread::spawn(move || pass(way, ends, rule));
            }
        }
    });
    address
}

fn pass(way: Way, (mut from, mut to): (TcpStream, TcpStream), mut rule: impl Rule) {
    let _ = to.set_nodelay(true);
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(len @ 1..) = from.read(&mut bytes) {
        if !rule(way, &bytes[..len]) || to.write_all(&bytes[..len]).is_err() {
            break;
        }
    }
    // The other direction ends too.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

/// Holds back writes of entities until they are released.
#[derive(Clone, Default)]
pub(crate) struct Hold(Arc<(Mutex<Held>, Condvar)>);

#[derive(Default)]
struct Held {
    count: usize,
    is_over: bool,
}

impl Hold {
    /// Returns the rule for one direction of one connection.
    pub(crate) fn rule(&self) -> impl Rule + use<> {
        let hold = self.clone();
        move |way, bytes: &[u8]| {
            if way == Way::ToNode && bytes.windows(10).any(|name| name == b"ENTITY.PUT") {
                hold.wait();
            }
            true
        }
    }

    fn wait(&self) {
        let (held, changed) = &*self.0;
        let mut held = held.lock().expect("no panic");
        held.count += 1;
        changed.notify_all();
        drop(changed.wait_while(held, |held| !held.is_over).expect("no panic"));
    }

    /// Waits until this many writes are held back.
    pub(crate) fn wait_for(&self, count: usize) {
        let (held, changed) = &*self.0;
        let held = held.lock().expect("no panic");
        drop(changed.wait_while(held, |held| held.count < count).expect("no panic"));
    }

    pub(crate) fn let_go(&self) {
        let (held, changed) = &*self.0;
        held.lock().expect("no panic").is_over = true;
        changed.notify_all();
    }
}
