//! The lines that were typed, in a file of the user's, and which lines are none of it: whoever reads the
//! file, or a backup of it, must find no password there.

use super::words::split;
use std::env;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

/// Lines at most.
pub(super) const LINES_MAX: usize = 1_000;

/// Where it is kept: of the XDG directories, the one for what a program remembers. None where there is
/// no home.
pub(super) fn path() -> Option<PathBuf> {
    let given = env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    // A relative one is to be ignored.
    let state = given.filter(|path| path.is_absolute());
    let state = state.or_else(|| Some(env::home_dir()?.join(".local/state")))?;
    state.is_absolute().then(|| state.join("scurry/history"))
}

/// Makes the directory of the file, for nobody else to look into.
pub(super) fn make_room(path: &std::path::Path) -> std::io::Result<()> {
    let Some(dir) = path.parent() else { return Ok(()) };
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Whether a line may hold a password: those that can, and what looks like them, also when it is no
/// command because of a quote that is not closed or a letter that is wrong.
pub(super) fn is_secret(line: &str) -> bool {
    let words: Vec<String> = match split(line) {
        Ok(words) => {
            words.iter().map(|word| String::from_utf8_lossy(word).to_uppercase()).collect()
        }
        Err(_) => {
            let bare = |word: &str| word.trim_matches(['"', '\'']).to_uppercase();
            line.split_whitespace().map(bare).collect()
        }
    };
    let Some((first, rest)) = words.split_first() else { return false };
    let is_auth = strsim::osa_distance(first, "AUTH") <= 1;
    let is_user =
        first == "ACL" && rest.first().is_some_and(|word| word != "WHOAMI" && word != "LIST");
    let has_one = |word: &String| word.contains("AUTH") || word.contains("PASS");
    is_auth || is_user || words.iter().any(has_one)
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
            "MIGRATE h 1 k 0 1 AUTH2 u secret",
        ] {
            assert!(is_secret(line), "{line}");
        }
        for line in ["", "PING", "HELLO 3", "SCUR.GET alice", "GET a", "ACL WHOAMI", "SET a 'b"] {
            assert!(!is_secret(line), "{line}");
        }
    }
}
