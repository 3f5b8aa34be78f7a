//! Options that all destinations share: which store, which events, in which form.

use super::backup::BackupEvents;
use super::state::LiveState;
use crate::option_values::{Address, Level, Number};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use scurry_cluster_client::Address as StoreAddress;
use scurry_engine::Event;
use scurry_ship::{Begin, Filter, Form, Origin, Shipping, State};
use scurry_stores::RespStore;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long the store may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Args, Debug)]
pub(crate) struct SourceOptions {
    #[command(flatten)]
    place: SourcePlace,

    /// User of the store, who has the role read; without one the password is that of the default user
    #[arg(long, value_name = "NAME", requires = "password")]
    user: Option<String>,

    /// Password of the store. Prefer the environment: a command line can be read by every user of the machine
    #[arg(long, value_name = "PASSWORD", env = "SCURRY_PASSWORD", hide_env_values = true)]
    password: Option<String>,

    /// Ship events of this name only; may be given several times [default: all]
    #[arg(long = "event", value_name = "NAME")]
    events: Vec<String>,

    /// Ship events of this unit only, and those without a unit; may be given several times [default: all]
    #[arg(long = "unit", value_name = "UNIT")]
    units: Vec<String>,

    /// Ship events of accounts whose ids begin with this
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    account_prefix: String,

    /// Form of the events
    #[arg(long, value_name = "FORM", default_value = "json")]
    format: FormOption,

    /// Where to begin if the destination has no events of this store yet
    #[arg(long, value_name = "WHERE", default_value = "oldest")]
    begin: BeginOption,

    /// Ship the state of all accounts first if the destination has no events of this store yet, and again after a gap; the
    /// user needs the role admin too
    #[arg(long, conflicts_with_all = ["backup", "begin"])]
    from_state: bool,

    /// Longest time from an event to its delivery, milliseconds [default: 60000 for files, 1000 for http, else 100]
    #[arg(long, value_name = "MS")]
    flush_ms: Option<Number<u64, 1, 86_400_000>>,

    /// End when the events that there are now are delivered; fail at the first error instead of trying again
    #[arg(long)]
    once: bool,

    /// Serve /metrics and /healthz over HTTP on this address; port 0 takes a free one and prints it [default: no port]
    #[arg(long, value_name = "ADDR:PORT")]
    pub(super) metrics_listen: Option<Address>,

    /// Level of the log on stderr: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub(super) log: Level,

    /// Whether the destination takes states.
    #[arg(skip)]
    pub(super) takes_states: bool,

    /// Whether the destination takes tables.
    #[arg(skip)]
    pub(super) takes_tables: bool,
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct SourcePlace {
    /// The store: a Scurry server, or all nodes of a group
    #[arg(long, value_name = "HOST:PORT,...", value_delimiter = ',')]
    from: Vec<String>,

    /// Read a backup, or any data directory, and ask no server; ends when all of it is delivered
    #[arg(long, value_name = "DIR")]
    backup: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormOption {
    /// Objects of JSON
    Json,
    /// Messages of Protobuf
    Protobuf,
    /// Tables of Parquet, for files
    Parquet,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum BeginOption {
    /// At the oldest event that the store keeps
    Oldest,
    /// At the next event
    Newest,
}

impl SourceOptions {
    /// Reports whether no name and no unit of events is chosen.
    pub(super) fn has_all_events(&self) -> bool {
        self.events.is_empty() && self.units.is_empty()
    }

    /// Returns the form of the events.
    pub(super) fn form(&self) -> Form {
        match self.format {
            // Tables are made of the events themselves.
            FormOption::Json | FormOption::Parquet => Form::Json,
            FormOption::Protobuf => Form::Protobuf,
        }
    }

    /// Reports whether files are to be tables.
    pub(super) fn is_parquet(&self) -> bool {
        matches!(self.format, FormOption::Parquet)
    }

    /// Returns what is shipped.
    pub(super) fn shipping(&self, flush_ms: u64) -> Result<Shipping> {
        let mut names = Vec::new();
        for name in &self.events {
            match Event::WORDS.into_iter().find(|word| word == name) {
                Some(word) => names.push(word),
                None => bail!("no event is called {name}: {}", Event::WORDS.join(" ")),
            }
        }
        if self.is_parquet() && !self.takes_tables {
            bail!("--format parquet is for files: say json or protobuf");
        }
        if self.from_state && !self.takes_states {
            bail!(
                "--from-state is not for this destination: its entries are named by positions, which a state has none of"
            );
        }
        let flush_ms = self.flush_ms.map_or(flush_ms, |ms| ms.0);
        Ok(Shipping {
            filter: Filter {
                names,
                units: self.units.clone(),
                account_prefix: self.account_prefix.clone(),
            },
            form: self.form(),
            begin: match self.begin {
                BeginOption::Oldest => Begin::Oldest,
                BeginOption::Newest => Begin::Newest,
            },
            flush_every: Duration::from_millis(flush_ms),
            once: self.once || self.place.backup.is_some(),
        })
    }

    /// Returns the store, and the reader of its state if that is shipped.
    pub(super) fn origin(&self) -> Result<Origin> {
        if let Some(path) = &self.place.backup {
            return Ok(Origin { store: Arc::new(BackupEvents::open(path)?), state: None });
        }
        let (user, password) = (self.user.as_deref(), self.password.as_deref());
        let nodes = self.place.from.iter().map(|node| StoreAddress::new(node, user, password));
        let state = self
            .from_state
            .then(|| -> Box<dyn State> { Box::new(LiveState { nodes: nodes.collect() }) });
        let (user, password) = (self.user.clone(), self.password.clone());
        let store = RespStore::new(self.place.from.clone(), user, password, PATIENCE);
        Ok(Origin { store: Arc::new(store), state })
    }
}
