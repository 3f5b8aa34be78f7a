//! The kept runtime: tokio on one thread, a task per connection. Tasks wait for readiness and
//! then read into one shared buffer, so that an idle connection costs no buffer, as elsewhere.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::answer::Responder;
use crate::limits::{EVENTS_MAX, READ_LEN};

/// What the tasks of the one thread share.
struct Shared {
    responder: Responder,
    scratch: Vec<u8>,
}

/// Serves until it is killed. Its waits are the runtime's own: they are not in the counters.
pub(crate) fn serve(listener: TcpListener) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .max_io_events_per_tick(EVENTS_MAX)
        .build()?;
    let shared = Rc::new(RefCell::new(Shared {
        responder: Responder::default(),
        scratch: vec![0; READ_LEN],
    }));
    tokio::task::LocalSet::new().block_on(&runtime, async move {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        loop {
            let (stream, _) = listener.accept().await?;
            tokio::task::spawn_local(converse(stream, Rc::clone(&shared)));
        }
    })
}

/// The task of one connection. An error ends it, and the connection with it.
async fn converse(mut stream: TcpStream, shared: Rc<RefCell<Shared>>) -> io::Result<()> {
    let (mut pending, mut output) = (Vec::new(), Vec::new());
    loop {
        let receive = |context: &mut Context<'_>| {
            receive(context, &mut stream, &mut shared.borrow_mut(), &mut pending, &mut output)
        };
        if !poll_fn(receive).await? {
            return Ok(());
        }
        let mut sent = 0;
        while sent < output.len() {
            sent += poll_fn(|context| {
                shared.borrow_mut().responder.count_system_calls(1);
                Pin::new(&mut stream).poll_write(context, &output[sent..])
            })
            .await?;
        }
        output.clear();
    }
}

/// Reads once and answers. False at the end of the stream. Reading through the trait lets tokio
/// conclude from a short read that the socket is empty; `try_read` would ask it once more.
fn receive(
    context: &mut Context<'_>,
    stream: &mut TcpStream,
    shared: &mut Shared,
    pending: &mut Vec<u8>,
    output: &mut Vec<u8>,
) -> Poll<io::Result<bool>> {
    let mut buffer = ReadBuf::new(&mut shared.scratch);
    ready!(Pin::new(stream).poll_read(context, &mut buffer))?;
    shared.responder.count_system_calls(1);
    let bytes = buffer.filled();
    if bytes.is_empty() {
        return Poll::Ready(Ok(false));
    }
    let invalid = |_| io::Error::from(ErrorKind::InvalidData);
    if pending.is_empty() {
        let done = shared.responder.answer(bytes, output).map_err(invalid)?;
        pending.extend_from_slice(&bytes[done..]);
    } else {
        pending.extend_from_slice(bytes);
        let done = shared.responder.answer(pending, output).map_err(invalid)?;
        pending.drain(..done);
    }
    Poll::Ready(Ok(true))
}
