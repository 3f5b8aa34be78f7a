//! The file of settings. An unknown key is an error that names it, so that a typing mistake in
//! a bound is not found out later, by its absence.

use crate::mode::Mode;
use crate::rdma::RdmaTable;
use crate::size::Size;
use anyhow::{Context, Result, ensure};
use scurry_ledger::{ANSWERS_MAX, BLOB_LEN_MAX, BUCKETS_MAX, ITEMS_MAX, Limits, Overrun};
use scurry_server::UserEntry;
use serde::Deserialize;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

/// What the file may say. Everything may be left out.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub(crate) listen: Option<SocketAddr>,
    pub(crate) threads: Option<u16>,
    pub(crate) core_port: Option<u16>,
    pub(crate) announce_ip: Option<IpAddr>,
    pub(crate) requirepass: Option<String>,
    pub(crate) allow_open_access_without_password: Option<bool>,
    pub(crate) max_memory: Option<Size>,
    pub(crate) max_clients: Option<usize>,
    pub(crate) auth_ms_max: Option<i64>,
    pub(crate) max_argument: Option<Size>,
    pub(crate) max_request: Option<Size>,
    pub(crate) log: Option<String>,
    pub(crate) tls_cert: Option<PathBuf>,
    pub(crate) tls_key: Option<PathBuf>,
    pub(crate) tls_client_ca: Option<PathBuf>,
    pub(crate) tls_listen: Option<SocketAddr>,
    pub(crate) tls_handshake_ms_max: Option<i64>,
    pub(crate) entity_index: Option<bool>,
    pub(crate) entity_tombstone_ms: Option<i64>,
    pub(crate) node: Option<u16>,
    pub(crate) dir: Option<PathBuf>,
    pub(crate) durability: Option<Mode>,
    pub(crate) snapshot_log: Option<Size>,
    pub(crate) keep_log: Option<Size>,
    pub(crate) http_listen: Option<SocketAddr>,
    pub(crate) http_max_clients: Option<usize>,
    pub(crate) http_hosts: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) rdma: RdmaTable,
    #[serde(default)]
    users: Vec<UserTable>,
    #[serde(default)]
    limits: LimitsTable,
}

/// One of `[[users]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct UserTable {
    name: String,
    password_hash: Option<String>,
    token_hash: Option<String>,
    roles: Vec<String>,
}

impl UserTable {
    fn entry(&self) -> UserEntry {
        UserEntry {
            name: self.name.clone(),
            password_hash: self.password_hash.clone(),
            token_hash: self.token_hash.clone(),
            roles: self.roles.clone(),
        }
    }
}

/// The bounds of accounts, by the names that `Limits` gives them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitsTable {
    identities_max: Option<usize>,
    buckets_max: Option<usize>,
    counters_max: Option<usize>,
    sessions_max: Option<usize>,
    session_ids_max: Option<usize>,
    items_max: Option<usize>,
    answers_max: Option<usize>,
    transactions_max: Option<usize>,
    blob_len_max: Option<usize>,
    tombstone_ms: Option<i64>,
    transaction_ms: Option<i64>,
    validity_ms_default: Option<i64>,
    tcc_ms_max: Option<i64>,
    overrun_default: Option<OverrunWord>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum OverrunWord {
    Overdraw,
    Clamp,
}

