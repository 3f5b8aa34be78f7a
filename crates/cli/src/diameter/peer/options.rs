//! The options of a command that connects to a Diameter server as a client would, and its steps up to the capabilities.

use super::answer::Server;
use super::dialog::Dialog;
use super::report::{Step, Verdict};
use super::steps::capabilities;
use super::wire::{Wire, now};
use crate::option_values::Number;
use crate::tls_options::TlsOptions;
use anyhow::{Context, Result, ensure};
use clap::Args;
use scurry_diameter::Origin;
use scurry_diameter::peer::PeerSettings;
use std::time::Duration;

/// Ports of Diameter: RFC 6733, 11.4.
const PORT: u16 = 3_868;
const TLS_PORT: u16 = 5_868;
/// Where Linux says the name of the machine.
const HOST_NAME: &str = "/proc/sys/kernel/hostname";

#[derive(Args, Debug)]
pub(crate) struct PeerOptions {
    /// The server; without a port 3868, with --tls 5868
    #[arg(value_name = "HOST[:PORT]")]
    server: String,

    /// Origin-Host of this client, which the server may have to know [default: scurry-probe. and the name of this
    /// machine]
    #[arg(long, value_name = "NAME")]
    origin_host: Option<String>,

    /// Origin-Realm of this client [default: its host after the first dot]
    #[arg(long, value_name = "NAME")]
    realm: Option<String>,

    /// How long each step may take, seconds
    #[arg(long, value_name = "SECONDS", default_value = "5")]
    timeout: Number<u64, 1, 3_600>,

    #[command(flatten)]
    tls: TlsOptions,

    /// One JSON object a step
    #[arg(long)]
    json: bool,
}

impl PeerOptions {
    /// Connects, exchanges capabilities, and does the other steps. Each is printed.
    ///
    /// # Errors
    /// When a step has failed; what has failed is printed before.
    pub(crate) fn run(
        &self,
        name: &str,
        steps: impl FnOnce(&mut Dialog, &Origin, &Server, &mut dyn FnMut(Step)),
    ) -> Result<()> {
        self.tls.check()?;
        let origin = self.origin()?;
        let mut has_failed = false;
        let address = with_port(&self.server, if self.tls.is_on() { TLS_PORT } else { PORT });
        let mut tell = |step: Step| {
            has_failed |= step.verdict == Verdict::Failed;
            step.print(self.json);
        };
        if let Some((mut dialog, server)) = self.open(&address, &origin, &mut tell) {
            steps(&mut dialog, &origin, &server, &mut tell);
        }
        ensure!(!has_failed, "the {name} of {address} has failed");
        Ok(())
    }

    fn open(
        &self,
        address: &str,
        origin: &Origin,
        tell: &mut dyn FnMut(Step),
    ) -> Option<(Dialog, Server)> {
        let begun = now();
        let wire = match Wire::connect(address, &self.tls, self.patience()) {
            Ok(wire) => wire,
            Err(error) => {
                tell(Step::new("connect", Verdict::Failed, format!("{error:#}")));
                return None;
            }
        };
        let over = if wire.is_tls() { " over TLS" } else { "" };
        let connected = Step::new("connect", Verdict::Ok, format!("{address}{over}"));
        tell(connected.took(now().duration_since(begun)));
        let mut dialog = Dialog::new(wire, PeerSettings::new(origin.clone()), self.patience());
        let server = capabilities(&mut dialog, tell)?;
        Some((dialog, server))
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(self.timeout.0)
    }

    /// Returns who this client says that it is.
    fn origin(&self) -> Result<Origin> {
        let host = match &self.origin_host {
            Some(host) => host.clone(),
            None => {
                let name = std::fs::read_to_string(HOST_NAME).unwrap_or_default();
                let name = name.trim();
                format!("scurry-probe.{}", if name.is_empty() { "localdomain" } else { name })
            }
        };
        let of_host = || host.split_once('.').map(|(_, realm)| realm.to_owned());
        let realm = self.realm.clone().or_else(of_host);
        let realm = realm.filter(|realm| !realm.is_empty());
        let realm = realm.with_context(|| format!("{host:?} has no realm: say --realm"))?;
        Ok(Origin::new(&host, &realm, None))
    }
}

/// Returns `HOST:PORT`.
fn with_port(server: &str, default: u16) -> String {
    let has_port = |(host, port): (&str, &str)| {
        port.parse::<u16>().is_ok() && (!host.contains(':') || host.ends_with(']'))
    };
    match server.rsplit_once(':') {
        Some(parts) if has_port(parts) => server.to_owned(),
        Some(_) if !server.starts_with('[') => format!("[{server}]:{default}"),
        _ => format!("{server}:{default}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_without_a_port_has_the_port_of_diameter() {
        for (server, expected) in [
            ("ocs.example", "ocs.example:3868"),
            ("ocs.example:1", "ocs.example:1"),
            ("10.0.0.1", "10.0.0.1:3868"),
            ("::1", "[::1]:3868"),
            ("[::1]", "[::1]:3868"),
            ("[::1]:1", "[::1]:1"),
        ] {
            assert_eq!(with_port(server, PORT), expected);
        }
    }
}
