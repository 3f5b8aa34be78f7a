//! A proxy before a broker, whose connections can be cut.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A proxy on a port of its own.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    pub(crate) fn start(to: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let open = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::clone(&open);
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                // A broker that is down closes the connection.
                let Ok(far) = TcpStream::connect(("127.0.0.1", to)) else { continue };
                let clone = |stream: &TcpStream| stream.try_clone().expect("a socket");
                connections.lock().expect("no fault").extend([clone(&near), clone(&far)]);
                let pairs = [(clone(&near), clone(&far)), (far, near)];
                for (mut from, mut to) in pairs {
                    thread::spawn(move || {
                        // Either side may end the connection at any time.
                        let _ = io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Proxy { port, open }
    }

    /// Cuts all connections, and returns how many there were.
    pub(crate) fn cut(&self) -> usize {
        let cut = std::mem::take(&mut *self.open.lock().expect("no fault"));
        // Those that have ended already stay ended.
        cut.iter().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
        cut.len() / 2
    }
}
