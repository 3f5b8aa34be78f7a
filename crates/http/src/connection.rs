//! A connection: which version of HTTP its client speaks, the timeouts of reading and writing, and how it ends.

use crate::bounds::{ALPN_HTTP2, HEAD_LEN_MAX, HEAD_PATIENCE, HEADERS_MAX, TAKE_PATIENCE};
use crate::client::{Client, ConnectionEnd, Draining};
use crate::client_errors::ClientFault;
use crate::front::Tls;
use crate::http2;
use crate::preface::begins_with_preface;
use crate::traffic::HttpVersion;
use crate::write_timeout::WriteTimeoutStream;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// Serves a connection until it ends, or until it is drained.
pub(crate) async fn talk(
    client: &Arc<Client>,
    stream: TcpStream,
    tls: Option<Tls>,
    draining: Draining,
) -> ConnectionEnd {
    // Without TCP_NODELAY an answer may wait for the acknowledgement of the one before.
    stream.set_nodelay(true)?;
    let Some(tls) = tls else { return talk_plainly(client, stream, draining).await };
    match timeout(tls.patience, TlsAcceptor::from(tls.config()).accept(stream)).await {
        Ok(Ok(stream)) => {
            // RFC 9113 clause 3.2: over TLS only ALPN chooses HTTP/2.
            if stream.get_ref().1.alpn_protocol() == Some(ALPN_HTTP2) {
                Box::pin(converse2(client, stream, Vec::new(), draining)).await
            } else {
                converse1(client, stream, Vec::new(), draining).await
            }
        }
        Ok(Err(error)) => {
            client.tell(ClientFault::NoTls);
            Err(error.into())
        }
        Err(late) => {
            client.tell(ClientFault::NoTls);
            Err(late.into())
        }
    }
}

/// Serves a connection without TLS: its first bytes tell the version of HTTP (RFC 9113 clause 3.3).
pub(crate) async fn talk_plainly<S>(
    client: &Arc<Client>,
    mut stream: S,
    mut draining: Draining,
) -> ConnectionEnd
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut early = Vec::new();
    let begins = tokio::select! {
        begins = timeout(HEAD_PATIENCE, begins_with_preface(&mut stream, &mut early)) => begins??,
        _ = draining.changed() => return Ok(()),
    };
    if begins {
        // In a box, so that a connection of HTTP/1.1 has no room for it.
        Box::pin(converse2(client, stream, early, draining)).await
    } else {
        converse1(client, stream, early, draining).await
    }
}

/// Serves HTTP/1.1 on a connection until it ends. `early`: bytes that were read from the stream already.
async fn converse1<S>(
    client: &Client,
    stream: S,
    early: Vec<u8>,
    mut draining: Draining,
) -> ConnectionEnd
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    client.traffic.connection_of(HttpVersion::Http1);
    let stream = TokioIo::new(WriteTimeoutStream::new(stream, early, TAKE_PATIENCE));
    let service = service_fn(|request| async move {
        Ok::<_, Infallible>(client.answer(request, HttpVersion::Http1).await)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        // A client that has sent its request may close its sending side and still gets the answer.
        .half_close(true)
        .header_read_timeout(HEAD_PATIENCE)
        .max_buf_size(HEAD_LEN_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(stream, service);
    let mut connection = pin!(connection);
    tokio::select! {
        ended = &mut connection => return Ok(ended?),
        _ = draining.changed() => connection.as_mut().graceful_shutdown(),
    }
    Ok(connection.await?)
}

/// Serves HTTP/2 on a connection until it ends. `early`: bytes that were read from the stream already.
async fn converse2<S>(
    client: &Arc<Client>,
    stream: S,
    early: Vec<u8>,
    draining: Draining,
) -> ConnectionEnd
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    client.traffic.connection_of(HttpVersion::Http2);
    let stream = WriteTimeoutStream::new(stream, early, TAKE_PATIENCE);
    http2::serve(stream, Arc::clone(client), draining).await
}
