//! Valkey and Redis with the module: a real server for each script. Their clock is the real one, so
//! they take only scripts that name no times.

use super::server::{Connection, Process, build, profile_dir};
use super::{Door, Visit, is_named};
use crate::Script;
use anyhow::{Context, Result, bail, ensure};
use scurry_resp::Protocol;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A port that was free may be taken when the server wants it.
const STARTS_MAX: usize = 5;
/// What a server says when clients may come.
const READY: &str = "Ready to accept connections";

/// A server with the module.
#[derive(Debug)]
pub struct NodeDoor {
    /// `valkey` or `redis`.
    product: &'static str,
    module: PathBuf,
}

impl NodeDoor {
    /// Of `valkey` or `redis`, with the module that `SCURRY_MODULE` names, else the one of this
    /// build, which is brought up to date first: alone, with its own profile.
    pub fn find(product: &'static str) -> Result<NodeDoor> {
        if let Some(module) = std::env::var_os("SCURRY_MODULE") {
            return Ok(NodeDoor { product, module: PathBuf::from(module) });
        }
        build(&["--package", "scurry-valkey-module", "--lib", "--profile", "module"])
            .context("libscurry.so does not build; set SCURRY_MODULE")?;
        let profile_dir = profile_dir()?;
        let target_dir = profile_dir.parent().context("no target directory")?;
        Ok(NodeDoor { product, module: target_dir.join("module/libscurry.so") })
    }

    fn start(&self, script: &Script, port: u16) -> Result<Option<Process>> {
        let binary = format!("{}-server", self.product);
        let mut command = Command::new(&binary);
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
        command.arg("--loadmodule").arg(&self.module);
        for (name, value) in &script.limit_words {
            command.args([name, value]);
        }
        command.current_dir(std::env::temp_dir()).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let child = command.spawn();
        let mut child =
            child.map(Process).with_context(|| format!("no {binary}: scripts/install-tools.sh"))?;
        let mut reader = BufReader::new(child.0.stdout.take().context("no stdout")?);
        let mut said = String::new();
        while !said.contains(READY) {
            if reader.read_line(&mut said)? == 0 {
                ensure!(said.contains("already in use"), "{binary} does not start: {said}");
                return Ok(None);
            }
        }
        // It goes on logging, into nothing: a pipe that nobody reads would stop it.
        std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
        Ok(Some(child))
    }
}

impl Door for NodeDoor {
    fn name(&self) -> &'static str {
        self.product
    }

    fn takes(&self, script: &Script) -> bool {
        is_named(script, self.name()) && !script.sets_clock
    }

    fn open(&self, script: &Script, protocol: Protocol) -> Result<Box<dyn Visit>> {
        for _ in 0..STARTS_MAX {
            let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
            if let Some(process) = self.start(script, port)? {
                let address = format!("127.0.0.1:{port}");
                return Ok(Box::new(Connection::open(&address, protocol, process, None)?));
            }
        }
        bail!("no port is free for {}", self.product)
    }
}
