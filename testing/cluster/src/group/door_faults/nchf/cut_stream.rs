//! A socket that its client cuts after some bytes in one direction, wherever this is in a frame.

use scurry_model::Random;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Bounds of the longest length before a cut are this and 64 times as much, bytes.
const CUT_MIN: i64 = 16 * 1024;

/// What may go through a socket, and how it ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// Bytes to be read and to be written. None for any number.
    read: Option<u64>,
    written: Option<u64>,
    /// The socket is reset, not closed.
    is_reset: bool,
}

impl Budget {
    /// Draws a budget: up to 16 KiB to 1 MiB in one direction, or none in one of four cases.
    pub(super) fn draw(random: &mut Random) -> Budget {
        let most = CUT_MIN << random.below(7);
        let len = u64::try_from(random.between(1, most)).ok();
        let (read, written) = match random.below(4) {
            0 => (None, None),
            1 => (len, None),
            _ => (None, len),
        };
        Budget { read, written, is_reset: random.one_in(2) }
    }
}

pub(super) struct CutStream {
    stream: TcpStream,
    budget: Budget,
    is_cut: Arc<AtomicBool>,
}

impl CutStream {
    pub(super) fn new(stream: TcpStream, budget: Budget) -> io::Result<CutStream> {
        if budget.is_reset {
            stream.set_zero_linger()?;
        }
        Ok(CutStream { stream, budget, is_cut: Arc::default() })
    }

    /// Returns what tells that the client has cut it.
    pub(super) fn is_cut(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_cut)
    }

    /// Returns how many of these bytes may go through. An error is the cut: the owner drops the socket.
    fn within(&self, left: Option<u64>, len: usize) -> io::Result<usize> {
        match left {
            None => Ok(len),
            Some(0) => {
                self.is_cut.store(true, Ordering::Relaxed);
                Err(ErrorKind::ConnectionReset.into())
            }
            Some(left) => Ok(len.min(usize::try_from(left).unwrap_or(usize::MAX))),
        }
    }
}

fn spend(left: &mut Option<u64>, len: usize) {
    if let Some(left) = left {
        *left -= len as u64;
    }
}

impl AsyncRead for CutStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let len = self.within(self.budget.read, into.remaining())?;
        let mut part = ReadBuf::new(into.initialize_unfilled_to(len));
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut part))?;
        let len = part.filled().len();
        into.advance(len);
        spend(&mut self.budget.read, len);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for CutStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let len = self.within(self.budget.written, bytes.len())?;
        let len = ready!(Pin::new(&mut self.stream).poll_write(context, &bytes[..len]))?;
        spend(&mut self.budget.written, len);
        Poll::Ready(Ok(len))
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
    use std::future::poll_fn;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// Returns what a peer reads of ten bytes, and how many of its ten bytes are read, within a budget.
    fn exchanged(read: Option<u64>, written: Option<u64>, is_reset: bool) -> (usize, usize) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let stream = TcpStream::connect(address).await.expect("it listens");
            let (mut peer, _) = listener.accept().expect("a connection");
            peer.write_all(&[1; 10]).expect("it is sent");
            let budget = Budget { read, written, is_reset };
            let mut stream = CutStream::new(stream, budget).expect("a stream");
            let is_cut = stream.is_cut();
            let (mut sent, mut received) = (0, 0);
            while sent < 10
                && let Ok(len) =
                    poll_fn(|context| Pin::new(&mut stream).poll_write(context, &[2; 10][sent..]))
                        .await
            {
                sent += len;
            }
            let mut bytes = [0; 10];
            while received < 10 {
                let mut into = ReadBuf::new(&mut bytes[received..]);
                let read = poll_fn(|context| Pin::new(&mut stream).poll_read(context, &mut into));
                if read.await.is_err() {
                    break;
                }
                received += into.filled().len();
            }
            assert_eq!(is_cut.load(Ordering::Relaxed), sent + received < 20);
            // What was read leaves nothing that would make the end a reset.
            drop(stream);
            let mut all = Vec::new();
            let end = peer.read_to_end(&mut all);
            assert_eq!(end.is_err(), is_reset || received < 10, "{end:?}");
            (if is_reset { sent } else { all.len() }, received)
        })
    }

    #[test]
    fn a_stream_is_cut_after_its_bytes() {
        assert_eq!(exchanged(None, None, false), (10, 10));
        assert_eq!(exchanged(None, Some(4), false), (4, 10));
        assert_eq!(exchanged(None, Some(4), true), (4, 10));
        assert_eq!(exchanged(Some(3), None, true), (10, 3));
    }
}
