//! Reads files of settings and of users, and explains mistakes in them. For an unknown key the TOML parser lists all
//! keys of the table; here the most similar one is suggested.

use crate::suggestions::{join_with_or, nearest};
use anyhow::{Context, Result, anyhow};
use serde::de::DeserializeOwned;
use std::path::Path;

/// Reads a value from a file. `what` names the file in errors: "settings", "users".
pub(crate) fn read<T: DeserializeOwned>(path: &Path, what: &str) -> Result<T> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the {what} in {}", path.display()))?;
    parse(&text).with_context(|| format!("wrong {what} in {}", path.display()))
}

/// Parses a value. An error has the line but not its text, which may be a password.
pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error| anyhow!(told(text, &error)))
}

fn told(text: &str, error: &toml::de::Error) -> String {
    let named = unknown_key(error.message()).map(|(key, known)| in_words(key, &known));
    let message = named.unwrap_or_else(|| without_value(error.message().trim_end()));
    let before = error.span().and_then(|span| text.get(..span.start));
    let Some(before) = before else { return message };
    let begin = before.rfind('\n').map_or(0, |at| at + 1);
    let line = 1 + before.matches('\n').count();
    let column = 1 + before[begin..].chars().count();
    let setting = setting(text, &text[begin..]);
    let message = setting.and_then(|(name, value)| without_quotes(name, value)).unwrap_or(message);
    let name = setting.map_or(String::new(), |(name, _)| format!(", at `{name}`"));
    format!("line {line}, column {column}{name}: {message}")
}

/// Returns name and value of the setting at the start of `rest`. None if the line may lie inside a multi-line value.
fn setting<'a>(text: &str, rest: &'a str) -> Option<(&'a str, &'a str)> {
    if text.contains("\"\"\"") || text.contains("'''") {
        return None;
    }
    let (name, value) = rest.lines().next()?.split_once('=')?;
    let name = name.trim();
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (!name.is_empty() && name.bytes().all(is_letter)).then_some((name, value.trim()))
}

/// Returns the advice for a text without quotes, for which the parser only says that it is not a number.
fn without_quotes(name: &str, value: &str) -> Option<String> {
    let is_address = value.starts_with('[') && value.contains("]:");
    let has_mark = value.is_empty() || value.starts_with(['"', '\'', '[', '{', '#']);
    let is_value = || toml::from_str::<toml::Table>(&format!("value = {value}")).is_ok();
    let is_text = (is_address || !has_mark) && !is_value();
    is_text.then(|| format!("the value wants quotes around it: {name} = \"...\""))
}

/// Removes the value itself from a message about a wrong type.
fn without_value(message: &str) -> String {
    let is_about_one = ["invalid type: ", "invalid value: "];
    if !is_about_one.iter().any(|begin| message.starts_with(begin)) {
        return message.to_owned();
    }
    let (found, expected) = message.rsplit_once(", expected ").unwrap_or((message, "another"));
    let kind = found.split(['"', '`']).next().unwrap_or_default().trim_end();
    format!("{kind}, expected {expected}")
}

/// Returns the unknown key and the known ones from the parser's message.
fn unknown_key(message: &str) -> Option<(&str, Vec<&str>)> {
    let rest = message.strip_prefix("unknown field `")?;
    // A quoted key may contain anything, so it is split at the last mark; the names after it are ours.
    let (key, known) = rest.rsplit_once("`, expected ")?;
    Some((key, known.split('`').skip(1).step_by(2).collect()))
}

fn in_words(key: &str, known: &[&str]) -> String {
    let quoted: Vec<String> = meant(key, known).iter().map(|near| format!("`{near}`")).collect();
    if quoted.is_empty() {
        return format!("unknown setting `{key}`: known here are {}", known.join(", "));
    }
    format!("unknown setting `{key}`: did you mean {}?", join_with_or(&quoted))
}

fn meant<'a>(key: &str, known: &[&'a str]) -> Vec<&'a str> {
    let key = key.to_ascii_lowercase().replace('-', "_");
    let near = nearest(&key, known.iter().copied());
    if !near.is_empty() {
        return near;
    }
    // Also suggests a key written with the name of its table before it, and the start of a longer key.
    let is_part = |one: &str, other: &str| {
        let starts = other.strip_prefix(one).is_some_and(|rest| rest.starts_with('_'));
        starts || one.strip_suffix(other).is_some_and(|rest| rest.ends_with('_'))
    };
    known.iter().copied().filter(|name| is_part(&key, name)).collect()
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
            ("htp_listen = '127.0.0.1:1'", 1, "did you mean `http_listen`?"),
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
            let place = format!("line {line}, column 1, at `");
            assert!(said.starts_with(&place) && said.contains(expected), "{said}");
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
        // The text inside a quoted key is not taken for the list of names.
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

    #[test]
    fn a_text_without_quotes_is_told_that_it_wants_them() {
        for (text, name) in [
            ("listen = 127.0.0.1:6389", "listen"),
            ("listen = [::1]:6389 ", "listen"),
            ("threads = 1\nhttp_listen=0.0.0.0:8080 # all", "http_listen"),
            ("dir = /var/lib/scurry", "dir"),
            ("durability = fsync", "durability"),
            ("requirepass = hunter2", "requirepass"),
            ("[limits]\nidentities_max = 1k", "identities_max"),
        ] {
            let said = refusal(text);
            let cure = format!(": the value wants quotes around it: {name} = \"...\"");
            assert!(said.starts_with("line ") && said.ends_with(&cure), "{text}: {said}");
        }
        // Mistakes of other kinds do not get this advice.
        let others =
            ["threads = 1\nthreads = 2", "threads = 0", "dir = \"a", "dir =", "dir = ['a', b]"];
        for text in others {
            let said = refusal(text);
            assert!(!said.contains("quotes around"), "{text}: {said}");
        }
    }

    #[test]
    fn no_mistake_shows_a_password() {
        for (text, place) in [
            ("requirepas = \"hunter2\"", "line 1, column 1, at `requirepas`: "),
            ("threads = 1\nrequirepass = hunter2", "line 2, column 15, at `requirepass`: "),
            ("requirepass = \"hunter2", "line 1, column "),
            ("requirepass = 'hunter2\n'", "line "),
            ("requirepass = [\"hunter2\"]", "line 1, column 15, at `requirepass`: invalid type"),
            ("[[users]]\nname = 'a'\npassword = \"hunter2\"", "line 3, column 1, at `password`: "),
            ("[[users]]\nname = 'a'\nroles = \"hunter2\"", "line 3, column 9, at `roles`: "),
            ("requirepass \"hunter2\"", "line 1, column "),
            ("\"hunter2\" = requirepass", "line 1, column "),
            ("requirepass = \"\"\"\nhunter2 = \\q\"\"\"", "line 2, column "),
        ] {
            let said = refusal(text);
            assert!(said.starts_with(place) && !said.contains("hunter"), "{text}: {said}");
        }
    }
}
