//! Describes TLS errors for people: the library gives times as seconds since 1970.

use crate::calendar::date_time;
use rustls::pki_types::UnixTime;
use rustls::{CertificateError, Error};

/// Describes an error, with times as dates.
pub fn tls_words(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(fault) => {
            certificate_words(fault).unwrap_or_else(|| error.to_string())
        }
        other => other.to_string(),
    }
}

/// Describes an error about a certificate's validity; None for other errors.
pub fn certificate_words(fault: &CertificateError) -> Option<String> {
    match fault {
        CertificateError::ExpiredContext { time, not_after } => Some(format!(
            "certificate expired at {}, and it is {} here: a new one is needed, or the clock is wrong",
            date(*not_after),
            date(*time)
        )),
        CertificateError::NotValidYetContext { time, not_before } => Some(format!(
            "certificate not valid before {}, and it is {} here: see whether the clocks of both machines are right",
            date(*not_before),
            date(*time)
        )),
        _ => None,
    }
}

fn date(time: UnixTime) -> String {
    format!("{}Z", date_time(i64::try_from(time.as_secs()).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_of_certificates_are_dates() {
        let at = |seconds| UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let expired = CertificateError::ExpiredContext {
            time: at(1_700_000_000),
            not_after: at(951_782_400),
        };
        let said = tls_words(&Error::InvalidCertificate(expired));
        let words =
            "certificate expired at 2000-02-29T00:00:00Z, and it is 2023-11-14T22:13:20Z here";
        assert!(said.starts_with(words), "{said}");
        let early = CertificateError::NotValidYetContext {
            time: at(951_782_400),
            not_before: at(1_700_000_000),
        };
        let said = tls_words(&Error::InvalidCertificate(early));
        assert!(said.starts_with("certificate not valid before 2023-11-14T22:13:20Z"), "{said}");
        let other = Error::InvalidCertificate(CertificateError::UnknownIssuer);
        assert_eq!(tls_words(&other), other.to_string());
        assert_eq!(tls_words(&Error::DecryptError), Error::DecryptError.to_string());
    }
}
