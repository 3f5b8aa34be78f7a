//! What a running server takes anew when it is told to: its users, and the files of its certificates.
//! Connections go on, but for those of users who are no more, or are others now.

use crate::mail::mesh::Letterbox;
use crate::mail::message::Message;
use crate::net::tls::Certificates;
use crate::users::{UserError, Users};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Between two attempts to reach a thread that has too much mail.
const PAUSE: Duration = Duration::from_millis(10);
/// Attempts at most: half a minute. A thread that is out of reach for so long serves nobody.
const ATTEMPTS_MAX: u32 = 3_000;

/// The way to tell a server that there is something new.
pub struct Reloader {
    pub(crate) users: Arc<Users>,
    /// None where no port speaks TLS.
    pub(crate) certificates: Option<Certificates>,
    pub(crate) letterboxes: Arc<[Letterbox]>,
}

/// A reload of users that fails.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// Users that cannot be: those before stay.
    #[error(transparent)]
    Users(#[from] UserError),
    /// The new users count, and some connections of former ones may go on.
    #[error("thread {0} does not hear of the new users: connections of former ones go on there")]
    Unreached(usize),
}

impl Reloader {
    /// Puts these users in the place of those that there are, and ends the connections of those who are no
    /// more or have another password or other roles. Whoever is as before goes on. Blocks: not for an event
    /// loop.
    ///
    /// # Errors
    /// When everybody could come in where nobody could without a password; when a thread is not reached.
    pub fn replace_users(&self, users: Users) -> Result<(), ReloadError> {
        self.users.replace(users)?;
        for (core, letterbox) in self.letterboxes.iter().enumerate() {
            let reached = (0..ATTEMPTS_MAX).any(|attempt| {
                if attempt > 0 {
                    thread::sleep(PAUSE); // tidy: allow (who has too much mail is asked again)
                }
                letterbox.post(Message::UsersReplaced).is_ok()
            });
            if !reached {
                return Err(ReloadError::Unreached(core));
            }
        }
        Ok(())
    }

    /// The certificates of its ports, to be read anew.
    pub fn certificates(&self) -> Option<&Certificates> {
        self.certificates.as_ref()
    }
}
