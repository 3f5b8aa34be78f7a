//! `scurry export` and `scurry import`: copy the whole content of a store to another store or to a file, or write it as
//! tables.

mod copy;
mod export_file;
mod file_target;
mod item;
mod store_source;
mod store_target;

use crate::tables::{export_backup, export_store};
use anyhow::{Context, Result};
use clap::Args;
use copy::{Moved, copy};
use export_file::ExportReader;
use file_target::FileTarget;
use scurry_cluster_client::Address;
use scurry_tables::Format;
use std::path::{Path, PathBuf};
use store_source::StoreSource;
use store_target::StoreTarget;

const EXPORT_EXAMPLES: &str = "Examples:
  scurry export --from 127.0.0.1:6389 --to 10.0.0.7:7000
  scurry export --from 127.0.0.1:6389 --out store.scurexp
  scurry export --backup /backup/scurry-monday --parquet tables
  scurry export --from 127.0.0.1:6389 --csv tables

For --to and --out nothing may write to the store meanwhile: stop the clients first. docs/cluster.md has all steps.
docs/analytics.md has the tables of --parquet and --csv, and questions to them.";

const IMPORT_EXAMPLES: &str = "Examples:
  scurry import --to 10.0.0.7:7000 --in store.scurexp
  scurry import --to 127.0.0.1:6389 --from 10.0.0.7:7000";

#[derive(Args, Debug)]
#[command(after_help = EXPORT_EXAMPLES)]
pub(crate) struct Export {
    #[command(flatten)]
    source: SourcePlace,
    #[command(flatten)]
    from_user: FromUser,
    #[command(flatten)]
    place: ExportPlace,
    #[command(flatten)]
    user: ToUser,
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct ExportPlace {
    /// File to write; it must not exist
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Another store: a server's main port, or any node of a cluster
    #[arg(long, value_name = "HOST:PORT")]
    to: Option<String>,

    /// Directory for tables of Parquet: accounts, buckets, sessions, holds and so on. It must be empty or not there yet
    #[arg(long, value_name = "DIR")]
    parquet: Option<PathBuf>,

    /// The same as CSV
    #[arg(long, value_name = "DIR")]
    csv: Option<PathBuf>,
}

impl ExportPlace {
    /// Returns the directory and the form of tables.
    fn tables(&self) -> Option<(&Path, Format)> {
        let parquet = self.parquet.as_deref().map(|path| (path, Format::Parquet));
        parquet.or(self.csv.as_deref().map(|path| (path, Format::Csv)))
    }
}

#[derive(Args, Debug)]
#[command(after_help = IMPORT_EXAMPLES)]
pub(crate) struct Import {
    /// The store: a server's main port, or any node of a cluster
    #[arg(long, value_name = "HOST:PORT")]
    to: String,
    #[command(flatten)]
    place: ImportPlace,
    #[command(flatten)]
    from_user: FromUser,
    #[command(flatten)]
    user: ToUser,
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct ImportPlace {
    /// File that `scurry export --out` has written
    #[arg(long = "in", value_name = "FILE")]
    file: Option<PathBuf>,

    /// Another store: a server's main port, or any node of a cluster
    #[arg(long, value_name = "HOST:PORT")]
    from: Option<String>,
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct SourcePlace {
    /// The store: a server's main port, or any node of a cluster
    #[arg(long, value_name = "HOST:PORT")]
    from: Option<String>,

    /// A backup or any data directory, also that of a running server or of any node of a group: for tables, all as of
    /// one position, without a request to the server
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "to", "from_user", "to_user"])]
    backup: Option<PathBuf>,
}

#[derive(Args, Debug)]
struct FromUser {
    /// User at the store that is read; needs the roles read and admin
    #[arg(long, value_name = "NAME", requires = "from_password")]
    from_user: Option<String>,

    /// Password there. Prefer the environment: a command line can be read by every user of the machine
    #[arg(long, value_name = "PASSWORD", env = "SCURRY_FROM_PASSWORD", hide_env_values = true)]
    from_password: Option<String>,
}

#[derive(Args, Debug)]
struct ToUser {
    /// User at the store that is written; needs the roles read, charge and admin
    #[arg(long, value_name = "NAME", requires = "to_password")]
    to_user: Option<String>,

    /// Password there
    #[arg(long, value_name = "PASSWORD", env = "SCURRY_TO_PASSWORD", hide_env_values = true)]
    to_password: Option<String>,

    /// Write also into a store that is not empty, over keys that it has: to go on after an attempt
    /// that was broken off
    #[arg(long)]
    replace: bool,
}

impl FromUser {
    fn at(&self, address: &str) -> Address {
        Address::new(address, self.from_user.as_deref(), self.from_password.as_deref())
    }
}

impl ToUser {
    fn target(&self, address: &str) -> Result<StoreTarget> {
        let user = (self.to_user.as_deref(), self.to_password.as_deref());
        StoreTarget::open(&Address::new(address, user.0, user.1), self.replace)
    }
}

impl Export {
    pub(crate) fn run(self) -> Result<()> {
        let Some(from) = self.source.from else {
            let backup = self.source.backup.context("say --from or --backup")?;
            let (path, format) = self.place.tables().context("say --parquet or --csv")?;
            return export_backup(&backup, path, format);
        };
        let address = self.from_user.at(&from);
        if let Some((path, format)) = self.place.tables() {
            return export_store(&address, path, format);
        }
        let source = StoreSource::open(&address)?;
        match (self.place.out, self.place.to) {
            (Some(path), _) => {
                let moved = copy(source, FileTarget::create(&path)?)?;
                let path = path.display();
                println!("{moved}");
                println!(
                    "{path} is written and synced. Import it: scurry import --in {path} --to HOST:PORT"
                );
                Ok(())
            }
            (None, to) => {
                let to = to.context("say --out or --to")?;
                between_stores(source, &self.user, &from, &to)
            }
        }
    }
}

impl Import {
    pub(crate) fn run(self) -> Result<()> {
        match (self.place.file, self.place.from) {
            (Some(path), _) => {
                let moved = copy(ExportReader::open(&path)?, self.user.target(&self.to)?)?;
                print_switch(&moved, &path.display().to_string(), &self.to);
                Ok(())
            }
            (None, from) => {
                let from = from.context("say --in or --from")?;
                let source = StoreSource::open(&self.from_user.at(&from))?;
                between_stores(source, &self.user, &from, &self.to)
            }
        }
    }
}

fn between_stores(source: StoreSource, user: &ToUser, from: &str, to: &str) -> Result<()> {
    let moved = copy(source, user.target(to)?)?;
    print_switch(&moved, from, to);
    Ok(())
}

fn print_switch(moved: &Moved, from: &str, to: &str) {
    println!("{moved}");
    println!("the totals agree. Now switch: let the clients use {to}, and only {to}");
    println!(
        "{from} is as it was. To go back before anything is written at {to}: let the clients use \
         it again. Later: stop the clients, empty it, and scurry export --from {to} --to there"
    );
}
