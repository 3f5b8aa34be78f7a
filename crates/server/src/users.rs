//! Authentication and roles: the default user and the users of the settings.

mod checker;
mod confirmation;
mod error;
pub(crate) mod password;
mod password_hash;
mod roles;
mod token;
mod user;

pub(crate) use checker::{Checker, PasswordChecks};
pub use error::{HashFault, UserError};
pub use password_hash::hash_password;
pub use roles::Roles;
pub use token::{MadeToken, make_token};
pub(crate) use user::User;

use crate::users::password::Password;
use confirmation::{Confirmation, ConfirmationKey};
use password_hash::{PasswordHash, Workspace};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use token::TokenHash;
use user::{Secret, is_user_name};

/// Maximum number of users.
pub const USERS_MAX: usize = 1024;
/// The user that every connection begins as.
const DEFAULT: &str = "default";

/// A user as the settings give it.
#[derive(Clone, Debug)]
pub struct UserEntry {
    /// Printable ASCII without space, 1 to 64 bytes.
    pub name: String,
    /// A PHC string of Argon2, as [`hash_password`] makes it; None for a user without a password.
    pub password_hash: Option<String>,
    /// Hash of a token of HTTP, as [`make_token`] makes it; None for a user without one.
    pub token_hash: Option<String>,
    /// Names of roles.
    pub roles: Vec<String>,
}

/// Verdict on a name and a password without computing a hash.
pub(crate) enum NameCheck {
    /// Name and password are right.
    Admitted(Arc<User>),
    /// Name or password is wrong.
    Refused,
    /// Only [`Users::check`] can decide.
    Unknown,
}

/// An authenticated user of another door than RESP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// The user's name.
    pub name: String,
    /// Roles of the user.
    pub roles: Roles,
}

/// Verdict on a name and a password without computing a hash, for doors other than RESP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Name and password are right.
    Granted(Admitted),
    /// Name or password is wrong.
    Refused,
    /// Only [`Users::check_slowly`] can decide.
    Unknown,
}

/// All users, for all doors. They can be replaced while the server runs. The lock is taken by new connections, by those
/// that show a password, and by requests over HTTP.
pub struct Users {
    roster: RwLock<Arc<Roster>>,
    key: ConfirmationKey,
    computed: AtomicU64,
}

/// The users of one reading of the settings.
struct Roster {
    default: Arc<User>,
    /// Users with a hash, which may include the default user.
    hashed: BTreeMap<String, Arc<User>>,
    /// Users with a token.
    tokens: Vec<(TokenHash, Arc<User>)>,
    /// Hash that passwords of unknown names are checked against; None when no user has a hash.
    decoy: Option<PasswordHash>,
}

impl Users {
    /// Creates the users of these settings. Without a password and without entries, the default user has every role and
    /// needs no password; with a password, it has every role and needs it; with entries only, it is off, unless one of
    /// them is its own.
    ///
    /// # Errors
    /// For wrong entries, naming the entry.
    pub fn new(password: Option<Password>, entries: &[UserEntry]) -> Result<Users, UserError> {
        let roster = RwLock::new(Arc::new(Roster::new(password, entries)?));
        let key = ConfirmationKey::random()?;
        Ok(Users { roster, key, computed: AtomicU64::new(0) })
    }

    /// Replaces all users. A user that is in both sets with the same password and roles stays the same: its confirmed
    /// passwords remain known, and its connections stay authenticated.
    ///
    /// # Errors
    /// When a server that requires a password would be open to everyone; nothing changes then.
    pub fn replace(&self, others: Users) -> Result<(), UserError> {
        if others.is_open() && !self.is_open() {
            return Err(UserError::WouldOpen);
        }
        let mut roster = others.roster.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut current = self.roster.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(roster) = Arc::get_mut(&mut roster) {
            roster.keep_of(&current);
        }
        *current = roster;
        Ok(())
    }

    /// Reports whether the user is one of the present users, and was not replaced by another of the same name.
    pub(crate) fn is_current(&self, user: &Arc<User>) -> bool {
        let roster = self.roster();
        roster.find(user.name.as_bytes()).is_some_and(|found| Arc::ptr_eq(found, user))
    }

