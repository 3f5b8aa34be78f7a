//! A stand-in for a peer that breaks HTTP: it writes the bytes that a test gives it.

use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

const PREFACE_LEN: usize = 24;
const HEAD_LEN: usize = 9;
/// Types and flags of frames: RFC 9113, 6.
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;
/// `:status: 200` and `:status: 204` in HPACK: RFC 7541, appendix A.
pub(crate) const STATUS_200: u8 = 0x88;
pub(crate) const STATUS_204: u8 = 0x89;

/// The server. Connections are counted from 1.
pub(crate) struct RawPeer {
    pub(crate) address: SocketAddr,
    connections: watch::Sender<usize>,
}

impl RawPeer {
    /// Starts a server on this machine, which lets a function write to each connection, and closes it after that.
    pub(crate) async fn start<F>(talk: impl Fn(usize, Peer) -> F + Send + Sync + 'static) -> RawPeer
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let socket = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = socket.local_addr().expect("an address");
        let connections = watch::Sender::new(0);
        let (counted, talk) = (connections.clone(), Arc::new(talk));
        tokio::spawn(async move {
            while let Ok((stream, _)) = socket.accept().await {
                counted.send_modify(|count| *count += 1);
                let number = *counted.borrow();
                tokio::spawn(talk(number, Peer(stream)));
            }
        });
        RawPeer { address, connections }
    }

    pub(crate) fn connections(&self) -> usize {
        *self.connections.borrow()
    }

    pub(crate) fn uri(&self) -> String {
        format!("http://{}/", self.address)
    }
}

/// One connection.
pub(crate) struct Peer(TcpStream);

impl Peer {
    /// Writes bytes; false once the client has closed the connection.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> bool {
        self.0.write_all(bytes).await.is_ok()
    }

    /// Writes a frame of HTTP/2; false once the client has closed the connection.
    pub(crate) async fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> bool {
        let len = u32::try_from(payload.len()).expect("it is short").to_be_bytes();
        let mut bytes = vec![len[1], len[2], len[3], kind, flags];
        bytes.extend(stream.to_be_bytes());
        bytes.extend(payload);
        self.write(&bytes).await
    }

    /// Begins HTTP/2 and reads until the head of a request. Returns the number of its stream.
    pub(crate) async fn request(&mut self) -> u32 {
        self.0.read_exact(&mut [0; PREFACE_LEN]).await.expect("a preface");
        self.frame(SETTINGS, 0, 0, &[]).await;
        self.next_request().await
    }

    /// Reads until the head of a request. Returns the number of its stream.
    pub(crate) async fn next_request(&mut self) -> u32 {
        loop {
            let mut head = [0; HEAD_LEN];
            self.0.read_exact(&mut head).await.expect("a frame");
            let len = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; usize::try_from(len).expect("a length")];
            self.0.read_exact(&mut payload).await.expect("a payload");
            if head[3] == HEADERS {
                return u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            }
        }
    }

    /// Reads until the client closes the connection.
    pub(crate) async fn wait_end(&mut self) {
        let mut part = [0; 1024];
        while self.0.read(&mut part).await.is_ok_and(|len| len > 0) {}
    }
}

/// Returns a header in HPACK, of short texts: RFC 7541, 6.2.2.
pub(crate) fn header(name: &str, value: &str) -> Vec<u8> {
    let len = |text: &str| u8::try_from(text.len()).expect("it is short");
    [&[0, len(name)], name.as_bytes(), &[len(value)], value.as_bytes()].concat()
}
