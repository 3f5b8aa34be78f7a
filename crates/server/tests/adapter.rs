//! The seam for adapters, with one that is a piece of memory: connections are accepted, given to the threads, read,
//! reported, and closed.

use scurry_server::{
    Adapter, AdapterConnection, AdapterCount, AdapterReport, AdapterRequest, Arrival, CoreAdapter,
    DESCRIPTORS, OpenAdapter, Server, Settings, Users, WithConnection,
};
use std::any::Any;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// Both directions of a connection.
#[derive(Debug, Default)]
struct Pipe {
    bytes: Mutex<Bytes>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Bytes {
    to_server: Vec<u8>,
    from_server: Vec<u8>,
    /// The server has said that nothing more comes.
    is_finished: bool,
    is_closed: bool,
}

impl Pipe {
    fn lock(&self) -> MutexGuard<'_, Bytes> {
        self.bytes.lock().expect("no panic")
    }
}

/// Wakes the threads of the server.
type Bells = Arc<Mutex<Vec<UnixStream>>>;

/// The client's end of a connection.
struct Client {
    pipe: Arc<Pipe>,
    bells: Bells,
}

impl Client {
    fn send(&self, request: &str) {
        self.pipe.lock().to_server.extend(request.as_bytes());
        for bell in self.bells.lock().expect("no panic").iter_mut() {
            bell.write_all(b"!").expect("it listens");
        }
    }

    /// Waits for this text or the end of the connection. Returns all received text.
    fn wait_for(&self, end: &str) -> String {
        let lacks = |bytes: &mut Bytes| {
            !String::from_utf8_lossy(&bytes.from_server).contains(end) && !bytes.is_closed
        };
        let mut bytes = self.pipe.changed.wait_while(self.pipe.lock(), lacks).expect("no panic");
        String::from_utf8(std::mem::take(&mut bytes.from_server)).expect("text")
    }
}

const ADDRESS: ([u8; 4], u16) = ([127, 0, 0, 1], 1);

/// An adapter to which these connections come.
#[derive(Debug)]
struct Memory {
    pipes: Vec<Arc<Pipe>>,
    bells: Bells,
}

impl Adapter for Memory {
    fn listen(&self) -> SocketAddr {
        ADDRESS.into()
    }

    fn open(&self, cores: u16, _: usize) -> Result<OpenAdapter, String> {
        let mut waiting = self.pipes.clone();
        let mut all: Vec<Box<dyn CoreAdapter>> = Vec::new();
        for _ in 0..cores {
            let (bell, ear) = UnixStream::pair().map_err(|error| error.to_string())?;
            ear.set_nonblocking(true).map_err(|error| error.to_string())?;
            self.bells.lock().expect("no panic").push(bell);
            let waiting = std::mem::take(&mut waiting);
            all.push(Box::new(Core { ear, waiting, open: BTreeMap::new(), closed: 0 }));
        }
        Ok(OpenAdapter { address: ADDRESS.into(), cores: all })
    }
}

struct Core {
    ear: UnixStream,
    /// Connections that the core has not taken yet.
    waiting: Vec<Arc<Pipe>>,
    open: BTreeMap<usize, Arc<Pipe>>,
    closed: u64,
}

impl Core {
    /// Tells connections about received bytes. Returns the number of connections.
    fn tell_all(&self, tell: &mut WithConnection<'_>) -> usize {
        let has_news = |pipe: &Pipe| {
            let bytes = pipe.lock();
            bytes.is_finished || !bytes.to_server.is_empty()
        };
        let mut told = 0;
        for (key, _) in self.open.iter().filter(|(_, pipe)| has_news(pipe)) {
            tell(*key, &mut |connection, _| {
                let any: &mut dyn Any = connection;
                assert!(any.is::<Connection>(), "its own");
                told += 1;
            });
        }
        told
    }
}

impl CoreAdapter for Core {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn descriptors(&self) -> [Option<RawFd>; DESCRIPTORS] {
        [None, Some(self.ear.as_raw_fd()), None]
    }

    fn readable(
        &mut self,
        descriptor: usize,
        _: &mut WithConnection<'_>,
    ) -> io::Result<Vec<AdapterRequest>> {
        assert_eq!(descriptor, 1, "there is no other");
        while self.ear.read(&mut [0; 64]).is_ok_and(|len| len > 0) {}
        let peer = ([127, 0, 0, 1], 2).into();
        let request = |pipe| AdapterRequest { peer, request: Box::new(pipe) };
        Ok(std::mem::take(&mut self.waiting).into_iter().map(request).collect())
    }

    fn poll(&mut self, _: u64, tell: &mut WithConnection<'_>) -> io::Result<()> {
        self.tell_all(tell);
        Ok(())
    }

    fn may_wait(&mut self, _: u64, tell: &mut WithConnection<'_>) -> io::Result<bool> {
        Ok(self.tell_all(tell) == 0)
    }

