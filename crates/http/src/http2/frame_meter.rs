//! Counts the bytes that a client of HTTP/2 sends outside bodies. Frames such as SETTINGS, PING and PRIORITY cost the
//! client nothing and move nothing (CVE-2019-9512, CVE-2019-9515), and nothing else bounds how many a client sends.

use super::activity::Activity;
use crate::preface::PREFACE;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Length of the head of a frame, bytes (RFC 9113 clause 4.1): 3 of the length of its payload, one of its type, and 5.
const FRAME_HEAD_LEN: usize = 9;
/// Type of DATA frames.
const DATA: u8 = 0;

/// Follows the frames of a connection, wherever the reads divide them.
struct FrameMeter {
    /// Bytes of the preface that are still to come.
    preface_left: usize,
    head: [u8; FRAME_HEAD_LEN],
    head_len: usize,
    /// Bytes of the payload of the present frame that are still to come.
    payload_left: usize,
    is_counted: bool,
}

impl FrameMeter {
    fn new() -> FrameMeter {
        FrameMeter {
            preface_left: PREFACE.len(),
            head: [0; FRAME_HEAD_LEN],
            head_len: 0,
            payload_left: 0,
            is_counted: false,
        }
    }

    /// Returns how many of these bytes are of frames other than DATA. A DATA frame without a payload counts as well.
    fn count(&mut self, mut bytes: &[u8]) -> usize {
        let mut counted = 0;
        let len = self.preface_left.min(bytes.len());
        self.preface_left -= len;
        bytes = &bytes[len..];
        while !bytes.is_empty() {
            if self.payload_left > 0 {
                let len = self.payload_left.min(bytes.len());
                self.payload_left -= len;
                counted += if self.is_counted { len } else { 0 };
                bytes = &bytes[len..];
                continue;
            }
            let len = (FRAME_HEAD_LEN - self.head_len).min(bytes.len());
            self.head[self.head_len..self.head_len + len].copy_from_slice(&bytes[..len]);
            self.head_len += len;
            bytes = &bytes[len..];
            if self.head_len == FRAME_HEAD_LEN {
                let [high, middle, low, kind, ..] = self.head;
                self.head_len = 0;
                self.payload_left = u32::from_be_bytes([0, high, middle, low]) as usize;
                self.is_counted = kind != DATA || self.payload_left == 0;
                counted += if self.is_counted { FRAME_HEAD_LEN } else { 0 };
            }
        }
        counted
    }
}

/// A stream of a connection of HTTP/2, which fails when its client has sent too much outside bodies.
pub(super) struct MeteredStream<S> {
    stream: S,
    meter: FrameMeter,
    activity: Arc<Activity>,
}

impl<S> MeteredStream<S> {
    pub(super) fn new(stream: S, activity: Arc<Activity>) -> MeteredStream<S> {
        MeteredStream { stream, meter: FrameMeter::new(), activity }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for MeteredStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let begin = room.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, room))?;
        let counted = self.meter.count(&room.filled()[begin..]);
        if !self.activity.receive(counted) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for MeteredStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, len: usize) -> Vec<u8> {
        let [.., high, middle, low] = len.to_be_bytes();
        let mut frame = vec![high, middle, low, kind, 0, 0, 0, 0, 1];
        frame.resize(FRAME_HEAD_LEN + len, 0xff);
        frame
    }

    #[test]
    fn frames_other_than_data_count_wherever_reads_divide_them() {
        let ping = 6;
        let sent = [
            PREFACE.to_vec(),
            frame(4, 0),
            frame(DATA, 70_000),
            frame(ping, 8),
            frame(DATA, 0),
            frame(1, 300),
            frame(DATA, 1),
        ]
        .concat();
        for piece_len in [1, 2, 8, 9, 10, 1_000, 100_000] {
            let mut meter = FrameMeter::new();
            let counted: usize = sent.chunks(piece_len).map(|piece| meter.count(piece)).sum();
            assert_eq!(counted, 9 + (9 + 8) + 9 + (9 + 300), "in pieces of {piece_len}");
        }
    }
}
