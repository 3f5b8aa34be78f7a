//! The bytes that the peer has not taken yet. What is ready together is written together.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::AsyncWrite;

/// Memory that an empty output keeps, bytes.
const KEPT_LEN_MAX: usize = 64 * 1024;

/// A buffer whose first `sent` bytes were written.
#[derive(Debug, Default)]
pub(super) struct Output {
    buffer: Vec<u8>,
    sent: usize,
    /// True if TLS may still hold bytes back.
    is_unflushed: bool,
}

impl Output {
    /// Returns the buffer, to append to.
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Returns the number of bytes that are not written.
    pub(super) fn len(&self) -> usize {
        self.buffer.len() - self.sent
    }

    /// Reports whether the peer has got everything, as far as the system knows.
    pub(super) fn is_done(&self) -> bool {
        self.len() == 0 && !self.is_unflushed
    }

    /// Writes. Ready when it has written something, or when nothing is left.
    pub(super) fn poll_write<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        task: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if self.len() > 0 {
            let written =
                ready!(Pin::new(&mut *stream).poll_write(task, &self.buffer[self.sent..]))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.is_unflushed = true;
            self.sent += written;
            self.compact();
            return Poll::Ready(Ok(()));
        }
        if self.is_unflushed {
            ready!(Pin::new(stream).poll_flush(task))?;
            self.is_unflushed = false;
        }
        Poll::Ready(Ok(()))
    }

    /// Removes what was written, when that is at least as much as what is moved.
    fn compact(&mut self) {
        if self.len() == 0 {
            self.buffer.clear();
            self.buffer.shrink_to(KEPT_LEN_MAX);
        } else if self.sent >= self.len() {
            self.buffer.drain(..self.sent);
        } else {
            return;
        }
        self.sent = 0;
    }
}
