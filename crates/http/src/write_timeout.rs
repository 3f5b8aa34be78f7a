//! A stream with a write timeout. Without it a client that sends requests and reads no answers would keep its
//! connection for ever.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// Parts of a write up to this length are copied and written as one, bytes: that costs less than a vectored write.
const TOGETHER_LEN: usize = 1024;

/// A stream that fails when its peer reads nothing for `patience`.
pub(crate) struct WriteTimeoutStream<S> {
    stream: S,
    /// Bytes that were read from the stream already, and are read first.
    early: Vec<u8>,
    patience: Duration,
    /// Timer that runs while a write waits for the peer.
    limit: Option<Pin<Box<Sleep>>>,
}

impl<S> WriteTimeoutStream<S> {
    pub(crate) fn new(stream: S, early: Vec<u8>, patience: Duration) -> WriteTimeoutStream<S> {
        WriteTimeoutStream { stream, early, patience, limit: None }
    }

    /// Returns the stream's result, or a timeout when it has been pending for too long.
    fn judge<T>(
        &mut self,
        said: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        // Progress of any size restarts the timeout.
        if said.is_ready() {
            self.limit = None;
            return said;
        }
        let patience = self.patience;
        let limit =
            self.limit.get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + patience)));
        ready!(limit.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.early.is_empty() {
            let len = room.remaining().min(self.early.len());
            room.put_slice(&self.early[..len]);
            self.early.drain(..len);
            if self.early.is_empty() {
                self.early = Vec::new();
            }
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_read(context, room)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeoutStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let said = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(said, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let said = if len > TOGETHER_LEN {
            Pin::new(&mut self.stream).poll_write_vectored(context, parts)
        } else {
            let (mut together, mut at) = ([0; TOGETHER_LEN], 0);
            for part in parts {
                together[at..at + part.len()].copy_from_slice(part);
                at += part.len();
            }
            Pin::new(&mut self.stream).poll_write(context, &together[..at])
        };
        self.judge(said, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let said = Pin::new(&mut self.stream).poll_flush(context);
        self.judge(said, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let said = Pin::new(&mut self.stream).poll_shutdown(context);
        self.judge(said, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    #[test]
    fn parts_arrive_in_their_order_whether_they_are_few_bytes_or_many() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.expect("a runtime").block_on(async {
            for len in [1, TOGETHER_LEN / 2, TOGETHER_LEN / 2 + 1, TOGETHER_LEN] {
                let (near, mut far) = duplex(4 * TOGETHER_LEN);
                let mut near = WriteTimeoutStream::new(near, Vec::new(), Duration::from_secs(60));
                let (one, other) = (vec![1; len], vec![2; len]);
                let parts = [io::IoSlice::new(&one), io::IoSlice::new(&other)];
                let sent = near.write_vectored(&parts).await.expect("there is room");
                drop(near);
                let mut taken = Vec::new();
                far.read_to_end(&mut taken).await.expect("it ends");
                assert_eq!(taken, [one, other].concat()[..sent]);
                assert!(sent == 2 * len || len > TOGETHER_LEN / 2, "few bytes go as one");
            }
        });
    }

    #[test]
    fn who_takes_nothing_is_given_up_and_who_takes_slowly_is_not() {
        // The paused clock advances when every task waits, however slow the machine is.
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(async {
            let patience = Duration::from_millis(200);
            let (near, mut far) = duplex(16);
            let mut near = WriteTimeoutStream::new(near, Vec::new(), patience);
            let slow = tokio::spawn(async move {
                let mut taken = [0; 8];
                for _ in 0..8 {
                    tokio::time::sleep(patience / 4).await;
                    far.read_exact(&mut taken).await.expect("it is there");
                }
                far
            });
            near.write_all(&[7; 64]).await.expect("it is taken in time, piece by piece");
            let _far = slow.await.expect("the reader ends");
            near.write_all(&[7; 16]).await.expect("there is room");
            let error = near.write_all(&[7]).await.expect_err("nobody reads");
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        });
    }
}
