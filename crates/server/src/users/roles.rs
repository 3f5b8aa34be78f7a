//! Roles as a set of bits, so that dispatch checks a permission with one test of one word.

use scurry_resp::table::Role;
use std::fmt;

/// The roles of a user. No role contains another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Roles(u8);

/// Returns the bit of a role; 0 for [`Role::Anyone`], which every set therefore contains.
const fn bit(role: Role) -> u8 {
    match role {
        Role::Anyone => 0,
        Role::Read => 1,
        Role::Charge => 2,
        Role::Provision => 4,
        Role::Admin => 8,
    }
}

impl Roles {
    /// No roles: only commands that require none are allowed.
    pub const NONE: Roles = Roles(0);
    /// Every role.
    pub const ALL: Roles =
        Roles(bit(Role::Read) | bit(Role::Charge) | bit(Role::Provision) | bit(Role::Admin));

    /// Returns the roles and one more.
    pub const fn with(self, role: Role) -> Roles {
        Roles(self.0 | bit(role))
    }

    /// Returns the role of this name, as the settings file writes it.
    pub(crate) fn named(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.name() == name)
    }

    /// Returns the names with commas between them, or `none`.
    pub(crate) fn in_words(self) -> String {
        if self == Roles::NONE { "none".to_owned() } else { self.to_string().replace(' ', ", ") }
    }

    /// Reports whether a command that needs this role may be run.
    #[inline]
    pub const fn permit(self, role: Role) -> bool {
        self.0 & bit(role) == bit(role)
    }
}

impl fmt::Display for Roles {
    /// Writes the names with spaces between them, in the order of [`Role::ALL`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = Role::ALL.into_iter().filter(|&role| self.permit(role));
        for (index, role) in own.enumerate() {
            f.write_str(if index > 0 { " " } else { "" })?;
            f.write_str(role.name())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_permits_itself_and_anyone_alone() {
        for own in Role::ALL {
            let roles = Roles::NONE.with(own);
            assert!(roles.permit(Role::Anyone));
            for asked in Role::ALL {
                assert_eq!(roles.permit(asked), asked == own, "{own:?} asked for {asked:?}");
                assert!(!Roles::NONE.permit(asked));
                assert!(Roles::ALL.permit(asked));
            }
            assert_eq!(Roles::named(own.name()), Some(own));
            assert_eq!(roles.to_string(), own.name());
        }
        assert_eq!(Role::ALL.into_iter().fold(Roles::NONE, Roles::with), Roles::ALL);
        assert_eq!(Roles::ALL.to_string(), "read charge provision admin");
        assert_eq!(Roles::NONE.in_words(), "none");
        assert_eq!(Roles::NONE.with(Role::Admin).with(Role::Read).in_words(), "read, admin");
        assert_eq!(Roles::named("-"), None);
        assert_eq!(Roles::named("Read"), None);
    }
}
