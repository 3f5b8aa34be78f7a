//! Groups of real servers on this machine, started and stopped by `scurry replica`.

mod life;
mod refusals;
mod support;
