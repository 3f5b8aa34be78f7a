//! Which installed server a target of the Redis family uses: the newest, or the newest of one major version.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Missing, Target};

/// Directory, below the repository, into which `make lab-peers` unpacks servers: one in each subdirectory.
const UNPACKED: &str = ".cache/releases";
const BRING: &str = "`make lab-peers` brings the newest that Debian has";

/// Major, minor and patch.
type Version = [u32; 3];

impl Target {
    /// Returns the product's name and its program, for a target of the Redis family that the lab starts.
    pub(super) fn family(self) -> Option<(&'static str, &'static str)> {
        match self {
            Target::ValkeyLua
            | Target::ValkeyClient
            | Target::ValkeyBulk
            | Target::ValkeyModule
            | Target::ValkeyClusterModule
            | Target::ValkeyHset
            | Target::Valkey => Some(("valkey", "valkey-server")),
            Target::RedisLua
            | Target::RedisClient
            | Target::RedisBulk
            | Target::RedisModule
            | Target::Redis => Some(("redis", "redis-server")),
            _ => None,
        }
    }
}

/// Finds the newest installed server, of one major version if given.
pub(super) fn find(program: &str, major: Option<u32>) -> Result<PathBuf, Missing> {
    let mut all: Vec<(Version, PathBuf)> = on_path(program)
        .into_iter()
        .chain(unpacked(program))
        .filter_map(|path| Some((version_of(&path)?, path)))
        .collect();
    // The sort is stable: of two equal versions the one on PATH comes first.
    all.sort_by(|(one, _), (other, _)| other.cmp(one));
    let wanted = |version: &Version| major.is_none_or(|major| version[0] == major);
    if let Some((_, path)) = all.iter().find(|(version, _)| wanted(version)) {
        return Ok(path.clone());
    }
    let why = match (major, all.as_slice()) {
        (Some(major), [_, ..]) => {
            let here = all.iter().map(|(version, _)| text(version)).collect::<Vec<_>>().join(", ");
            format!("no {program} of major version {major} is here, only {here}")
        }
        _ => format!("{program} is not installed"),
    };
    Err(Missing { why, cure: "run scripts/install-tools.sh, or `make lab-peers`".to_owned() })
}

/// Returns a caveat for a row where only the server on PATH was available, which may not be the newest release.
pub(super) fn caveat(program: &Path) -> Option<String> {
    let name = program.file_name()?.to_str()?;
    unpacked(name).is_empty().then(|| format!("{name} is the one of PATH: {BRING}"))
}

/// Returns the unpacked servers below the working directory and its ancestors.
fn unpacked(program: &str) -> Vec<PathBuf> {
    let Ok(here) = std::env::current_dir() else { return Vec::new() };
    here.ancestors().flat_map(|above| below(&above.join(UNPACKED), program)).collect()
}

/// Returns the servers of this name in the subdirectories of a directory.
fn below(directory: &Path, program: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let path = |entry: std::io::Result<std::fs::DirEntry>| Some(entry.ok()?.path().join(program));
    entries.filter_map(path).filter(|path| path.is_file()).collect()
}

/// Returns a program on PATH.
pub(super) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|path| path.is_file())
}

/// Returns the version that a server reports; None when it does not run here.
fn version_of(program: &Path) -> Option<Version> {
    let output = Command::new(program).arg("--version").output().ok()?;
    parse(std::str::from_utf8(&output.stdout).ok()?)
}

/// Parses `Valkey server v=9.1.2 sha=...`.
fn parse(said: &str) -> Option<Version> {
    let text = said.split_whitespace().find_map(|word| word.strip_prefix("v="))?;
    let mut parts = text.split('.').map(|part| part.parse().ok());
    let mut part = || parts.next().flatten();
    Some([part()?, part()?, part()?])
}

fn text(version: &Version) -> String {
    version.map(|part| part.to_string()).join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_its_version() {
        let said = "Valkey server v=9.1.2 sha=00000000:1 malloc=jemalloc-5.3.1 bits=64 build=91\n";
        assert_eq!(parse(said), Some([9, 1, 2]));
        assert_eq!(parse("Redis server v=8.0.6 sha=0:1"), Some([8, 0, 6]));
        for other in ["", "v=", "v=9.1", "Valkey server v=unstable"] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn servers_are_found_where_they_were_unpacked() {
        let releases = tempfile::tempdir().unwrap();
        assert!(below(releases.path(), "valkey-server").is_empty());
        for (name, program) in [("valkey-9", "valkey-server"), ("redis-8", "redis-server")] {
            std::fs::create_dir(releases.path().join(name)).unwrap();
            std::fs::write(releases.path().join(name).join(program), "").unwrap();
        }
        let found = below(releases.path(), "valkey-server");
        assert_eq!(found, [releases.path().join("valkey-9/valkey-server")]);
        // A file that does not run reports no version, and is not used.
        assert_eq!(version_of(&found[0]), None);
    }

    #[test]
    fn a_server_that_nobody_has_is_named_with_its_cure() {
        let missing = find("no-such-server", Some(8)).unwrap_err();
        assert_eq!(missing.why, "no-such-server is not installed");
    }
}
