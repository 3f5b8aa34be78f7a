//! The options of `scurry serve`, each declared once for both the command line and the settings file. An unknown key in
//! the file is an error that names it, so that a misspelt bound is not silently missing.

use super::limits::{LimitsTable, YEAR_MS};
use crate::keep_log::KeepLog;
use crate::option_values::{
    Address, HostIp, Level, LostGroupName, Mode, NodeName, Number, UnitDecimal,
};
use crate::rdma::Rdma;
use crate::size::Size;
use crate::toml_file;
use crate::users::UserTable;
use anyhow::Result;
use clap::{ArgMatches, Args, FromArgMatches};
use scurry_door_diameter::DiameterSection;
use scurry_door_http::NchfSettings;
use scurry_ledger::Limits;
use scurry_service_table::{ServiceRow, SubscriberRow, UnknownSubscriber};
use serde::Deserialize;
use std::path::PathBuf;

/// Maximum number of connections.
pub(crate) type Clients = Number<usize, 1, 10_000_000>;
/// Number in the lowest part of an entity's version, which tells the servers or doors that wrote it apart.
pub(crate) type NodeNumber = Number<u16, 0, 511>;

const EXAMPLES: &str = "Examples:
  scurry serve
  scurry serve --listen 127.0.0.1:6390 --dir /var/lib/scurry --http-listen 127.0.0.1:8080
  SCURRY_REQUIREPASS=secret scurry serve --listen 0.0.0.0:6389
  scurry serve --config scurry.toml";

/// Options as they were given: an omitted option is None, and the code that reads it has the default.
#[derive(Args, Debug, Default, Deserialize)]
#[command(after_help = EXAMPLES)]
#[serde(deny_unknown_fields)]
pub(crate) struct Options {
    /// Address and port to listen on; port 0 takes a free one and prints it [default: 127.0.0.1:6389]
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Option<Address>,

    /// Threads, each with its own share of the keys. With more than one, each also gets a port of its own for clients
    /// that know clusters (CLUSTER SLOTS names them); the main port serves every key to every client. At most 256;
    /// not more than the machine has cores is best [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<Number<u16, 1, 256>>,

    /// Port of the first thread; the others follow [default: the one after the main port]
    #[arg(long, value_name = "PORT")]
    pub(crate) core_port: Option<Number<u16, 0, 65_535>>,

    /// Address of this machine in CLUSTER SLOTS and MOVED [default: the one that the client has connected to]
    #[arg(long, value_name = "IP")]
    pub(crate) announce_ip: Option<HostIp>,

    /// Memory for keys, values and accounts. Above it commands that need memory get the OOM error; commands that end,
    /// settle or correct something still run [default: unlimited]
    #[arg(long, value_name = "SIZE", visible_alias = "maxmemory")]
    pub(crate) max_memory: Option<Size>,

    /// Password that clients must give with AUTH. Prefer the environment: a command line can be
    /// read by every user of the machine
    #[arg(long, value_name = "PASSWORD", env = "SCURRY_REQUIREPASS", hide_env_values = true)]
    pub(crate) requirepass: Option<String>,

    /// Listen on addresses beyond this machine although there is no password, or, for nodes, no TLS: any client that
    /// reaches the port can spend and delete balances
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub(crate) allow_open_access_without_password: Option<bool>,

    /// Certificate of the server and those between it and its root (PEM). With --tls-key the main port and the
    /// threads' ports use TLS 1.2 and 1.3
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_key: Option<PathBuf>,

    /// Clients must show a certificate signed by one of these authorities (PEM)
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_client_ca: Option<PathBuf>,

