//! Errors in users, with the entry that has the error.

use super::USERS_MAX;

/// Why users are invalid.
#[derive(Debug, thiserror::Error)]
pub enum UserError {
    /// More users than allowed.
    #[error("there are {0} users: at most {USERS_MAX} can be")]
    TooMany(usize),
    /// The name of the entry at this position, counted from 1, is invalid.
    #[error(
        "users entry {place}: the name {name:?} must be 1 to 64 printable ASCII characters without \
         space"
    )]
    Name {
        /// Position of the user in the file, counted from 1.
        place: usize,
        /// The name that was given.
        name: String,
    },
    /// A name was given twice.
    #[error("user {0}: the name is given twice: remove one of the entries")]
    Twice(String),
    /// The default user already has a password.
    #[error(
        "user default: requirepass is its password already: remove requirepass or the users entry"
    )]
    DefaultTwice,
    /// A role that does not exist.
    #[error("user {user}: {role:?} is not a role: use read, charge, provision, admin")]
    Role {
        /// The user with that role.
        user: String,
        /// The role that was given.
        role: String,
    },
    /// The hash of the password is invalid.
    #[error("user {user}: the password_hash {fault}: make one with `scurry hash-password`")]
    Hash {
        /// The user with that hash.
        user: String,
        /// The fault of the hash.
        fault: HashFault,
    },
    /// Neither a password nor a token.
    #[error(
        "user {0}: there is neither a password_hash nor a token_hash: make one with `scurry \
         hash-password` or `scurry make-token`"
    )]
    NoSecret(String),
    /// The hash of the token is invalid.
    #[error(
        "user {0}: the token_hash is not sha256: and 64 hexadecimal digits: make one with `scurry \
         make-token`"
    )]
    Token(String),
    /// Replacing the users would open a server that requires a password.
    #[error(
        "without users and requirepass everybody would come in: that takes a restart, which looks at the \
         addresses that the server listens on"
    )]
    WouldOpen,
    /// The system has no randomness.
    #[error("cannot take random bytes from the system: {0}")]
    Randomness(#[from] getrandom::Error),
}

/// Faults of a password or of its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HashFault {
    /// Not a hash of Argon2.
    #[error("is not an Argon2 hash in PHC form ($argon2id$v=19$m=..,t=..,p=..$salt$hash)")]
    NotArgon2,
    /// The hash would take too long, or too much memory, for each AUTH.
    #[error("costs too much: at most m=262144 (256 MiB), t=16 and p=16 are taken")]
    TooCostly,
    /// A password that no AUTH could send.
    #[error("cannot be made: a password has 1 to 512 bytes")]
    Length,
    /// The system has no randomness.
    #[error("cannot be made: the system gives no random bytes")]
    Randomness,
}
