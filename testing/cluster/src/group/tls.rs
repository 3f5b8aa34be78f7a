//! Certificates for the connections between nodes and to clients, made with the commands of docs/replication.md.

use anyhow::{Context, Result, ensure};
use scurry_crash::wire::Trust;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const EC: [&str; 4] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"];

/// A CA of one group.
pub(crate) struct GroupCa {
    dir: PathBuf,
}

impl GroupCa {
    /// Makes a CA in a directory, and the certificate that all nodes show to clients at these addresses: a connection to
    /// one node may end on another.
    pub(crate) fn make(dir: &Path, ips: &[String]) -> Result<GroupCa> {
        std::fs::create_dir_all(dir)?;
        let own = GroupCa { dir: dir.to_owned() };
        let (key, certificate) = (own.file("ca.key"), own.file("ca.pem"));
        own.request(&["-subj", "/CN=nodes of scurry", "-keyout", &key, "-out", &certificate])?;
        own.sign("clients", ips)?;
        Ok(own)
    }

    /// Returns what clients trust.
    pub(crate) fn trust(&self) -> Result<Trust> {
        Trust::read(Path::new(&self.file("ca.pem")))
    }

    /// Issues a certificate for a node at this address. Returns the node's options.
    pub(crate) fn issue(&self, ip: &str) -> Result<Vec<String>> {
        // Nodes on one address share a certificate, which running nodes have read.
        if !Path::new(&self.file(&format!("{ip}.pem"))).exists() {
            self.sign(ip, &[ip.to_owned()])?;
        }
        let options = [
            ("--replicate-tls-cert", format!("{ip}.pem")),
            ("--replicate-tls-key", format!("{ip}.key")),
            ("--replicate-tls-ca", "ca.pem".to_owned()),
            ("--tls-cert", "clients.pem".to_owned()),
            ("--tls-key", "clients.key".to_owned()),
        ];
        let words = options.map(|(option, name)| [option.to_owned(), self.file(&name)]);
        Ok(words.concat())
    }

    /// Makes a key and a certificate for these addresses.
    fn sign(&self, name: &str, ips: &[String]) -> Result<()> {
        let [key, certificate] = ["key", "pem"].map(|kind| self.file(&format!("{name}.{kind}")));
        let [ca, ca_key] = ["ca.pem", "ca.key"].map(|name| self.file(name));
        let addresses: Vec<String> = ips.iter().map(|ip| format!("IP:{ip}")).collect();
        let names = format!("subjectAltName={}", addresses.join(","));
        let with = ["-addext", &names, "-addext", "basicConstraints=critical,CA:FALSE"];
        let by = ["-CA", &ca, "-CAkey", &ca_key, "-keyout", &key, "-out", &certificate];
        self.request(&[&["-subj", "/CN=scurry"][..], &with, &by].concat())
    }

    fn file(&self, name: &str) -> String {
        self.dir.join(name).to_string_lossy().into_owned()
    }

    fn request(&self, with: &[&str]) -> Result<()> {
        let mut openssl = Command::new("openssl");
        openssl.args(["req", "-x509", "-noenc", "-days", "3650"]).args(EC).args(with);
        let output = openssl.stdin(Stdio::null()).output().context("openssl cannot be started")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "openssl makes no certificate: {said}");
        Ok(())
    }
}
