//! One user: a name, the roles, and the secret that authenticates it.

use super::confirmation::Confirmation;
use super::password_hash::PasswordHash;
use super::roles::Roles;
use crate::users::password::Password;

/// Longest name, bytes.
const NAME_LEN_MAX: usize = 64;

/// A user of connections.
pub(crate) struct User {
    /// Printable ASCII without space, 1 to 64 bytes.
    pub(crate) name: String,
    pub(crate) roles: Roles,
    pub(crate) secret: Secret,
}

impl User {
    /// Creates a user for connections from within this process, with these roles.
    pub(crate) fn inside(roles: Roles) -> User {
        User { name: "(http)".to_owned(), roles, secret: Secret::Never }
    }

    /// Reports whether the other has this name, this password and these roles.
    pub(super) fn is_same(&self, other: &User) -> bool {
        let same_secret = match (&self.secret, &other.secret) {
            (Secret::Nothing, Secret::Nothing) | (Secret::Never, Secret::Never) => true,
            (Secret::Plain(own), Secret::Plain(other)) => own.is_same(other),
            (Secret::Hash(own, _), Secret::Hash(other, _)) => own.is_same(other),
            _ => false,
        };
        same_secret && self.name == other.name && self.roles == other.roles
    }
}

/// The proof that a user must show.
pub(crate) enum Secret {
    /// Nothing: every connection begins as this user.
    Nothing,
    /// A password that is known to the server.
    Plain(Password),
    /// A password of which only the hash is known.
    Hash(PasswordHash, Confirmation),
    /// No password is accepted: the user is off, or has only a token.
    Never,
}

/// Reports whether this is a valid name of a user.
pub(crate) fn is_user_name(name: &str) -> bool {
    (1..=NAME_LEN_MAX).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic())
}
