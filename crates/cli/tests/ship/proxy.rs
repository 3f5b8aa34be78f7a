//! A way to a broker that can be cut.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// A listener that carries bytes to another port and back.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    sockets: Mutex<Vec<TcpStream>>,
    /// Whether answers are lost.
    is_mute: AtomicBool,
    /// Bytes of answers that were lost.
    lost: AtomicU64,
}

impl Proxy {
    /// Starts a proxy to this port.
    pub(crate) fn start(to: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // The broker may be down: the client is told so by the end of its connection.
                let Ok(server) = TcpStream::connect(("127.0.0.1", to)) else { continue };
                let both = [&client, &server].map(|socket| socket.try_clone().expect("a socket"));
                let [back, there] = both;
                let mut sockets = shared.sockets.lock().expect("no panic");
                sockets.push(client.try_clone().expect("a socket"));
                sockets.push(server.try_clone().expect("a socket"));
                drop(sockets);
                let state = Arc::clone(&shared);
                thread::spawn(move || carry(client, there, None));
                thread::spawn(move || carry(server, back, Some(&state)));
            }
        });
        Proxy { port, state }
    }

    /// Ends all connections.
    pub(crate) fn cut(&self) {
        self.state.is_mute.store(false, Ordering::SeqCst);
        for socket in self.state.sockets.lock().expect("no panic").drain(..) {
            // Its other end may have closed it.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Loses the answers of the broker until the next cut.
    pub(crate) fn mute(&self) {
        self.state.is_mute.store(true, Ordering::SeqCst);
    }

    /// Returns how many bytes of answers were lost.
    pub(crate) fn lost(&self) -> u64 {
        self.state.lost.load(Ordering::SeqCst)
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, mute: Option<&State>) {
    let mut bytes = [0; 1 << 16];
    while let Ok(len @ 1..) = from.read(&mut bytes) {
        if let Some(state) = mute.filter(|state| state.is_mute.load(Ordering::SeqCst)) {
            state.lost.fetch_add(len as u64, Ordering::SeqCst);
        } else if to.write_all(&bytes[..len]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
