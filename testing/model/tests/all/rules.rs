//! One short test per rule of docs/ledger.md, run on ledger and model. testing/mutants refers to the names of the
//! tests.

mod allowances;
mod balance;
mod debts;
mod due;
mod duplicates;
mod former_identities;
mod late_use;
mod limits;
mod marks;
mod order;
mod sessions;
mod spans;
