//! Notices, and who delivers them.

use scurry_ledger::{Id, ItemKey};
use std::future::Future;
use std::pin::Pin;

/// What a client is to do with a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoticeAction {
    /// Request units again for these items, which were denied or had their final grant.
    AskAgain(Vec<ItemKey>),
    /// End it.
    End,
}

/// A notice to the client of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The session.
    pub session: Id,
    /// What the door stored with the session (DATA): who its client is.
    pub data: Vec<u8>,
    /// What the client is to do.
    pub action: NoticeAction,
}

/// What became of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The client has it, or has said that it does not know the session.
    Done,
    /// It may not have it. The notice is delivered again, if it still holds then.
    Failed,
    /// The client has refused it for good.
    Refused,
}

/// The future of a delivery.
pub type DeliveryFuture<'a> = Pin<Box<dyn Future<Output = Delivery> + Send + 'a>>;

/// A door that delivers notices.
pub trait Notifier: Send + Sync + 'static {
    /// Reports whether a session with this DATA is one of this door's protocol, whose client can be reached now.
    fn reaches(&self, data: &[u8]) -> bool;

    /// Reports whether this door should act first, because it has answered the session's last request as far as it
    /// knows. Doors that are not near wait, so that they see whether the client has asked meanwhile.
    fn is_near(&self, _account: &[u8], _session: &Id) -> bool {
        true
    }

    /// Returns what its notices are called in its protocol, for the log.
    fn words(&self) -> &'static str;

    /// Delivers a notice.
    fn deliver(&self, notice: Notice) -> DeliveryFuture<'_>;
}
