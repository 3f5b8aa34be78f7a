//! A receiver of CloudEvents over HTTP, which can be killed and can fail now and then.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// A receiver, which has what it was sent also after it was killed.
pub(crate) struct Receiver {
    pub(crate) port: u16,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    /// What was sent, also repeats.
    events: Mutex<Vec<Value>>,
    requests: AtomicUsize,
    open: Mutex<Vec<TcpStream>>,
    is_down: AtomicBool,
    /// After how many requests one fails; 0 for none.
    fails_every: AtomicUsize,
}

impl Receiver {
    pub(crate) fn start() -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let mut receiver = Receiver { port, shared: Arc::default(), thread: None };
        receiver.serve(listener);
        receiver
    }

    fn serve(&mut self, listener: TcpListener) {
        let shared = Arc::clone(&self.shared);
        shared.is_down.store(false, SeqCst);
        self.thread = Some(thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if shared.is_down.load(SeqCst) {
                    return;
                }
                let shared = Arc::clone(&shared);
                shared.open.lock().expect("no fault").push(stream.try_clone().expect("a socket"));
                thread::spawn(move || take(stream, &shared));
            }
        }));
    }

    /// Closes its port and all connections. What it has received it keeps, whether it has answered or not.
    pub(crate) fn kill(&mut self) {
        self.shared.is_down.store(true, SeqCst);
        // This ends the wait for a connection.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
        self.thread.take().expect("it runs").join().expect("it has no fault");
        self.cut();
    }

    /// Opens its port again.
    pub(crate) fn begin(&mut self) {
        self.serve(TcpListener::bind(("127.0.0.1", self.port)).expect("its port"));
    }

    /// Cuts all connections, and returns how many there were.
    pub(crate) fn cut(&self) -> usize {
        let cut = std::mem::take(&mut *self.shared.open.lock().expect("no fault"));
        // Those that have ended already stay ended.
        cut.iter().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
        cut.len()
    }

    /// Lets each request after so many fail.
    pub(crate) fn fail_every(&self, requests: usize) {
        self.shared.fails_every.store(requests, SeqCst);
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook", self.port)
    }

    pub(crate) fn count(&self) -> usize {
        self.shared.events.lock().expect("no fault").len()
    }

    /// Returns the ids by thread, as a consumer has them which leaves out repeats by source and id.
    pub(crate) fn once(&self, threads: u16) -> Vec<Vec<String>> {
        let mut ids = vec![Vec::new(); usize::from(threads)];
        let mut seen = std::collections::BTreeSet::new();
        for event in &*self.shared.events.lock().expect("no fault") {
            let text = |name: &str| event[name].as_str().expect(name).to_owned();
            let (source, id) = (text("source"), text("id"));
            if !seen.insert((source, id.clone())) {
                continue;
            }
            let thread = id.split(['.', ':']).nth(1).and_then(|digits| digits.parse().ok());
            ids[thread.unwrap_or(0_usize)].push(id);
        }
        ids
    }
}

fn take(mut stream: TcpStream, shared: &Shared) {
    let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
    loop {
        let (mut len, mut line) = (0, String::new());
        while reader.read_line(&mut line).is_ok_and(|len| len > 2) {
            if let Some(text) = line.to_lowercase().strip_prefix("content-length: ") {
                len = text.trim().parse().expect("a number");
            }
            line.clear();
        }
        let mut body = vec![0; len];
        if len == 0 || reader.read_exact(&mut body).is_err() {
            return;
        }
        let number = shared.requests.fetch_add(1, SeqCst);
        let every = shared.fails_every.load(SeqCst);
        let fault = if every > 0 && number % every == every - 1 { number / every % 3 } else { 3 };
        if fault == 0 {
            // Nothing was taken.
            if stream.write_all(b"HTTP/1.1 503 Full\r\nContent-Length: 0\r\n\r\n").is_err() {
                return;
            }
            continue;
        }
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        let taken = match body {
            Value::Array(events) => events,
            event => vec![event],
        };
        shared.events.lock().expect("no fault").extend(taken);
        let answer: &[u8] = match fault {
            // It has the events, and does not say so.
            1 => return,
            2 => b"HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n",
            _ => b"HTTP/1.1 204 No Content\r\n\r\n",
        };
        if stream.write_all(answer).is_err() {
            return;
        }
    }
}
