//! One small story per rule of docs/ledger.md, told to ledger and model alike. The names are
//! what testing/mutants refers to.

#[path = "rules/allowances.rs"]
mod allowances;
#[path = "rules/balance.rs"]
mod balance;
#[path = "rules/due.rs"]
mod due;
#[path = "rules/duplicates.rs"]
mod duplicates;
#[path = "rules/late_use.rs"]
mod late_use;
#[path = "rules/limits.rs"]
mod limits;
#[path = "rules/order.rs"]
mod order;
#[path = "rules/sessions.rs"]
mod sessions;
