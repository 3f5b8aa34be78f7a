//! TLS as far as the RESP ports, the HTTP door and the ports between nodes share it: settings, certificate files, the
//! end of their validity, and errors in words. Sessions belong to each port.

mod calendar;
mod certificates;
pub mod pem;
mod settings;
mod validity;
mod words;

pub use calendar::date_time;
pub use certificates::Certificates;
pub use settings::{NodeTlsSettings, TlsError, TlsSettings};
pub use validity::{CertificatePeers, Expiry, ExpiryGauge, ExpiryWarning};
pub use words::{certificate_words, tls_words};
