//! The history of typed lines, in a file of the user's. Lines that may hold a password are left out, so that the file
//! and its backups contain none.

use super::helper::{OWN_WORDS, command};
use super::words::split;
use std::env;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

/// Lines kept at most.
pub(super) const LINES_MAX: usize = 1_000;

/// Returns the path of the history, in the XDG directory for state. None if the user has no home directory.
pub(super) fn path() -> Option<PathBuf> {
    let given = env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    // The XDG specification says to ignore a relative path.
    let state = given.filter(|path| path.is_absolute());
    let state = state.or_else(|| Some(env::home_dir()?.join(".local/state")))?;
    state.is_absolute().then(|| state.join("scurry/history"))
}

/// Creates the directory of the file, readable by its owner alone.
pub(super) fn make_room(path: &std::path::Path) -> std::io::Result<()> {
    let Some(dir) = path.parent() else { return Ok(()) };
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Reports whether a line surely holds no password. A line that does not begin with a known command is not kept: it may
/// be a misspelt command with a password, or a line for another program.
pub(super) fn may_be_kept(line: &str) -> bool {
    let Ok(words) = split(line.as_bytes()) else { return false };
    let words: Vec<String> =
        words.iter().map(|word| String::from_utf8_lossy(word).to_uppercase()).collect();
    let Some((first, rest)) = words.split_first() else { return false };
    let is_own = OWN_WORDS.iter().any(|own| own.eq_ignore_ascii_case(first));
    let sub = rest.first().map(String::as_str);
    let is_harmless = match first.as_str() {
        "HELLO" => rest.len() <= 1,
        "ACL" => matches!(sub, Some("WHOAMI" | "LIST")),
        "CONFIG" => sub == Some("GET"),
        known => is_own || command(&[known]).is_some(),
    };
    let has_one =
        |word: &String| word.starts_with("-A") || word.contains("AUTH") || word.contains("PASS");
    is_harmless && !words.iter().any(has_one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_a_password_are_told_from_others() {
        for line in [
            "AUTH secret",
            "auth user secret",
            "  Auth  secret",
            "\"AUTH\" secret",
            "AUTH \"secret",
            "ATUH secret",
            "AUHT secret",
            "AUT secret",
            "HELLO 3 AUTH user secret",
            "hello 2 auth user 'secret",
            "ACL SETUSER alice >secret",
            "ACL SETUSE alice >secret",
            "CONFIG SET requirepass secret",
            "config set masterauth secret",
            "scurry cli -a secret PING",
            "-a secret",
            "redis-cli --pass secret",
            "PING -asecret",
            "AHTU secret",
            "A\"UTH\" secret",
            "HELO 3 AUTH user secret",
            "HELLO 3 AHUT user secret",
            "CONFIG SET requirepas secret",
            "SET a 'secret",
            "secret",
            "",
            "MIGRATE h 1 k 0 1 AUTH2 u secret",
        ] {
            assert!(!may_be_kept(line), "{line}");
        }
        for line in [
            "PING",
            "HELLO 3",
            "SCUR.GET alice",
            "get 'a b'",
            "ACL WHOAMI",
            "CONFIG GET *",
            "help GET",
        ] {
            assert!(may_be_kept(line), "{line}");
        }
    }
}