    /// Speak TLS here, and leave --listen and the ports of the threads without
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) tls_listen: Option<Address>,

    /// Connections at most; a new one above them is closed. At most a quarter may be unauthenticated; the oldest of
    /// them is closed for a new one [default: 10000]
    #[arg(long, value_name = "N", visible_alias = "maxclients")]
    pub(crate) max_clients: Option<Clients>,

    /// Longest argument of a command, so longest plain value: 1kb to --max-request. A longer one is an error
    /// with both lengths, and the end of the connection [default: 8mb]
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_argument: Option<Size>,

    /// Longest whole command, which bounds the input buffer of a connection: 64kb to 2gb, with a log 512mb.
    /// A longer one is an error, and the end of the connection [default: 16mb]
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_request: Option<Size>,

    /// Kinds of identities of which no two accounts may have the same, as msisdn,imsi: CREATE, STATUS and
    /// SCUR.LOAD of a second one are refused with IDENTITY_EXISTS [default: none]
    #[arg(long, value_name = "KIND,...", value_delimiter = ',')]
    pub(crate) unique_identities: Option<Vec<String>>,

    /// Let ENTITY.FIND find entities by their value: costs memory for each entity
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub(crate) entity_index: Option<bool>,

    /// Number of this server in versions of entities, 0 to 511: servers with copies of the same
    /// entities need different ones [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) node: Option<NodeNumber>,

    /// Directory of the store: the log and the snapshots. It is made if it is not there
    /// [default: scurry-data]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    /// When a change is answered: none (kept in memory alone), write (in the page cache: it
    /// survives the process), fsync (on the device: it survives a power failure) [default: fsync]
    #[arg(long, value_name = "MODE")]
    pub(crate) durability: Option<Mode>,

    /// A thread writes a snapshot when its log has grown by this much, 1mb at least; recovery reads as much of
    /// the log at most, or little more [default: 1gb]
    #[arg(long, value_name = "SIZE")]
    pub(crate) snapshot_log: Option<Size>,

    /// How much of each thread's log is kept for readers of events and statements, although recovery does not need it:
    /// at least a size (64gb), all of some days or hours (30d, 12h), or all of them in at most a size (30d,64gb). A
    /// reader that asks for older events is told where they begin [default: 0, what recovery needs]
    #[arg(long, value_name = "SIZE|AGE[,SIZE]")]
    pub(crate) keep_log: Option<KeepLog>,

    /// Keep the store on three machines: this server is a node of a group, and the other nodes reach it
    /// here. Takes a --dir and --durability fsync. docs/replication.md [default: this machine alone]
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) replicate: Option<Address>,

    /// Nodes of the group that a node with an empty directory joins, by their --replicate addresses; it asks until it
    /// is admitted. A node that has joined knows the others. `scurry replica init` starts a group, once [default:
    /// none]
    #[arg(long, value_name = "ADDR:PORT,...", value_delimiter = ',')]
    pub(crate) join: Option<Vec<Address>>,

    /// Id of the node whose place this one takes when it joins: a node that is permanently lost; its id can never
    /// join again [default: none]
    #[arg(long, value_name = "ID")]
    pub(crate) replaces: Option<NodeName>,

    /// This node of a group never gets a vote: it takes the log at its own pace, in another place, and no commit and no
    /// election waits for it [default: a node that has caught up gets a vote]
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub(crate) observer: Option<bool>,

    /// This group was made of what was left of another one, which is lost: its nodes at these addresses are told until
    /// they have ended for good, should they come back. `scurry restore` shows the value [default: none]
    #[arg(long, value_name = "STORE@ADDR:PORT,...")]
    pub(crate) succeeds: Option<LostGroupName>,

    /// Certificate of this node, for the address by which the other nodes reach it, and those between it
    /// and its root (PEM). With --replicate-tls-key and --replicate-tls-ca the nodes speak TLS 1.3 with
    /// each other, and each asks for the other's certificate [default: none, they speak without TLS]
    #[arg(long, value_name = "FILE")]
    pub(crate) replicate_tls_cert: Option<PathBuf>,

    /// Private key of the certificate for nodes (PEM)
    #[arg(long, value_name = "FILE")]
    pub(crate) replicate_tls_key: Option<PathBuf>,

    /// CA certificates that have signed the certificates of all nodes of the group (PEM)
    #[arg(long, value_name = "FILE")]
    pub(crate) replicate_tls_ca: Option<PathBuf>,

    /// A tick of the group's clock, ms: for tests.
    #[arg(long, value_name = "MILLISECONDS", hide = true)]
    #[serde(skip)]
    pub(crate) tick_ms: Option<Number<u32, 5, 1_000>>,

    /// Open the HTTP door here too: /metrics, /healthz, /readyz and the console at /. With
    /// --tls-cert it speaks HTTPS; users and roles are those of RESP [default: no HTTP door]
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) http_listen: Option<Address>,

    /// Connections of the HTTP door at most; a new one above them is closed [default: 1000]
    #[arg(long, value_name = "N")]
    pub(crate) http_max_clients: Option<Clients>,

    /// Names of hosts that the HTTP door is asked by, and whose pages may ask it, beside its addresses
    /// and localhost. On loopback without users and TLS other names are refused: a web page could have
    /// made them up [default: none]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) http_hosts: Option<Vec<String>>,

    /// Decimals of units, with which the console shows and reads amounts: USD=2 shows 1234 as 12.34. Amounts in
    /// requests and answers stay whole numbers [default: none]
    #[arg(long, value_name = "UNIT=N,...", value_delimiter = ',')]
    pub(crate) unit_decimals: Option<Vec<UnitDecimal>>,

    /// Open the Diameter door here too, for gateways (Ro, Gy): TCP, by the tables [diameter], [[services]] and
    /// [[subscribers]] of the settings file [default: no Diameter door]
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) diameter_listen: Option<Address>,

    /// File of settings (TOML); the command line goes before it. scurry.example.toml has every setting, also the
    /// bounds of accounts, which no option sets
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub(crate) config: Option<PathBuf>,

    /// Level of the log on stderr: off, error, warn, info, debug or trace [default: info]
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log: Option<Level>,

    // After all other options: those that follow would appear under its heading.
    #[command(flatten)]
    #[serde(default)]
    pub(crate) rdma: Rdma,

    /// Time that a connection has to come in, ms.
    #[arg(skip)]
    pub(crate) auth_ms_max: Option<Number<i64, 1, 3_600_000>>,

    /// Time that a TLS handshake may take, ms.
    #[arg(skip)]
    pub(crate) tls_handshake_ms_max: Option<Number<i64, 1, 600_000>>,

    /// Time that the deletion of an entity is remembered, ms.
    #[arg(skip)]
    pub(crate) entity_tombstone_ms: Option<Number<i64, 0, YEAR_MS>>,

    /// Users beside the default one.
    #[arg(skip)]
    #[serde(default)]
    pub(crate) users: Vec<UserTable>,

    /// The Diameter door.
    #[arg(skip)]
    pub(crate) diameter: Option<DiameterSection>,

    /// The door of 5G.
    #[arg(skip)]
    #[serde(default)]
    pub(crate) nchf: NchfSettings,

    /// What is charged, and how: the table of services.
    #[arg(skip)]
    #[serde(default)]
    pub(crate) services: Vec<ServiceRow>,

    /// How subscribers find their accounts.
    #[arg(skip)]
    #[serde(default)]
    pub(crate) subscribers: Vec<SubscriberRow>,

    /// What an unknown subscriber is answered.
    #[arg(skip)]
    #[serde(default)]
    pub(crate) unknown_subscriber: UnknownSubscriber,

    /// Bounds of accounts, the defaults where the file says nothing; not checked yet.
    #[arg(skip)]
    #[serde(default, with = "LimitsTable")]
    pub(crate) limits: Limits,
}

