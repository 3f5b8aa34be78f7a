//! The secret of a hash table, from the operating system's randomness.

use scurry_engine::HashKey;
use std::io;

/// Draws a random secret for one process, or for one of its tables. It is never shown.
///
/// # Errors
/// When the operating system has no randomness to give.
pub fn draw_hash_key() -> io::Result<HashKey> {
    let mut bytes = [0; HashKey::LEN];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(HashKey::new(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_another() {
        let [one, two] = [(), ()].map(|()| draw_hash_key().expect("randomness"));
        assert!(one != two);
    }
}
