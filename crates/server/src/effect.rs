//! What a command asks of its connection.

use crate::report::Question;

/// What a command does beyond its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    None,
    /// Close once the replies are sent.
    Close,
    /// The reply is not written: every core has to say something first. The request is executed
    /// again when `client.told` has the answers.
    Ask(Question),
    /// The reply is not written: every core has to do its part.
    Every,
    /// The reply is not written: it needs the verdict on a password, or somebody else forms it.
    /// Nothing more of the connection is executed until it is there.
    Wait,
}
