//! A client that sends frames of HTTP/2 by hand, whatever the protocol allows (RFC 9113 clause 4, RFC 7541).

use crate::preface::PREFACE;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, split};

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

/// ACK of SETTINGS and PING.
pub(super) const ACK: u8 = 1;
pub(super) const END_STREAM: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;

pub(super) const NO_ERROR: u32 = 0;
pub(super) const FLOW_CONTROL_ERROR: u32 = 3;
pub(super) const REFUSED_STREAM: u32 = 7;
pub(super) const CANCEL: u32 = 8;
pub(super) const ENHANCE_YOUR_CALM: u32 = 11;

/// A frame that the door has sent.
#[derive(Debug)]
pub(super) struct RawFrame {
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
    pub(super) payload: Vec<u8>,
}

impl RawFrame {
    /// Returns the error code of RST_STREAM or GOAWAY.
    pub(super) fn error(&self) -> u32 {
        let at = if self.kind == GOAWAY { 4 } else { 0 };
        u32::from_be_bytes(self.payload[at..at + 4].try_into().expect("four bytes"))
    }

    /// Returns the status of HEADERS if it is one that HPACK has an index for.
    pub(super) fn status(&self) -> Option<u16> {
        Some(match self.payload.first()? {
            0x88 => 200,
            0x89 => 204,
            0x8c => 400,
            0x8d => 404,
            _ => return None,
        })
    }
}

/// Returns the bytes of a frame.
pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, len @ ..] = u32::try_from(payload.len()).expect("it is short").to_be_bytes();
    [&len[..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Returns the header block of a request.
pub(super) fn head(method: u8, path: &str) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).expect("short")], text.as_bytes()].concat();
    // The method and the scheme by index; :path and :authority by the index of their names.
    [&[method, 0x86, 0x04][..], &text(path), &[0x01], &text("localhost")].concat()
}

/// Index of `:method: GET`.
pub(super) const GET: u8 = 0x82;
/// Index of `:method: POST`.
pub(super) const POST: u8 = 0x83;

pub(super) struct RawClient {
    reads: ReadHalf<DuplexStream>,
    writes: WriteHalf<DuplexStream>,
}

/// Returns the next frame; None when the connection has ended.
async fn next(reads: &mut ReadHalf<DuplexStream>) -> Option<RawFrame> {
    let mut head = [0; 9];
    reads.read_exact(&mut head).await.ok()?;
    let [high, middle, low, kind, flags, stream @ ..] = head;
    let len = u32::from_be_bytes([0, high, middle, low]) as usize;
    let mut payload = vec![0; len];
    reads.read_exact(&mut payload).await.ok()?;
    Some(RawFrame { kind, flags, stream: u32::from_be_bytes(stream), payload })
}

impl RawClient {
    /// Returns a client that has sent nothing.
    pub(super) fn new(stream: DuplexStream) -> RawClient {
        let (reads, writes) = split(stream);
        RawClient { reads, writes }
    }

    /// Sends the preface and the first SETTINGS.
    pub(super) async fn begin(stream: DuplexStream) -> RawClient {
        RawClient::begin_with(stream, &[]).await
    }

    /// Sends the preface and these first SETTINGS.
    pub(super) async fn begin_with(stream: DuplexStream, settings: &[u8]) -> RawClient {
        let mut client = RawClient::new(stream);
        client.send(&[PREFACE, &frame(SETTINGS, 0, 0, settings)].concat()).await;
        client
    }

    /// Sends bytes. The door may have ended the connection.
    pub(super) async fn send(&mut self, bytes: &[u8]) {
        let _ = self.writes.write_all(bytes).await;
    }

    pub(super) async fn get(&mut self, stream: u32, path: &str) {
        let flags = END_STREAM | END_HEADERS;
        self.send(&frame(HEADERS, flags, stream, &head(GET, path))).await;
    }

    /// Returns the next frame; None when the connection has ended.
    pub(super) async fn next(&mut self) -> Option<RawFrame> {
        next(&mut self.reads).await
    }

    /// Sends these frames a number of times, then PING, and reads meanwhile. Returns whether the PING was answered.
    pub(super) async fn flood(&mut self, frames: &[u8], times: usize) -> bool {
        let last = *b"the last";
        let (reads, writes) = (&mut self.reads, &mut self.writes);
        let sending = async {
            for _ in 0..times {
                if writes.write_all(frames).await.is_err() {
                    return;
                }
            }
            let _ = writes.write_all(&frame(PING, 0, 0, &last)).await;
        };
        let reading = async {
            while let Some(frame) = next(reads).await {
                if frame.kind == PING && frame.payload == last {
                    return true;
                }
            }
            false
        };
        tokio::join!(sending, reading).1
    }

    /// Returns the next frame of a kind, and drops those before.
    pub(super) async fn next_of(&mut self, kind: u8) -> Option<RawFrame> {
        loop {
            let frame = self.next().await?;
            if frame.kind == kind {
                return Some(frame);
            }
        }
    }

    /// Sends PING and checks that it is answered. Drops the frames before.
    pub(super) async fn is_served(&mut self) {
        let payload = *b"question";
        self.send(&frame(PING, 0, 0, &payload)).await;
        let answer = self.next_of(PING).await.expect("the connection goes on");
        assert_eq!((answer.flags, &answer.payload[..]), (ACK, &payload[..]));
    }

    /// Checks that the door ends the connection, and returns the error code of its GOAWAY, if it has sent one.
    pub(super) async fn is_ended(&mut self) -> Option<u32> {
        let mut error = None;
        while let Some(frame) = self.next().await {
            if frame.kind == GOAWAY {
                error = Some(frame.error());
            }
        }
        error
    }
}
