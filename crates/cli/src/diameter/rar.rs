//! `scurry diameter rar`: has a door ask the client of a session to request units again, or to end it.

use super::peer::{PeerOptions, answered, disconnect};
use anyhow::Result;
use clap::Args;
use scurry_diameter::peer::Token;
use scurry_diameter::{ServerAction, ServerRequest};

const EXAMPLES: &str = "Examples:
  scurry diameter rar 127.0.0.1 'pgw1.example.net;1876543210;102'
  scurry diameter rar ocs1.example.net 'pgw1.example.net;1876543210;102' --rating-group 100
  scurry diameter rar ocs1.example.net 'pgw1.example.net;1876543210;102' --abort

The door must let this command ask: `may_ask = true` in the [[diameter.peers]] of its --origin-host. A door of this machine
that names no peers lets it. SCUR.SESSION shows the client of a session, in `data`. The exit code is 0 when the client has
answered with success.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Rar {
    #[command(flatten)]
    peer: PeerOptions,

    /// Session-Id of the session
    #[arg(value_name = "SESSION-ID")]
    session: String,

    /// Origin-Host of the session's client [default: what the Session-Id begins with, up to its first semicolon]
    #[arg(long, value_name = "NAME")]
    client: Option<String>,

    /// Origin-Realm of the session's client [default: its host after the first dot]
    #[arg(long, value_name = "NAME")]
    client_realm: Option<String>,

    /// Ask for this Rating-Group alone [default: for the whole session]
    #[arg(long, value_name = "N", conflicts_with = "abort")]
    rating_group: Option<u32>,

    /// Ask for this Service-Identifier alone
    #[arg(long, value_name = "N", conflicts_with = "abort")]
    service: Option<u32>,

    /// Ask the client to end the session (Abort-Session-Request)
    #[arg(long)]
    abort: bool,
}

impl Rar {
    /// Sends the request and tells the client's answer.
    ///
    /// # Errors
    /// When a step has failed; what has failed is printed before.
    pub(crate) fn run(self) -> Result<()> {
        // RFC 6733, 8.8: a Session-Id begins with the name of who has made it.
        let maker = self.session.split(';').next().unwrap_or_default();
        let client = self.client.as_deref().unwrap_or(maker);
        let realm = client.split_once('.').map_or(client, |(_, realm)| realm);
        let request = ServerRequest {
            session_id: &self.session,
            destination_host: client,
            destination_realm: self.client_realm.as_deref().unwrap_or(realm),
            action: if self.abort {
                ServerAction::Abort
            } else {
                ServerAction::ReAuth { rating_group: self.rating_group, identifier: self.service }
            },
        };
        let name = if self.abort { "ASR" } else { "RAR" };
        self.peer.run(name, |dialog, origin, server, tell| {
            let (peer, now_ms, out) = dialog.parts();
            let sent = peer.request(now_ms, Token(1), out, |out, ids| {
                request.write(out, ids, origin);
            });
            let outcome = sent.map_err(anyhow::Error::from).and_then(|()| dialog.wait());
            if answered(name, outcome, server, tell, |_| format!("{client} has answered")) {
                disconnect(dialog, tell);
            }
        })
    }
}