    fn accept(
        &mut self,
        request: AdapterRequest,
        key: usize,
        _: i64,
    ) -> io::Result<Box<dyn AdapterConnection>> {
        let pipe = *request.request.downcast::<Arc<Pipe>>().expect("its own");
        self.open.insert(key, Arc::clone(&pipe));
        Ok(Box::new(Connection { pipe, key, input: Vec::new(), output: Vec::new(), formed: 0 }))
    }

    fn address(&self) -> SocketAddr {
        ADDRESS.into()
    }

    fn due(&mut self, _: i64) -> Vec<usize> {
        self.open.keys().copied().collect()
    }

    fn forget(&mut self, connection: &mut dyn AdapterConnection) {
        let any: &mut dyn Any = connection;
        let connection: &mut Connection = any.downcast_mut().expect("its own");
        self.open.remove(&connection.key).expect("it was open");
        self.closed += 1;
    }

    fn stop_listening(&mut self) {
        self.waiting.clear();
    }

    fn report(&self, open: &mut dyn Iterator<Item = &dyn AdapterConnection>) -> AdapterReport {
        let (name, help) = ("scurry_rdma_closed_total", "Closed connections.");
        let connections = open.count() as u64;
        let counts = vec![AdapterCount { name, help, value: self.closed }];
        AdapterReport { connections, pinned_bytes: 10 * connections, counts }
    }
}

struct Connection {
    pipe: Arc<Pipe>,
    key: usize,
    input: Vec<u8>,
    output: Vec<u8>,
    formed: usize,
}

impl AdapterConnection for Connection {
    fn progress(&mut self) -> io::Result<Arrival> {
        let mut bytes = self.pipe.lock();
        if bytes.is_finished {
            return Ok(Arrival::End);
        }
        let len = bytes.to_server.len();
        self.input.append(&mut bytes.to_server);
        Ok(Arrival::Drained(len))
    }

    fn input(&self) -> &[u8] {
        &self.input
    }

    fn parts(&mut self) -> (&[u8], &mut Vec<u8>) {
        (&self.input, &mut self.output)
    }

    fn consume(&mut self, len: usize) {
        self.input.drain(..len);
    }

    fn commit(&mut self) {
        self.formed = self.output.len();
    }

    fn publish(&mut self) -> io::Result<bool> {
        let formed = self.output.drain(..std::mem::take(&mut self.formed));
        self.pipe.lock().from_server.extend(formed);
        self.pipe.changed.notify_all();
        Ok(true)
    }

    fn unsent(&self) -> usize {
        self.formed
    }

    fn memory_bytes(&self) -> u64 {
        (self.input.capacity() + self.output.capacity()) as u64
    }

    fn release(&mut self) {}

    fn finish(&mut self) {
        self.pipe.lock().is_finished = true;
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn tick(&mut self, _: i64) -> bool {
        false
    }

    fn take_fault(&mut self) -> Option<String> {
        None
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.pipe.lock().is_closed = true;
        self.pipe.changed.notify_all();
    }
}

#[test]
fn connections_of_an_adapter_are_served_by_all_threads_and_reported() {
    let bells = Bells::default();
    let client = |_| Client { pipe: Arc::default(), bells: Arc::clone(&bells) };
    let clients: [Client; 3] = std::array::from_fn(client);
    let pipes = clients.iter().map(|client| Arc::clone(&client.pipe)).collect();
    let users = Users::new(None, &[]).expect("no users");
    let mut settings = Settings::new(([127, 0, 0, 1], 0).into(), users);
    settings.threads = 2;
    settings.adapter = Some(Arc::new(Memory { pipes, bells: Arc::clone(&bells) }));
    let server = Server::bind(settings, &|_| {}).expect("it listens");
    assert_eq!(server.adapter_addr(), Some(ADDRESS.into()));
    let server = std::thread::spawn(move || server.run());

    for (number, client) in clients.iter().enumerate() {
        client.send(&format!("SET key:{number} value\r\n"));
        assert_eq!(client.wait_for("\r\n"), "+OK\r\n");
    }
    let [first, second, third] = &clients;
    // Another thread has some of them.
    second.send("MGET key:0 key:1 key:2\r\n");
    let values = "*3\r\n$5\r\nvalue\r\n$5\r\nvalue\r\n$5\r\nvalue\r\n";
    assert_eq!(second.wait_for(values), values);
    first.send("QUIT\r\n");
    assert_eq!(first.wait_for("the end of the connection"), "+OK\r\n");
    third.send("INFO rdma\r\n");
    let info = third.wait_for("rdma_closed:1");
    for line in ["rdma_enabled:1", "rdma_connections:2", "rdma_pinned_bytes:20"] {
        assert!(info.contains(line), "{line} is not in {info}");
    }
    third.send("SHUTDOWN NOSAVE\r\n");
    server.join().expect("no panic").expect("it stops");
}
