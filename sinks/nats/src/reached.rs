//! How far a stream is.

use crate::NatsTarget;
use crate::fault::words;
use crate::message::NEXT;
use async_nats::jetstream::stream::{Info, RawMessageErrorKind, Stream};
use scurry_ship::{Positions, SinkError, StoreId};

/// What a stream has: the sequence of its last message, and the positions in it. None if it has had no message.
pub(crate) struct Reached {
    pub(crate) sequence: u64,
    pub(crate) positions: Option<Positions>,
}

/// Returns what a stream has. Fails if it is of another store or another program.
pub(crate) async fn reached(
    stream: &Stream<Info>,
    target: &NatsTarget,
    store: StoreId,
) -> Result<Reached, SinkError> {
    let info = stream.cached_info();
    let (name, sequence) = (&info.config.name, info.state.last_sequence);
    if sequence == 0 {
        return Ok(Reached { sequence, positions: None });
    }
    let last = match stream.get_raw_message(sequence).await {
        Ok(last) => last,
        Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => {
            return Err(SinkError::Refused(format!(
                "the last message of the stream {name} was removed, so it does not say where to go on: publish a message to {} \
                 with the header {NEXT}: {store} and the positions (none for the begin), or delete the stream",
                target.position()
            )));
        }
        Err(error) => {
            return Err(SinkError::Unavailable(format!(
                "the last message of the stream {name} cannot be read: {}",
                words(&error)
            )));
        }
    };
    let next = last.headers.get(NEXT).and_then(|next| next.as_str().parse::<Positions>().ok());
    match next {
        Some(positions) if positions.store() == store => {
            Ok(Reached { sequence, positions: Some(positions) })
        }
        Some(positions) => Err(SinkError::Refused(format!(
            "the stream {name} has events of store {}, and these are of store {store}: choose another --subject",
            positions.store()
        ))),
        None => Err(SinkError::Refused(format!(
            "the last message of the stream {name} is not of a shipper: another program writes to it. Choose another \
             --subject, or delete that message's stream"
        ))),
    }
}