impl File {
    /// Reads and checks the file.
    pub(crate) fn read(path: &Path) -> Result<File> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the settings in {}", path.display()))?;
        toml::from_str(&text).with_context(|| format!("wrong settings in {}", path.display()))
    }

    /// The users of a file that has nothing else; at least one.
    pub(crate) fn read_users(path: &Path) -> Result<Vec<UserEntry>> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct UsersFile {
            users: Vec<UserTable>,
        }
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read the users in {}", path.display()))?;
        let file: UsersFile =
            toml::from_str(&text).with_context(|| format!("wrong users in {}", path.display()))?;
        ensure!(!file.users.is_empty(), "there are no [[users]] in {}", path.display());
        Ok(file.users.iter().map(UserTable::entry).collect())
    }

    /// The users, not checked yet.
    pub(crate) fn users(&self) -> Vec<UserEntry> {
        self.users.iter().map(UserTable::entry).collect()
    }

    /// The defaults with what the file says instead.
    pub(crate) fn limits(&self) -> Result<Limits> {
        let (table, default) = (&self.limits, Limits::default());
        let count = |name, value: Option<usize>, default, least: usize, most: usize| {
            let value = value.unwrap_or(default);
            ensure!((least..=most).contains(&value), "limits.{name} must be {least} to {most}");
            Ok(value)
        };
        let time = |name, value: Option<i64>, default, least: i64| {
            let value = value.unwrap_or(default);
            ensure!(
                (least..=YEAR_MS).contains(&value),
                "limits.{name} must be {least} to {YEAR_MS} ms"
            );
            Ok(value)
        };
        let limits = Limits {
            identities_max: count(
                "identities_max",
                table.identities_max,
                default.identities_max,
                0,
                64,
            )?,
            buckets_max: count(
                "buckets_max",
                table.buckets_max,
                default.buckets_max,
                1,
                BUCKETS_MAX,
            )?,
            counters_max: count(
                "counters_max",
                table.counters_max,
                default.counters_max,
                0,
                1_024,
            )?,
            sessions_max: count(
                "sessions_max",
                table.sessions_max,
                default.sessions_max,
                1,
                65_535,
            )?,
            session_ids_max: count(
                "session_ids_max",
                table.session_ids_max,
                default.session_ids_max,
                1,
                65_535,
            )?,
            items_max: count("items_max", table.items_max, default.items_max, 1, ITEMS_MAX)?,
            answers_max: count(
                "answers_max",
                table.answers_max,
                default.answers_max,
                1,
                ANSWERS_MAX,
            )?,
            transactions_max: count(
                "transactions_max",
                table.transactions_max,
                default.transactions_max,
                1,
                65_535,
            )?,
            blob_len_max: count(
                "blob_len_max",
                table.blob_len_max,
                default.blob_len_max,
                0,
                BLOB_LEN_MAX,
            )?,
            tombstone_ms: time("tombstone_ms", table.tombstone_ms, default.tombstone_ms, 0)?,
            transaction_ms: time(
                "transaction_ms",
                table.transaction_ms,
                default.transaction_ms,
                0,
            )?,
            validity_ms_default: time(
                "validity_ms_default",
                table.validity_ms_default,
                default.validity_ms_default,
                1,
            )?,
            tcc_ms_max: time("tcc_ms_max", table.tcc_ms_max, default.tcc_ms_max, 1)?,
            overrun_default: match table.overrun_default {
                None => default.overrun_default,
                Some(OverrunWord::Overdraw) => Overrun::Overdraw,
                Some(OverrunWord::Clamp) => Overrun::Clamp,
            },
        };
        ensure!(
            limits.sessions_max <= limits.session_ids_max,
            "limits.sessions_max must not be above limits.session_ids_max"
        );
        ensure!(
            limits.validity_ms_default <= limits.tcc_ms_max,
            "limits.validity_ms_default must not be above limits.tcc_ms_max"
        );
        Ok(limits)
    }
}

/// The longest time that a setting may be, ms.
pub(crate) const YEAR_MS: i64 = 366 * 24 * 3_600_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_says_the_defaults() {
        let file: File = toml::from_str(include_str!("../scurry.example.toml")).expect("it parses");
        assert_eq!(file.limits().expect("it is valid"), Limits::default());
        assert_eq!(
            file.listen.map(|listen| listen.to_string()).as_deref(),
            Some(scurry_server::DEFAULT_LISTEN)
        );
    }

    #[test]
    fn mistakes_are_named() {
        let error = toml::from_str::<File>("lisen = '127.0.0.1:1'").expect_err("no such key");
        assert!(error.to_string().contains("lisen"), "{error}");
        let error = toml::from_str::<File>("[limits]\nsessions = 1").expect_err("no such key");
        assert!(error.to_string().contains("sessions"), "{error}");
        let file: File = toml::from_str("[limits]\nitems_max = 17").expect("it parses");
        let error = file.limits().expect_err("too many");
        assert!(error.to_string().contains("limits.items_max must be 1 to 16"), "{error}");
    }
}
