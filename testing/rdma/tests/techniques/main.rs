//! The effect of each technique, measured by its counters, and the rules of windows and vectors one
//! by one.

mod input;
mod life;
mod output;
mod pair;
