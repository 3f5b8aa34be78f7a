//! Notices to the clients of sessions: ask again, after a top-up of a session that was denied or had its final grant
//! (RFC 8506, 5.5; TS 32.290, 5.2.2.4), and end, when the account is suspended or closed (RFC 6733, 8.5). It follows the
//! events of a store and finds the sessions; a door delivers by its protocol. It keeps nothing: what happens while no
//! door runs makes no notice, and the client asks at the end of its validity.
#![forbid(unsafe_code)]

mod causes;
mod counts;
mod follower;
mod jitter;
mod notice;
mod notices_thread;
mod teller;

pub use counts::{NoticeCounters, NoticeCounts};
pub use follower::follow;
pub use notice::{Delivery, DeliveryFuture, Notice, NoticeAction, Notifier};
pub use notices_thread::NoticesThread;
