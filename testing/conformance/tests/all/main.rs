//! All tests of `scurry-conformance` in one program, so that each dependency is linked once.

mod charging;
mod coverage;
mod diameter;
mod differential;
mod hands;
mod nchf;
mod scenarios;
