//! One small story per rule of docs/ledger.md, told to ledger and model alike. The names are
//! what testing/mutants refers to.

mod allowances;
mod balance;
mod due;
mod duplicates;
mod late_use;
mod limits;
mod order;
mod sessions;
