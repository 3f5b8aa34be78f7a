//! `scurry quickstart`: a store in a temporary directory with some accounts, a small load and the console.

mod load;

use crate::machine::ScratchDirectory;
use crate::option_values::{Address, Level};
use crate::serve::{Open, Options, serve};
use anyhow::Result;
use clap::Args;
use load::Load;
use std::env;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Command, Stdio};
use tracing_subscriber::filter::LevelFilter;

/// Ports that the documents name. Free ports are used if these are taken.
const PORT: u16 = 6389;
const HTTP_PORT: u16 = 8080;

const EXAMPLES: &str = "Examples:
  scurry quickstart
  scurry quickstart --port 7000 --http-port 7001 --rate 500";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Quickstart {
    /// Port of the store; 0 takes a free one [default: 6389, or a free one where that is taken]
    #[arg(short, long, value_name = "PORT")]
    port: Option<u16>,

    /// Port of the console; 0 takes a free one [default: 8080, or a free one where that is taken]
    #[arg(long, value_name = "PORT")]
    http_port: Option<u16>,

    /// Sessions that begin in a second; 0 is no load
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(..=10_000))]
    rate: u32,

    /// Open the console in no browser
    #[arg(long)]
    no_browser: bool,
}

impl Quickstart {
    pub(crate) fn run(&self) -> Result<()> {
        let home = ScratchDirectory::make(&env::temp_dir(), "scurry-quickstart")?;
        let options = Options {
            listen: Some(port_of(self.port, PORT)),
            http_listen: Some(port_of(self.http_port, HTTP_PORT)),
            dir: Some(home.path().join("store")),
            log: Some(Level(LevelFilter::WARN)),
            ..Options::default()
        };
        let mut load = None;
        let outcome = serve(&options, None, |open| {
            load = Some(Load::start(open.store, self.rate)?);
            self.welcome(&open);
            Ok(())
        });
        drop(load);
        outcome
    }

    fn welcome(&self, open: &Open) {
        let port = open.store.port();
        let console = open.door.map_or_else(String::new, |door| format!("http://{door}/"));
        println!(
            "\nA store for trying: {} accounts, {} sessions a second. Ctrl-C ends it and removes all of it.\n\n  \
             the console  {console}  (look up the account {})\n  \
             the figures  scurry top -p {port}\n\n\
             Next, in another terminal:\n  \
             scurry cli -p {port} SCUR.CREATE alice BUCKET main cent 1000\n  \
             scurry cli -p {port} SCUR.RESERVE alice call-1 0 ITEM gpt-x cent REQUESTED 300\n  \
             scurry cli -p {port} SCUR.TERMINATE alice call-1 1 ITEM gpt-x cent USED 120\n\n\
             The last one charges 120, and 180 go back: scurry cli -p {port} SCUR.GET alice",
            load::ACCOUNTS,
            self.rate,
            load::account(1),
        );
        if !self.no_browser && has_screen() {
            browse(&console);
        }
    }
}

/// Returns the requested port, else the usual one if it is free, else 0 for any free port.
fn port_of(asked: Option<u16>, usual: u16) -> Address {
    let is_free = || TcpListener::bind((Ipv4Addr::LOCALHOST, usual)).is_ok();
    let port = asked.unwrap_or_else(|| if is_free() { usual } else { 0 });
    Address(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
}

/// Reports whether a browser would have a display.
fn has_screen() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| env::var_os(name).is_some())
}

/// Opens a page in a browser if possible. The address is printed in any case.
fn browse(page: &str) {
    let mut browser = Command::new("xdg-open");
    browser.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = browser.spawn() {
        tracing::debug!("no browser was opened: {error}");
    }
}
