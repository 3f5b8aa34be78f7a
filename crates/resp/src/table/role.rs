//! Roles of users, as commands require them.

/// The role that a command needs. A user can have any number of roles; no role includes another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// No role: every authenticated user may run the command.
    Anyone,
    /// Reads balances, sessions, plain values, entities, totals, statistics.
    Read,
    /// Charges: opens, updates and ends sessions, debits, refunds, counts; writes plain values
    /// and entities.
    Charge,
    /// Provisions: creates, changes and deletes accounts, fills and adjusts their buckets.
    Provision,
    /// Administers the server: settings, other clients, deleting everything, stopping.
    Admin,
}

impl Role {
    /// Roles that a user can have, in the order of the configuration's documentation.
    pub const ALL: [Role; 4] = [Role::Read, Role::Charge, Role::Provision, Role::Admin];

    /// Returns the role's name in the configuration file and in the reference.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Anyone => "-",
            Role::Read => "read",
            Role::Charge => "charge",
            Role::Provision => "provision",
            Role::Admin => "admin",
        }
    }
}
