//! Failures of requests in words, with the cure, and which of them may pass by themselves.

use crate::HttpTarget;
use scurry_ship::SinkError;
use std::error::Error;
use std::io;
use std::time::Duration;

/// Describes a name that is not found, or a connection that is not made.
pub(crate) fn connect_fault(target: &HttpTarget, error: &io::Error) -> SinkError {
    SinkError::Unavailable(format!(
        "no connection to {target}: {error}. Check the receiver, the name and the network"
    ))
}

/// Describes a failed handshake of TLS.
pub(crate) fn tls_fault(target: &HttpTarget, error: &io::Error) -> SinkError {
    match error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) {
        true => SinkError::Refused(format!(
            "no TLS with {target}: {error}. Check its certificate, --to-cacert, and whether the port wants http"
        )),
        false => connect_fault(target, error),
    }
}

/// Describes a request without an answer.
pub(crate) fn exchange_fault(target: &HttpTarget, error: &hyper::Error) -> SinkError {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        words = format!("{words}: {cause}");
        source = cause.source();
    }
    match error.is_parse() {
        true => SinkError::Refused(format!(
            "{target} does not answer as HTTP/1.1 has it ({words}): check the port, and whether it wants https"
        )),
        false => SinkError::Unavailable(format!(
            "{target} did not answer: {words}. Check the receiver and the network"
        )),
    }
}

/// Describes an answer that did not come in time.
pub(crate) fn late(target: &HttpTarget, patience: Duration) -> SinkError {
    SinkError::Unavailable(format!(
        "{target} did not answer in {} ms: let it answer before it works on the event, or give it more time \
         (--timeout-ms)",
        patience.as_millis()
    ))
}

/// Describes a fault of a file.
pub(crate) fn file_fault(path: &std::path::Path, error: &io::Error) -> SinkError {
    let text = format!("{}: {error}", path.display());
    match error.kind() {
        io::ErrorKind::NotFound
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem => {
            SinkError::Refused(format!("{text}: check the path, and who may write there"))
        }
        _ => SinkError::Unavailable(format!("{text}: check the disk")),
    }
}
