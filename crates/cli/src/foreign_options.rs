//! Advice for users who give `scurry serve` options of redis-server or valkey-server.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// Foreign options and the advice for each.
const OPTIONS: [(&[&str], &str); 11] = [
    (&["--bind"], "--listen ADDR:PORT is the address to listen on, as --listen 0.0.0.0:6389"),
    (
        &["--save"],
        "--snapshot-log says when a snapshot is written; changes are in the log before they are answered",
    ),
    (
        &["--appendonly", "--appendfsync"],
        "--durability none, write or fsync (the default) says what a change survives",
    ),
    (
        &["--dbfilename", "--appendfilename", "--appenddirname"],
        "--dir is the directory of the data",
    ),
    (&["--logfile"], "the log goes to stderr: 2>scurry.log puts it into a file"),
    (&["--loglevel"], "--log off, error, warn, info, debug or trace says what is logged"),
    (&["--daemonize"], "a service of systemd runs it in the background: docs/install.md"),
    (
        &["--cluster-enabled"],
        "CLUSTER commands are always there: with --threads each thread is a node of a cluster, see docs/cluster.md",
    ),
    (&["--replicaof", "--slaveof"], "--replicate makes a node of a group: docs/replication.md"),
    (&["--io-threads"], "--threads N divides the keys among so many threads"),
    (&["--proto-max-bulk-len"], "--max-argument is the longest argument of a command"),
];

/// Adds advice to an error about an unknown option, if there is any for it.
pub(crate) fn with_advice(mut error: Error, words: &[String]) -> Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let is_serve = words.get(1).is_some_and(|word| word == "serve" || word.starts_with('-'));
    if let Some(advice) = advice(option, words).filter(|_| is_serve) {
        let advice = ContextValue::StyledStrs(vec![StyledStr::from(advice)]);
        error.insert(ContextKind::Suggested, advice);
    }
    error
}

fn advice(option: &str, words: &[String]) -> Option<String> {
    let option = option.split('=').next().unwrap_or(option);
    if matches!(option, "--port" | "-p") {
        let is_port = |word: &&str| word.parse::<u16>().is_ok();
        let value = words.iter().enumerate().find_map(|(at, word)| {
            let rest = word.strip_prefix(option)?;
            let value =
                if rest.is_empty() { words.get(at + 1)? } else { rest.trim_start_matches('=') };
            Some(value).filter(is_port)
        });
        let port = value.unwrap_or("6389");
        return Some(format!(
            "the port stands with the address: scurry serve --listen 127.0.0.1:{port}"
        ));
    }
    if option == "-a" {
        return Some(
            "the password of clients is --requirepass, better in SCURRY_REQUIREPASS".to_owned(),
        );
    }
    let found = OPTIONS.iter().find(|(names, _)| names.contains(&option));
    found.map(|(_, advice)| (*advice).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Option<String> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let option = words.iter().find(|word| word.starts_with('-')).expect("an option");
        // Clap names a short option without its value.
        let len = if option.starts_with("--") { option.len() } else { 2 };
        advice(&option[..len], &words)
    }

    #[test]
    fn a_port_is_told_as_it_was_meant() {
        let listen = |port: &str| {
            Some(format!(
                "the port stands with the address: scurry serve --listen 127.0.0.1:{port}"
            ))
        };
        assert_eq!(said("scurry serve --port 6379"), listen("6379"));
        assert_eq!(said("scurry serve --port=6380"), listen("6380"));
        assert_eq!(said("scurry serve -p 6379"), listen("6379"));
        assert_eq!(said("scurry serve -p6381"), listen("6381"));
        assert_eq!(said("scurry --port"), listen("6389"));
        assert_eq!(said("scurry serve --port x"), listen("6389"));
    }

    #[test]
    fn other_options_of_redis_are_told_theirs() {
        assert!(said("scurry serve --appendonly yes").expect("known").contains("--durability"));
        assert!(said("scurry serve -a secret").expect("known").contains("--requirepass"));
        assert_eq!(said("scurry serve --nosuch 1"), None);
    }
}
