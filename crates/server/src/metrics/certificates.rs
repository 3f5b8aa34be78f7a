//! The metric of certificate expiry; the certificates of the store and of the HTTP door are on one page.

use super::exposition::{Exposition, MetricKind};
use scurry_tls::Expiry;

/// Adds the end of the validity of each certificate that exists.
pub fn show_certificates(
    page: &mut Exposition,
    certificates: impl IntoIterator<Item = (&'static str, Option<Expiry>)>,
) {
    let help = "End of the validity of the certificate that is shown to clients of RESP, over HTTP, or to other nodes.";
    page.metric("scurry_certificate_expiry_timestamp_seconds", MetricKind::Gauge, help);
    for (name, expiry) in certificates {
        if let Some(expiry) = expiry {
            page.sample(&[("certificate", name)], expiry.seconds());
        }
    }
}
