//! All tests of `scurry-conformance` in one program, so that each dependency is linked once.

mod coverage;
mod diameter;
mod differential;
mod hands;
mod scenarios;
