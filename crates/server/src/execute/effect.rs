//! The effects of a command on its connection.

use crate::mail::report::Question;

/// Consequence of a command beyond its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    None,
    /// Close once the replies are sent.
    Close,
    /// The reply is not written: every core has to answer this question first. The request is executed again when
    /// `client.told` has the answers.
    AskCores(Question),
    /// The reply is not written: every core has to do its part.
    EveryCore,
    /// The reply is not written: it needs the verdict on a password, or another thread forms it. No further request of
    /// the connection is executed until it arrives.
    Suspend,
}