    fn roster(&self) -> Arc<Roster> {
        Arc::clone(&self.roster.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reports whether connections need no password.
    pub fn is_open(&self) -> bool {
        matches!(self.roster().default.secret, Secret::Nothing)
    }

    /// Describes the ways to authenticate in a sentence for people.
    pub fn in_words(&self) -> String {
        if self.is_open() {
            return "without a password, with every role".to_owned();
        }
        let roster = self.roster();
        let mut names = roster.all().filter(|user| roster.lets_in(user));
        match (names.next(), names.count()) {
            (Some(user), 0) => format!("with the password or token of {}", user.name),
            (_, more) => format!("with the password or token of one of {} users", more + 1),
        }
    }

    /// Returns the user of clients that give no name; None where a name is required.
    pub fn anyone(&self) -> Option<Admitted> {
        let default = self.default_user();
        matches!(default.secret, Secret::Nothing).then(|| Admitted::from(&*default))
    }

    /// Returns the user of a token. Every hash is compared, in a time that does not depend on how much of the token is
    /// right.
    pub fn of_token(&self, token: &[u8]) -> Option<Admitted> {
        let (given, roster) = (TokenHash::hash(token), self.roster());
        let mut found = None;
        for (hash, user) in &roster.tokens {
            if hash.is(&given) {
                found = Some(user);
            }
        }
        found.map(|user| Admitted::from(&**user))
    }

    /// Checks a name and a password without computing a hash.
    pub fn admit(&self, name: &[u8], password: &[u8]) -> Admission {
        match self.judge(name, password) {
            NameCheck::Admitted(user) => Admission::Granted(Admitted::from(&*user)),
            NameCheck::Refused => Admission::Refused,
            NameCheck::Unknown => Admission::Unknown,
        }
    }

    /// Computes the hash of a password and returns its user. Takes tens of milliseconds and 19 MiB: call it where it
    /// blocks no other work, and not more than once at a time.
    pub fn check_slowly(&self, name: &[u8], password: &[u8]) -> Option<Admitted> {
        let user = self.check(name, password, &mut Workspace::default())?;
        Some(Admitted::from(&*user))
    }

    /// Returns the user that every connection begins as.
    pub(crate) fn default_user(&self) -> Arc<User> {
        Arc::clone(&self.roster().default)
    }

    /// Returns every user, in the order of [`Roster::all`].
    pub(crate) fn all(&self) -> Vec<Arc<User>> {
        self.roster().all().cloned().collect()
    }

    /// Returns how many hashes were computed: the same for names that exist and for others.
    pub(crate) fn computed(&self) -> u64 {
        self.computed.load(Ordering::Relaxed)
    }

    /// Judges a name and a password without computing a hash, which is fast.
    pub(crate) fn judge(&self, name: &[u8], password: &[u8]) -> NameCheck {
        if password.len() > Password::LEN_MAX {
            return NameCheck::Refused;
        }
        // Computed for unknown names too: they must cost the same.
        let digest = self.key.digest(name, password);
        let roster = self.roster();
        match roster.find(name).map(|user| (user, &user.secret)) {
            Some((user, Secret::Nothing)) => NameCheck::Admitted(Arc::clone(user)),
            Some((user, Secret::Plain(word))) if word.matches(password) => {
                NameCheck::Admitted(Arc::clone(user))
            }
            Some((_, Secret::Plain(_))) => NameCheck::Refused,
            Some((user, Secret::Hash(_, confirmation))) if confirmation.holds(&digest) => {
                NameCheck::Admitted(Arc::clone(user))
            }
            // No user has a hash, so nothing needs to be computed: refuse at once.
            _ if roster.decoy.is_none() => NameCheck::Refused,
            _ => NameCheck::Unknown,
        }
    }

    /// Returns the user if name and password are right. Computes a hash for unknown names too, unless the pair was
    /// confirmed while it waited: a burst of new connections then costs one hash.
    pub(crate) fn check(
        &self,
        name: &[u8],
        password: &[u8],
        workspace: &mut Workspace,
    ) -> Option<Arc<User>> {
        let (digest, roster) = (self.key.digest(name, password), self.roster());
        let found = roster.find(name).and_then(|user| match &user.secret {
            Secret::Hash(hash, confirmation) => Some((user, hash, confirmation)),
            Secret::Nothing | Secret::Plain(_) | Secret::Never => None,
        });
        if let Some((user, _, confirmation)) = found
            && confirmation.holds(&digest)
        {
            return Some(Arc::clone(user));
        }
        // An unknown name is checked against the decoy, which costs the same and never matches.
        let hash = found.map(|(_, hash, _)| hash).or(roster.decoy.as_ref())?;
        let is_right = hash.matches(password, workspace);
        self.computed.fetch_add(1, Ordering::Relaxed);
        let (user, _, confirmation) = found.filter(|_| is_right)?;
        confirmation.set(digest);
        Some(Arc::clone(user))
    }
}

impl Roster {
    fn new(password: Option<Password>, entries: &[UserEntry]) -> Result<Roster, UserError> {
        if entries.len() > USERS_MAX {
            return Err(UserError::TooMany(entries.len()));
        }
        let has_password = password.is_some();
        let secret = match password {
            Some(word) => Secret::Plain(word),
            None if entries.is_empty() => Secret::Nothing,
            None => Secret::Never,
        };
        let roles = if matches!(secret, Secret::Never) { Roles::NONE } else { Roles::ALL };
        let mut default = Arc::new(User { name: DEFAULT.to_owned(), roles, secret });
        let mut hashed = BTreeMap::new();
        let (mut decoy, mut tokens) = (None, Vec::new());
        for (index, entry) in entries.iter().enumerate() {
            let (user, token) = read(index + 1, entry)?;
            if let (None, Secret::Hash(hash, _)) = (&decoy, &user.secret) {
                decoy = Some(hash.decoy()?);
            }
            tokens.extend(token.map(|token| (token, Arc::clone(&user))));
            if entry.name == DEFAULT {
                if has_password {
                    return Err(UserError::DefaultTwice);
                }
                default = Arc::clone(&user);
            }
            if hashed.insert(entry.name.clone(), user).is_some() {
                return Err(UserError::Twice(entry.name.clone()));
            }
        }
        Ok(Roster { default, hashed, tokens, decoy })
    }

    /// Keeps the users of an earlier roster that are unchanged.
    fn keep_of(&mut self, before: &Roster) {
        let keep = |user: &mut Arc<User>| {
            let same = before.find(user.name.as_bytes()).filter(|before| before.is_same(user));
            if let Some(same) = same {
                *user = Arc::clone(same);
            }
        };
        keep(&mut self.default);
        self.hashed.values_mut().for_each(keep);
        self.tokens.iter_mut().for_each(|(_, user)| keep(user));
    }

    /// Returns every user, even the default user when it is off: the default user first, unless it has an entry, then
    /// the others by name.
    fn all(&self) -> impl Iterator<Item = &Arc<User>> {
        let own_entry = self.hashed.contains_key(DEFAULT);
        let default = Some(&self.default).filter(|_| !own_entry);
        default.into_iter().chain(self.hashed.values())
    }

    /// Reports whether a user has a password or a token, or needs neither.
    fn lets_in(&self, user: &User) -> bool {
        let has_token = || self.tokens.iter().any(|(_, owner)| owner.name == user.name);
        !matches!(user.secret, Secret::Never) || has_token()
    }

    fn find(&self, name: &[u8]) -> Option<&Arc<User>> {
        if name == DEFAULT.as_bytes() {
            return Some(&self.default);
        }
        self.hashed.get(std::str::from_utf8(name).ok()?)
    }
}

impl From<&User> for Admitted {
    fn from(user: &User) -> Admitted {
        Admitted { name: user.name.clone(), roles: user.roles }
    }
}

/// Parses the user of an entry, and its token.
fn read(place: usize, entry: &UserEntry) -> Result<(Arc<User>, Option<TokenHash>), UserError> {
    let name = entry.name.clone();
    if !is_user_name(&name) {
        return Err(UserError::Name { place, name });
    }
    let mut roles = Roles::NONE;
    for role in &entry.roles {
        let unknown = || UserError::Role { user: name.clone(), role: role.clone() };
        roles = roles.with(Roles::named(role).ok_or_else(unknown)?);
    }
    if entry.password_hash.is_none() && entry.token_hash.is_none() {
        return Err(UserError::NoSecret(name));
    }
    let secret = match &entry.password_hash {
        None => Secret::Never,
        Some(text) => {
            let wrong = |fault| UserError::Hash { user: name.clone(), fault };
            Secret::Hash(PasswordHash::parse(text).map_err(wrong)?, Confirmation::default())
        }
    };
    let token = match &entry.token_hash {
        None => None,
        Some(text) => Some(TokenHash::parse(text).ok_or_else(|| UserError::Token(name.clone()))?),
    };
    Ok((Arc::new(User { name, roles, secret }), token))
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.roster().all().map(|user| &user.name)).finish()
    }
}

#[cfg(test)]
mod tests;
