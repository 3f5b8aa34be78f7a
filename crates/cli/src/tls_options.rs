//! TLS of tools: the options are those of redis-cli.

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{CertificateError, ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use scurry_tls::tls_words;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// TLS options of a client.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct TlsOptions {
    /// Speak TLS; wants --cacert
    #[arg(long)]
    tls: bool,

    /// Certificates that the server's must come from (PEM)
    #[arg(long, value_name = "FILE", requires = "tls")]
    cacert: Option<PathBuf>,

    /// Certificate of this client, for servers that demand one (PEM)
    #[arg(long, value_name = "FILE", requires_all = ["tls", "key"])]
    cert: Option<PathBuf>,

    /// Private key of that certificate (PEM)
    #[arg(long, value_name = "FILE", requires_all = ["tls", "cert"])]
    key: Option<PathBuf>,

    /// Name that the server's certificate must have, where it is not the host
    #[arg(long, value_name = "NAME", requires = "tls")]
    sni: Option<String>,
}

impl TlsOptions {
    pub(crate) fn is_on(&self) -> bool {
        self.tls
    }

    /// Refuses TLS without a CA.
    pub(crate) fn check(&self) -> Result<()> {
        ensure!(!self.tls || self.cacert.is_some(), without_ca());
        Ok(())
    }

    /// Agrees on TLS over a stream that is connected to `HOST:PORT`. `patience` is the timeout of the stream, for
    /// messages.
    pub(crate) fn secure<S: Read + Write>(
        &self,
        stream: S,
        address: &str,
        patience: Duration,
    ) -> Result<StreamOwned<ClientConnection, S>> {
        let name = match &self.sni {
            Some(name) => name.clone(),
            None => address.rsplit_once(':').map_or_else(String::new, |(host, _)| {
                host.trim_start_matches('[').trim_end_matches(']').to_owned()
            }),
        };
        let wrong = || format!("{name:?} is no name of a host: give one with --sni");
        let server = ServerName::try_from(name.clone()).with_context(wrong)?;
        let config = Arc::new(self.config()?);
        let mut stream = StreamOwned::new(ClientConnection::new(config, server)?, stream);
        if let Err(error) = stream.conn.complete_io(&mut stream.sock) {
            let why = self.explain_handshake_error(&error, patience);
            bail!("no TLS was agreed on with {address}: {why}");
        }
        Ok(stream)
    }

    /// Explains a failed TLS handshake, with advice for common mistakes.
    fn explain_handshake_error(&self, error: &io::Error, patience: Duration) -> String {
        let fault = error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>());
        match (fault, error.kind()) {
            (_, io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                format!("no reply within {} s", patience.as_secs())
            }
            (Some(rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer)), _) => {
                let ca = self.cacert.as_deref().unwrap_or(Path::new("--cacert")).display();
                format!(
                    "the server's certificate is signed by no CA in {ca}: give the file of the CA that has signed it, or \
                     of the certificate itself where that is self-signed"
                )
            }
            (Some(fault), _) if fault.to_string().contains("CaUsedAsEndEntity") => {
                "the server shows the certificate of a CA itself, as `openssl req -x509` makes one: make one for the \
                 server, signed by that CA or, self-signed, with -addext basicConstraints=critical,CA:FALSE"
                    .to_owned()
            }
            (Some(fault @ rustls::Error::InvalidCertificate(_)), _) => {
                format!("the server's certificate is refused: {}", tls_words(fault))
            }
            _ => format!("{error}: does it speak TLS on this port?"),
        }
    }

    fn config(&self) -> Result<ClientConfig> {
        let mut roots = RootCertStore::empty();
        if let Some(path) = &self.cacert {
            for certificate in certificates(path)? {
                roots.add(certificate).with_context(|| format!("in {}", path.display()))?;
            }
        }
        let config = ClientConfig::builder().with_root_certificates(roots);
        let Some((cert, key)) = self.cert.as_deref().zip(self.key.as_deref()) else {
            return Ok(config.with_no_client_auth());
        };
        let wrong = || format!("no private key in {}", key.display());
        let of_key = PrivateKeyDer::from_pem_file(key).with_context(wrong)?;
        let fits = || format!("{} does not fit to {}", key.display(), cert.display());
        config.with_client_auth_cert(certificates(cert)?, of_key).with_context(fits)
    }
}

/// CA files of common systems, in the order in which they are looked for.
const SYSTEM_CAS: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// Returns the advice for TLS without a CA. Certificates of stores nearly always come from the owner's private CA, so
/// the CAs of the system are not trusted by default.
fn without_ca() -> String {
    let of_system = SYSTEM_CAS.into_iter().find(|path| Path::new(path).exists());
    let of_system = of_system.map_or_else(String::new, |path| {
        format!(". For a certificate of a public CA that is {path} on this machine")
    });
    format!(
        "--tls wants --cacert FILE: the CA that has signed the server's certificate, or the certificate itself where it \
         is self-signed{of_system}"
    )
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let wrong = || format!("no certificates in {}", path.display());
    let all: Vec<_> = CertificateDer::pem_file_iter(path)
        .with_context(wrong)?
        .collect::<Result<_, _>>()
        .with_context(wrong)?;
    ensure!(!all.is_empty(), wrong());
    Ok(all)
}
