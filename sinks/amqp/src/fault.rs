//! Errors of the broker in words, and which of them do not pass by themselves.

use lapin::protocol::{AMQPErrorKind, AMQPHardError, AMQPSoftError};
use lapin::{Error, ErrorKind};
use scurry_ship::SinkError;

/// What went wrong.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// The broker, or the way to it.
    Broker(Error),
    /// Something that the sink itself has found.
    Known(SinkError),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Broker(error)
    }
}

impl From<SinkError> for Fault {
    fn from(error: SinkError) -> Fault {
        Fault::Known(error)
    }
}

impl Fault {
    /// Returns the fault of a broker that does not answer.
    pub(crate) fn late(what: &str) -> Fault {
        SinkError::Unavailable(format!("the broker does not {what} in time")).into()
    }

    /// Returns the error of a sink to this exchange.
    pub(crate) fn at(self, address: &str, exchange: &str) -> SinkError {
        let error = match self {
            Fault::Known(error) => return error,
            Fault::Broker(error) => error,
        };
        let ErrorKind::ProtocolError(told) = error.kind() else {
            return SinkError::Unavailable(format!("AMQP on {address}: {error}"));
        };
        let message = told.get_message();
        let text = match told.kind() {
            AMQPErrorKind::Soft(AMQPSoftError::NOTFOUND) => format!(
                "exchange {exchange} does not exist on {address}: create it, or ship with --create-exchange \
                 ({message})"
            ),
            AMQPErrorKind::Soft(AMQPSoftError::ACCESSREFUSED) => format!(
                "{address} refuses access: check user and password; the user needs the rights configure, write and \
                 read on {exchange}.positions.*, write on the default exchange and on {exchange}, and configure to \
                 create it ({message})"
            ),
            AMQPErrorKind::Soft(AMQPSoftError::PRECONDITIONFAILED) => format!(
                "{address} does not take this: the exchange or queue exists with other properties, or an event is too \
                 large ({message})"
            ),
            AMQPErrorKind::Hard(AMQPHardError::NOTALLOWED) => {
                format!(
                    "{address} does not allow this: check that the virtual host exists ({message})"
                )
            }
            _ => return SinkError::Unavailable(format!("AMQP on {address}: {message}")),
        };
        SinkError::Refused(text)
    }
}
