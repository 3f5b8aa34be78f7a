//! What each technique does, by its counts, and the rules of windows and vectors one by one.

mod input;
mod life;
mod output;
mod pair;
