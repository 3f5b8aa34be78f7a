//! Files of settings and of users: how they are read, and how a mistake in one is told. The reader of TOML
//! lists every key of a table that has none of this name; whoever has mistyped one wants the nearest.

use anyhow::{Context, Result, anyhow};
use serde::de::DeserializeOwned;
use std::path::Path;

/// A key that is less alike than this is another word, and is not offered.
const LIKENESS_MIN: f64 = 0.8;

/// Value of the file. `what` names it in errors: "settings", "users".
pub(crate) fn read<T: DeserializeOwned>(path: &Path, what: &str) -> Result<T> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the {what} in {}", path.display()))?;
    parse(&text).with_context(|| format!("wrong {what} in {}", path.display()))
}

/// Value of the text; an error has its line.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error| anyhow!(told(&error)))
}

fn told(error: &toml::de::Error) -> String {
    let shown = error.to_string();
    let shown = shown.trim_end();
    let named = unknown_key(error.message()).map(|(key, known)| in_words(key, &known));
    // The message comes last, behind the line with the mistake.
    match named.zip(shown.strip_suffix(error.message().trim_end())) {
        Some((named, line)) => format!("{line}{named}"),
        None => shown.to_owned(),
    }
}

/// The key that its table does not know, and those that it knows, of what the reader says.
fn unknown_key(message: &str) -> Option<(&str, Vec<&str>)> {
    let rest = message.strip_prefix("unknown field `")?;
    // A key in quotes may have anything within; the names behind it are ours.
    let (key, known) = rest.rsplit_once("`, expected ")?;
    Some((key, known.split('`').skip(1).step_by(2).collect()))
}

fn in_words(key: &str, known: &[&str]) -> String {
    match nearest(key, known) {
        Some(near) => format!("unknown setting `{key}`: did you mean `{near}`?"),
        None => format!("unknown setting `{key}`: known here are {}", known.join(", ")),
    }
}

fn nearest<'a>(key: &str, known: &[&'a str]) -> Option<&'a str> {
    let key = key.to_ascii_lowercase().replace('-', "_");
    // A key with the name of its table before it is meant too.
    let is_longer = |name: &str| key.strip_suffix(name).is_some_and(|rest| rest.ends_with('_'));
    let likeness = |name| if is_longer(name) { 1.0 } else { strsim::jaro_winkler(&key, name) };
    let alike = known.iter().map(|&name| (likeness(name), name));
    let best = alike.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.filter(|&(likeness, _)| likeness >= LIKENESS_MIN).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::Options;

    fn refusal(text: &str) -> String {
        parse::<Options>(text).expect_err(text).to_string()
    }

    #[test]
    fn a_mistyped_key_is_told_the_nearest_of_its_table_and_its_line() {
        for (text, line, expected) in [
            ("listn = '127.0.0.1:1'", 1, "unknown setting `listn`: did you mean `listen`?"),
            ("threads = 1\nthread = 2", 2, "did you mean `threads`?"),
            ("http-listen = '127.0.0.1:1'", 1, "did you mean `http_listen`?"),
            ("MaxMemory = '1gb'", 1, "did you mean `max_memory`?"),
            ("allow_open_access = true", 1, "did you mean `allow_open_access_without_password`?"),
            ("\n[limits]\nsessions = 1", 3, "did you mean `sessions_max`?"),
            (
                "[rdma]\nrdma_listen = 'a'",
                2,
                "unknown setting `rdma_listen`: did you mean `listen`?",
            ),
            ("[[users]]\nname = 'a'\ntoken = 'b'", 3, "did you mean `token_hash`?"),
            ("[[users]]\nname = 'a'\nrole = []", 3, "did you mean `roles`?"),
        ] {
            let said = refusal(text);
            assert!(said.contains(&format!("at line {line}, column 1\n")), "{said}");
            assert!(said.contains(expected) && said.contains("^\n"), "{said}");
        }
    }

    #[test]
    fn a_key_that_is_like_none_is_told_all_of_its_table() {
        let said = refusal("[limits]\ncolour = 'red'");
        assert!(
            said.contains("unknown setting `colour`: known here are identities_max, "),
            "{said}"
        );
        assert!(!said.contains("did you mean"), "{said}");
        // What a quoted key has within is no list of names.
        let said = refusal("\"a`, expected `b\" = 1");
        assert!(
            said.contains("unknown setting `a`, expected `b`: known here are listen, "),
            "{said}"
        );
    }

    #[test]
    fn other_mistakes_are_told_as_the_reader_tells_them() {
        let said = refusal("threads = 0");
        assert!(said.ends_with("\"0\" is not a whole number from 1 to 256"), "{said}");
        assert!(refusal("threads = 1\nthreads = 2").contains("duplicate key"), "named");
    }
}
