//! TLS on a blocking socket between two nodes. The first read or write also does the handshake.

use super::credentials::{TlsSides, name_of};
use rustls::client::verify_server_name;
use rustls::server::ParsedCertificate;
use rustls::{
    AlertDescription, CertificateError, ClientConnection, Connection, Error, ServerConnection,
};
use scurry_tls::certificate_words;
use std::fmt;
use std::io::{self, BufRead, BufReader, IoSlice, Read, Write};
use std::net::IpAddr;

/// Advice at the end of each message about certificates.
const CURE: &str = "all nodes of a group have certificates of one CA, each for the address by which the others \
                    reach it: --replicate-tls-cert, --replicate-tls-key, --replicate-tls-ca";

/// The TLS state of a connection.
pub(super) struct Encryption {
    tls: Connection,
    /// The error that has ended the connection. Nothing more is read or written after it.
    fault: Option<Error>,
}

impl Encryption {
    /// Creates the side that has dialled this address.
    pub(super) fn dialler(sides: TlsSides, ip: IpAddr) -> io::Result<Encryption> {
        let tls = ClientConnection::new(sides.dialler, name_of(ip)).map_err(io::Error::other)?;
        Ok(Encryption { tls: tls.into(), fault: None })
    }

    /// Creates the side that was dialled.
    pub(super) fn door(sides: TlsSides) -> io::Result<Encryption> {
        let tls = ServerConnection::new(sides.door).map_err(io::Error::other)?;
        Ok(Encryption { tls: tls.into(), fault: None })
    }

    pub(super) fn read<S: Read + Write>(
        &mut self,
        wire: &mut BufReader<S>,
        bytes: &mut [u8],
    ) -> io::Result<usize> {
        self.shake_hands(wire)?;
        loop {
            match self.tls.reader().read(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.pull(wire)?,
                outcome => return outcome,
            }
        }
    }

    /// Encrypts as many bytes as the buffer of TLS holds, and sends them. Returns how many.
    pub(super) fn write<S: Read + Write>(
        &mut self,
        wire: &mut BufReader<S>,
        slices: &[IoSlice<'_>],
    ) -> io::Result<usize> {
        self.shake_hands(wire)?;
        let len = self.tls.writer().write_vectored(slices)?;
        self.push(wire)?;
        Ok(len)
    }

    /// Reads decrypted bytes that have arrived, on a non-blocking socket after the handshake. It does not send what is
    /// queued: if each side sent first, both could wait for the other to read.
    pub(super) fn read_available<S: Read + Write>(
        &mut self,
        wire: &mut BufReader<S>,
        bytes: &mut [u8],
    ) -> io::Result<usize> {
        loop {
            match self.tls.reader().read(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.pull(wire)?,
                outcome => return outcome,
            }
        }
    }

    /// Encrypts as many bytes as the buffer of TLS holds, on a non-blocking socket, once all earlier ones were sent.
    /// Returns how many; some of them may still be queued.
    pub(super) fn put<S: Read + Write>(
        &mut self,
        wire: &mut BufReader<S>,
        bytes: &[u8],
    ) -> io::Result<usize> {
        self.push(wire)?;
        let len = self.tls.writer().write(bytes)?;
        match self.push(wire) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(len),
        }
    }

    /// Checks that the certificate of the other side is for this address.
    pub(super) fn vouches_for(&self, ip: IpAddr) -> Result<(), String> {
        let checked = match self.tls.peer_certificates() {
            Some([own, ..]) => ParsedCertificate::try_from(own)
                .and_then(|own| verify_server_name(&own, &name_of(ip))),
            _ => Err(Error::NoCertificatesPresented),
        };
        checked.map_err(|error| {
            format!(
                "it says that it is reached at {ip}, and its certificate does not: {error}; {CURE}"
            )
        })
    }

    /// Changes the keys with the next write, as TLS does by itself on a long connection.
    #[cfg(test)]
    pub(super) fn change_keys(&mut self) {
        self.tls.refresh_traffic_keys().expect("it has shaken hands");
    }

    fn shake_hands<S: Read + Write>(&mut self, wire: &mut BufReader<S>) -> io::Result<()> {
        if let Some(fault) = &self.fault {
            return Err(distrust(fault));
        }
        while self.tls.is_handshaking() {
            self.push(wire)?;
            self.pull(wire)?;
        }
        self.push(wire)
    }

    /// Sends all queued records.
    pub(super) fn push<S: Read + Write>(&mut self, wire: &mut BufReader<S>) -> io::Result<()> {
        while self.tls.wants_write() {
            match self.tls.write_tls(wire.get_mut()) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads and decrypts the records that have arrived, or waits for some.
    fn pull<S: Read + Write>(&mut self, wire: &mut BufReader<S>) -> io::Result<()> {
        let ended = first_byte(wire)?.is_none();
        self.tls.read_tls(wire)?;
        if let Err(error) = self.tls.process_new_packets() {
            // This sends the alert to the other side, which may have gone.
            let _ = self.push(wire);
            let distrust = distrust(&error);
            self.fault = Some(error);
            return Err(distrust);
        }
        if ended && self.tls.is_handshaking() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

/// The error for a side that does not trust the other, with the reason. It is carried inside an [`io::Error`].
#[derive(Debug)]
pub(super) struct CertificateFault(pub(super) String);

impl fmt::Display for CertificateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CertificateFault {}

fn distrust(error: &Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, CertificateFault(words(error)))
}

/// Returns the reason of an error in words, with what to do about it.
fn words(error: &Error) -> String {
    match error {
        Error::NoCertificatesPresented => format!("it has shown no certificate; {CURE}"),
        // `BadSignature` is the error for a CA that was created again under the same name.
        Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        ) => format!("the CA of this node has not signed its certificate; {CURE}"),
        Error::InvalidCertificate(fault) => {
            let why = certificate_words(fault).unwrap_or_else(|| fault.to_string());
            format!("its certificate is refused: {why}; {CURE}")
        }
        Error::AlertReceived(AlertDescription::CertificateRequired) => {
            format!("it asks for a certificate; {CURE}")
        }
        Error::AlertReceived(alert) => {
            format!("it refuses the certificate or the TLS of this node ({alert:?}); {CURE}")
        }
        Error::PeerIncompatible(_) => format!("it does not speak TLS 1.3 as nodes do ({error})"),
        Error::InvalidMessage(_) => format!("it does not speak TLS between nodes; {CURE}"),
        other => format!("{other}; {CURE}"),
    }
}

/// Returns the next byte without consuming it. None at the end of the stream.
pub(super) fn first_byte(wire: &mut impl BufRead) -> io::Result<Option<u8>> {
    loop {
        match wire.fill_buf() {
            Ok(bytes) => return Ok(bytes.first().copied()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
