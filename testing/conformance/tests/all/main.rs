//! The tests of `scurry-conformance` as one program: each room is linked once.

mod coverage;
mod differential;
mod hands;
mod scenarios;