impl Options {
    /// Merges the options of the command line (parsed from `matches`) over those of the file that they name. An error
    /// names the file and the mistake in it.
    pub(crate) fn over_file(self, matches: &ArgMatches) -> Result<Options> {
        let Some(path) = &self.config else { return Ok(self) };
        let mut options: Options = toml_file::read(path, "settings")?;
        options.update_from_arg_matches(matches)?;
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Command;
    use std::collections::BTreeSet;

    const EXAMPLE: &str = include_str!("../../scurry.example.toml");
    /// Options without a key in the file, and keys without an option.
    const NOT_IN_FILES: [&str; 2] = ["config", "tick_ms"];
    const IN_FILES_ALONE: [&str; 11] = [
        "auth_ms_max",
        "diameter",
        "entity_tombstone_ms",
        "limits",
        "nchf",
        "rdma",
        "services",
        "subscribers",
        "tls_handshake_ms_max",
        "unknown_subscriber",
        "users",
    ];

    /// Returns the keys of a table in the file, read from the error about an unknown key.
    fn keys(table: &str) -> BTreeSet<String> {
        let error = toml::from_str::<Options>(&format!("{table}\nnone = 1")).expect_err("no key");
        let known = error.message().split_once("expected one of").expect("a list").1;
        known.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }

    fn given(words: &[&str]) -> ArgMatches {
        let command = Options::augment_args(Command::new("serve"));
        command.no_binary_name(true).get_matches_from(words)
    }

    #[test]
    fn an_option_is_a_key_of_the_file_and_a_key_is_an_option() {
        let command = Options::augment_args(Command::new("serve"));
        let options = command.get_arguments().filter_map(|option| option.get_long());
        let options: BTreeSet<String> = options.map(|long| long.replace('-', "_")).collect();
        let mut expected = keys("");
        expected.extend(keys("[rdma]").iter().map(|key| format!("rdma_{key}")));
        expected.extend(NOT_IN_FILES.map(str::to_owned));
        expected.retain(|key| !IN_FILES_ALONE.contains(&&**key));
        assert_eq!(options, expected);
        let shown = |key: &String| EXAMPLE.contains(&format!("{key} = "));
        let hidden: Vec<String> = keys("").into_iter().filter(|key| !shown(key)).collect();
        let tables = ["diameter", "limits", "nchf", "rdma", "services", "subscribers", "users"];
        assert_eq!(hidden, tables, "which are tables of the example");
    }

    #[test]
    fn the_command_line_goes_before_the_file() {
        let file = "threads = 2\nnode = 3\nentity_index = true\n[rdma]\nwindow = '64kb'\n\
            tuning = 'spin=0'\n[limits]\nitems_max = 3";
        let mut options: Options = toml::from_str(file).expect("it parses");
        let matches = given(&["--threads", "4", "--rdma-window", "128kb", "--http-hosts", "a,b"]);
        options.update_from_arg_matches(&matches).expect("they fit");
        assert_eq!((options.threads, options.node), (Some(Number(4)), Some(Number(3))));
        assert_eq!((options.entity_index, options.limits.items_max), (Some(true), 3));
        assert_eq!(options.allow_open_access_without_password, None);
        assert_eq!(options.http_hosts, Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(options.rdma.window, Some(Size(128 << 10)));
        assert_eq!(options.rdma.tuning.as_deref(), Some("spin=0"));
        options.update_from_arg_matches(&given(&["--entity-index"])).expect("it fits");
        assert_eq!((options.entity_index, options.threads), (Some(true), Some(Number(4))));
    }

    /// A server with the settings of the example is the same as a server without settings.
    #[test]
    fn the_example_says_the_defaults() {
        let told = |text: &str| {
            let options: Options = toml::from_str(text).expect("it parses");
            format!("{:#?}", options.settings().expect("settings"))
        };
        assert_eq!(told(EXAMPLE), told(""));
        // Settings that require others stand in the example as comments.
        let tls = "tls_cert = 'cert.pem'\ntls_key = 'key.pem'\n";
        let handshake = "tls_handshake_ms_max = 10000\n";
        assert_eq!(told(tls), told(&format!("{tls}{handshake}")));
        let clients = "http_max_clients = 1000\n";
        let door = "http_listen = '127.0.0.1:0'\n";
        let front = |text: &str| {
            let options: Options = toml::from_str(text).expect("it parses");
            let settings = options.settings().expect("settings");
            options.front(&settings).expect("a door").expect("a door").connections_max
        };
        assert_eq!(front(door), front(&format!("{door}{clients}")));
        assert!([handshake, clients].iter().all(|line| EXAMPLE.contains(&format!("# {line}"))));
    }

    /// Returns the default that the help of an option names.
    fn said_default(option: &clap::Arg) -> Option<String> {
        let help = option.get_help()?.to_string();
        let default = help.split_once("[default: ")?.1.trim_end_matches(']').to_owned();
        Some(default)
    }

    /// Help and example are the only lists of the options that operators have.
    #[test]
    fn every_option_has_a_help_of_its_own_and_says_the_default_of_the_example() {
        let mut helps = BTreeSet::new();
        let mut compared = 0;
        for option in Options::augment_args(Command::new("serve")).get_arguments() {
            let long = option.get_long().expect("an option");
            let help = option.get_help().expect("a help").to_string();
            assert!(help.len() > 20 && helps.insert(help), "--{long} has no help of its own");
            let is_bound = |name: &clap::builder::Str| {
                ["N", "SIZE", "MODE", "LEVEL", "DIR", "PORT"].contains(&name.as_str())
            };
            let is_bound = option.get_value_names().is_some_and(|names| names.iter().any(is_bound));
            let default = said_default(option);
            assert!(default.is_some() || !is_bound, "--{long} says no default");
            let line = format!("{} = ", long.replace('-', "_"));
            let shown = EXAMPLE.lines().find_map(|text| text.strip_prefix(&line));
            let (Some(shown), Some(default)) = (shown, default) else { continue };
            let shown = shown.trim_matches('"');
            let is_no_bound = (shown, &*default) == ("0", "unlimited");
            assert!(is_no_bound || default.split(',').next() == Some(shown), "--{long}: {default}");
            compared += 1;
        }
        assert!(compared >= 12, "{compared} defaults were compared");
        let http = crate::http::Http::augment_args(Command::new("http"));
        for option in http.get_arguments() {
            let help = option.get_help().expect("a help").to_string();
            assert!(help.len() > 20 || !option.get_default_values().is_empty(), "{help}");
        }
    }

    /// A setting without an option must be explained in the example.
    #[test]
    fn every_key_that_no_option_has_is_explained_in_the_example() {
        let times =
            keys("").into_iter().filter(|key| key.ends_with("_ms") || key.ends_with("_ms_max"));
        for key in keys("[limits]").into_iter().chain(times) {
            let begin = format!("{key} = ");
            let is_it = |line: &&str| line.trim_start_matches("# ").starts_with(&begin);
            let lines: Vec<&str> = EXAMPLE.lines().collect();
            let index = lines.iter().position(is_it).expect("a line of the example");
            let is_comment = |line: &str| line.starts_with("# ") && !line.contains(" = ");
            let is_explained = lines[index].trim_start_matches("# ").contains('#')
                || index.checked_sub(1).is_some_and(|above| is_comment(lines[above]));
            assert!(is_explained, "{key} has no words");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("lisen = '127.0.0.1:1'", "lisen"),
            ("config = 'other.toml'", "config"),
            ("[limits]\nsessions = 1", "sessions"),
            ("[rdma]\nrdma_listen = '127.0.0.1:1'", "rdma_listen"),
        ] {
            let error = toml::from_str::<Options>(text).expect_err("no such key");
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    /// Each key accepts a value or names the allowed values in words that a user understands.
    #[test]
    fn nonsense_under_any_key_is_told_what_may_stand_there() {
        let cures = [
            "write it as ",
            "write IP:PORT",
            "write an IP alone",
            "is not a whole number from ",
            "is not a log level: use ",
            "is not a durability: use ",
            "expected a boolean",
            "expected a string",
            "expected path string",
            "expected a sequence",
            "use user_unknown, rejected or denied",
            "expected a table of ",
            "expected a text or a number",
            "use overdraw, clamp or held",
            "use the 16 hexadecimal digits",
            "use what `scurry restore` shows",
            "write it as a size (64gb)",
        ];
        let mut refused = 0;
        for table in ["", "[rdma]", "[limits]"] {
            for key in keys(table) {
                for value in ["'?'", "''", "-1", "1.5", "true", "[]", "18446744073709551616"] {
                    let text = format!("{table}\n{key} = {value}");
                    let Err(error) = toml::from_str::<Options>(&text) else { continue };
                    refused += 1;
                    let said = error.message();
                    let is_cured = cures.iter().any(|cure| said.contains(cure));
                    let is_toml = value.len() > 19 && said.contains("integer number overflowed");
                    assert!(is_cured || is_toml, "{text}: {said}");
                }
            }
        }
        assert!(refused > 150, "{refused} were refused");
    }

    #[test]
    fn nonsense_on_the_command_line_is_told_the_option_and_what_may_stand_there() {
        let command = || Options::augment_args(Command::new("serve")).no_binary_name(true);
        let of_any_text = [
            "config",
            "dir",
            "http-hosts",
            "rdma-tuning",
            "replicate-tls-ca",
            "replicate-tls-cert",
            "replicate-tls-key",
            "requirepass",
            "tls-cert",
            "tls-client-ca",
            "tls-key",
            "unique-identities",
        ];
        for option in command().get_arguments().filter(|option| option.get_action().takes_values())
        {
            let long = option.get_long().expect("an option");
            if of_any_text.contains(&long) || option.get_num_args() == Some(0.into()) {
                continue;
            }
            let error = command().try_get_matches_from([format!("--{long}=?")]).expect_err(long);
            let said = error.to_string();
            let is_cured = [
                "write it as",
                "write IP",
                "write an IP",
                "whole number from",
                "use ",
                "possible values",
            ];
            assert!(said.contains(&format!("--{long}")), "{said}");
            assert!(is_cured.iter().any(|cure| said.contains(cure)), "{said}");
        }
    }
}
