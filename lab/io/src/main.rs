//! Which I/O should the server's event loop use? One small RESP server per candidate, all with
//! the same framing and the same replies, and a driver that loads them in turn. Results and the
//! decision: docs/adr/0011-io.md.

mod answer;
mod backend;
mod compare;
mod limits;
mod place;
mod readiness;
mod ring;
mod runtime;

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use socket2::{Domain, Socket, Type};

use compare::Compare;

#[derive(Debug, Parser)]
#[command(name = "scurry-io-bench", about = "Compares ways to do the server's I/O.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Names the candidates and the cases.
    List,
    /// Serves with one candidate until killed; prints the port.
    Serve {
        /// The candidate.
        candidate: String,
        /// Port to listen on; 0 takes a free one.
        #[arg(long, default_value_t = 0)]
        port: u16,
        /// Core to run on.
        #[arg(long)]
        core: Option<usize>,
        /// Process that the server ends with.
        #[arg(long, hide = true)]
        parent: Option<i32>,
    },
    /// Loads the candidates in turn, several times, and prints a table.
    Compare(Compare),
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::List => {
            list();
            Ok(())
        }
        Command::Serve { candidate, port, core, parent } => {
            let candidate = backend::find(&candidate)?;
            if let Some(parent) = parent {
                place::end_with(parent)?;
            }
            if let Some(core) = core {
                place::bind_to(core)?;
            }
            let listener = listen(port)?;
            println!("{}", listener.local_addr()?.port());
            std::io::stdout().flush()?;
            candidate.backend.serve(listener)
        }
        Command::Compare(compare) => compare.run(),
    }
}

fn list() {
    for candidate in backend::CANDIDATES {
        let mark = if candidate.is_default { "" } else { " (on demand)" };
        println!("{:<16} {}{mark}", candidate.name, candidate.about);
    }
    for case in compare::CASES {
        println!("{:<16} {}", case.name, case.about);
    }
}

/// Accepted sockets inherit that small replies are not delayed.
fn listen(port: u16) -> Result<TcpListener> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_tcp_nodelay(true)?;
    socket.bind(&address.into()).with_context(|| format!("listening on {address}"))?;
    socket.listen(limits::BACKLOG_MAX)?;
    Ok(socket.into())
}
