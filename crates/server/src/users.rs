//! Who may come in, and what they may do then: the default user and the users of the settings.

mod checker;
mod confirmation;
mod error;
mod password_hash;
mod roles;
mod user;

pub(crate) use checker::{Checker, Desk, Ticket};
pub use error::{HashFault, UserError};
pub use password_hash::hash_password;
pub use roles::Roles;
pub(crate) use user::User;

use crate::Password;
use confirmation::{Confirmation, ConfirmationKey};
use password_hash::{PasswordHash, Workspace};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use user::{Secret, is_user_name};

/// Users at most.
pub const USERS_MAX: usize = 1024;
/// The user that every connection begins as.
const DEFAULT: &str = "default";

/// A user as the settings give it.
#[derive(Clone, Debug)]
pub struct UserEntry {
    /// Printable ASCII without space, 1 to 64 bytes.
    pub name: String,
    /// A PHC string of Argon2, as [`hash_password`] makes it.
    pub password_hash: String,
    /// Names of roles.
    pub roles: Vec<String>,
}

/// What can be said at once about a name and a password.
pub(crate) enum Judgement {
    /// They are right.
    Admitted(Arc<User>),
    /// They are wrong.
    Refused,
    /// Only [`Users::check`] can tell.
    Unknown,
}

/// All users. They do not change while the server runs.
pub struct Users {
    default: Arc<User>,
    /// Those with a hash, perhaps the default user among them.
    hashed: BTreeMap<String, Arc<User>>,
    /// What unknown names are checked against; none when no user has a hash.
    decoy: Option<PasswordHash>,
    key: ConfirmationKey,
    computed: AtomicU64,
}

impl Users {
    /// The users of these settings. Without a password and without entries the default user has
    /// every role and needs no password; with a password it has every role and needs it; with
    /// entries alone it is off, unless one of them is its own.
    ///
    /// # Errors
    /// For wrong entries, naming the entry.
    pub fn new(password: Option<Password>, entries: &[UserEntry]) -> Result<Users, UserError> {
        if entries.len() > USERS_MAX {
            return Err(UserError::TooMany(entries.len()));
        }
        let has_password = password.is_some();
        let secret = match password {
            Some(word) => Secret::Word(word),
            None if entries.is_empty() => Secret::Nothing,
            None => Secret::Never,
        };
        let roles = if matches!(secret, Secret::Never) { Roles::NONE } else { Roles::ALL };
        let mut default = Arc::new(User { name: DEFAULT.to_owned(), roles, secret });
        let mut hashed = BTreeMap::new();
        let mut decoy = None;
        for (index, entry) in entries.iter().enumerate() {
            let (user, hash) = read(index + 1, entry)?;
            if decoy.is_none() {
                decoy = Some(hash.decoy()?);
            }
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
        let key = ConfirmationKey::random()?;
        Ok(Users { default, hashed, decoy, key, computed: AtomicU64::new(0) })
    }

    /// True when connections need no password.
    pub fn is_open(&self) -> bool {
        matches!(self.default.secret, Secret::Nothing)
    }

    /// Whom every connection begins as.
    pub(crate) fn default_user(&self) -> &Arc<User> {
        &self.default
    }

    /// Every user, by name; the default user also when it is off.
    pub(crate) fn all(&self) -> impl Iterator<Item = &User> {
        let own_entry = self.hashed.contains_key(DEFAULT);
        let default = Some(&self.default).filter(|_| !own_entry);
        default.into_iter().chain(self.hashed.values()).map(|user| &**user)
    }

    /// How many hashes were computed: the same for names that exist and for others.
    pub(crate) fn computed(&self) -> u64 {
        self.computed.load(Ordering::Relaxed)
    }

    /// What can be told without computing a hash. Quick.
    pub(crate) fn judge(&self, name: &[u8], password: &[u8]) -> Judgement {
        if password.len() > Password::LEN_MAX {
            return Judgement::Refused;
        }
        // Made for names that do not exist as well: they must cost the same.
        let digest = self.key.digest(name, password);
        match self.find(name).map(|user| (user, &user.secret)) {
            Some((user, Secret::Nothing)) => Judgement::Admitted(Arc::clone(user)),
            Some((user, Secret::Word(word))) if word.matches(password) => {
                Judgement::Admitted(Arc::clone(user))
            }
            Some((_, Secret::Word(_))) => Judgement::Refused,
            Some((user, Secret::Hash(_, confirmation))) if confirmation.holds(&digest) => {
                Judgement::Admitted(Arc::clone(user))
            }
            _ if self.decoy.is_none() => Judgement::Refused,
            _ => Judgement::Unknown,
        }
    }

    /// The user, when name and password are right. Computes a hash for every name alike, unless
    /// the pair was confirmed while it waited: a burst of new connections then costs one.
    pub(crate) fn check(
        &self,
        name: &[u8],
        password: &[u8],
        workspace: &mut Workspace,
    ) -> Option<Arc<User>> {
        let digest = self.key.digest(name, password);
        let found = self.find(name).and_then(|user| match &user.secret {
            Secret::Hash(hash, confirmation) => Some((user, hash, confirmation)),
            Secret::Nothing | Secret::Word(_) | Secret::Never => None,
        });
        if let Some((user, _, confirmation)) = found
            && confirmation.holds(&digest)
        {
            return Some(Arc::clone(user));
        }
        let hash = found.map(|(_, hash, _)| hash).or(self.decoy.as_ref())?;
        let is_right = hash.matches(password, workspace);
        self.computed.fetch_add(1, Ordering::Relaxed);
        let (user, _, confirmation) = found.filter(|_| is_right)?;
        confirmation.set(digest);
        Some(Arc::clone(user))
    }

    fn find(&self, name: &[u8]) -> Option<&Arc<User>> {
        if name == DEFAULT.as_bytes() {
            return Some(&self.default);
        }
        self.hashed.get(std::str::from_utf8(name).ok()?)
    }
}

/// The user of an entry, and its hash again.
fn read(place: usize, entry: &UserEntry) -> Result<(Arc<User>, PasswordHash), UserError> {
    let name = entry.name.clone();
    if !is_user_name(&name) {
        return Err(UserError::Name { place, name });
    }
    let mut roles = Roles::NONE;
    for role in &entry.roles {
        let unknown = || UserError::Role { user: name.clone(), role: role.clone() };
        roles = roles.with(Roles::named(role).ok_or_else(unknown)?);
    }
    let hash = PasswordHash::parse(&entry.password_hash)
        .map_err(|fault| UserError::Hash { user: name.clone(), fault })?;
    let secret = Secret::Hash(hash.clone(), Confirmation::default());
    Ok((Arc::new(User { name, roles, secret }), hash))
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all().map(|user| &user.name)).finish()
    }
}

#[cfg(test)]
mod tests;
