//! Reloads the parts of a running server that can be replaced: its users, and the files of its certificates.
//! Connections go on, unless their user was removed or changed.

use crate::mail::mesh::MailboxSender;
use crate::mail::message::Message;
use crate::users::{UserError, Users};
use scurry_tls::Certificates;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Pause between two attempts to reach a thread with a full mailbox.
const PAUSE: Duration = Duration::from_millis(10);
/// Maximum number of attempts: half a minute. A thread that is unreachable for so long serves no client.
const ATTEMPTS_MAX: u32 = 3_000;

/// A handle to reload users and certificates of a server.
pub struct Reloader {
    pub(crate) users: Arc<Users>,
    /// None where no port speaks TLS.
    pub(crate) certificates: Option<Certificates>,
    pub(crate) letterboxes: Arc<[MailboxSender]>,
}

/// A reload of users that fails.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// The users are invalid: the former ones stay.
    #[error(transparent)]
    Users(#[from] UserError),
    /// The new users are in force, but some connections of former users may go on.
    #[error("thread {0} does not hear of the new users: connections of former ones go on there")]
    Unreached(usize),
}

impl Reloader {
    /// Replaces the users, and ends the connections of users that were removed or have another password or other roles.
    /// Unchanged users stay connected. Blocks: not for an event loop.
    ///
    /// # Errors
    /// When a server that requires a password would be open to everyone; when a thread is not reached.
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

    /// Returns the certificates of the server's ports, so that they can be read again.
    pub fn certificates(&self) -> Option<&Certificates> {
        self.certificates.as_ref()
    }
}
