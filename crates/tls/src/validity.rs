//! Reads how long a certificate is valid (RFC 5280 section 4.1.2.5), which the TLS library reports only when it has
//! expired.

use crate::calendar::{date_time, day_number};
use rustls::pki_types::CertificateDer;
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};

/// Tags of DER (ITU-T X.690).
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

const DAY_S: i64 = 86_400;
/// A certificate whose validity ends sooner than this causes a warning, seconds.
const SOON_S: i64 = 30 * DAY_S;

/// Marks the absence of a time; no certificate ends then.
const NONE: i64 = i64::MIN;

/// The peers that a certificate is shown to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificatePeers {
    /// Clients of RESP or HTTP.
    Clients,
    /// The other nodes of a group.
    Nodes,
}

/// End of a certificate's validity, seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expiry(i64);

impl Expiry {
    /// Returns the earliest end of validity in a chain: after it the chain is invalid. None if a certificate's date
    /// cannot be read.
    pub fn first_of(chain: &[CertificateDer<'_>]) -> Option<Expiry> {
        let all: Option<Vec<i64>> =
            chain.iter().map(|certificate| not_after(certificate)).collect();
        all?.into_iter().min().map(Expiry)
    }

    /// Seconds since 1970.
    pub fn seconds(self) -> i64 {
        self.0
    }

    /// Returns a warning about the certificate in this file; None while it is valid for long.
    pub fn warning(self, path: &Path, peers: CertificatePeers) -> Option<ExpiryWarning> {
        let now = DefaultTimeProvider.current_time()?.as_secs();
        self.warning_at(path, peers, i64::try_from(now).ok()?)
    }

    fn warning_at(self, path: &Path, peers: CertificatePeers, now_s: i64) -> Option<ExpiryWarning> {
        let left_s = self.0 - now_s;
        let is_over = left_s < 0;
        if left_s >= SOON_S {
            return None;
        }
        let (path, date) = (path.display(), date_time(self.0));
        let words = if is_over {
            let who = match peers {
                CertificatePeers::Clients => "clients",
                CertificatePeers::Nodes => "the other nodes",
            };
            format!("the certificate in {path} expired at {date}Z, and {who} refuse it")
        } else {
            format!("the certificate in {path} expires at {date}Z, in {} days", left_s / DAY_S)
        };
        // A node's certificate is read with each connection, so it needs no SIGHUP.
        let then = if peers == CertificatePeers::Clients { ", and send SIGHUP" } else { "" };
        let words = format!("{words}: put a new one in its place, with its key{then}");
        Some(ExpiryWarning { words, is_over })
    }
}

/// End of the validity of a certificate that is read again now and then, for metrics.
#[derive(Debug)]
pub struct ExpiryGauge(AtomicI64);

impl Default for ExpiryGauge {
    fn default() -> ExpiryGauge {
        ExpiryGauge(AtomicI64::new(NONE))
    }
}

impl ExpiryGauge {
    /// Shows this end from now on; None shows that there is none.
    pub fn set(&self, expiry: Option<Expiry>) {
        self.0.store(expiry.map_or(NONE, Expiry::seconds), Ordering::Relaxed);
    }

    /// Returns the end that was set last.
    pub fn get(&self) -> Option<Expiry> {
        Some(Expiry(self.0.load(Ordering::Relaxed))).filter(|expiry| expiry.0 != NONE)
    }
}

/// A warning about a certificate that has expired or will soon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpiryWarning {
    words: String,
    is_over: bool,
}

impl ExpiryWarning {
    /// Writes a line of the log.
    pub fn log(&self) {
        if self.is_over {
            tracing::error!("{}", self.words);
        } else {
            tracing::warn!("{}", self.words);
        }
    }
}

/// Returns the end of the validity of a certificate, seconds since 1970.
fn not_after(certificate: &[u8]) -> Option<i64> {
    let mut rest = certificate;
    let mut rest = of_tag(&mut rest, SEQUENCE)?;
    let mut fields = of_tag(&mut rest, SEQUENCE)?;
    // Version (optional), serial number, signature, issuer.
    let (first, _) = element(&mut fields)?;
    let before_validity = if first == VERSION { 3 } else { 2 };
    for _ in 0..before_validity {
        element(&mut fields)?;
    }
    let mut validity = of_tag(&mut fields, SEQUENCE)?;
    element(&mut validity)?;
    let (tag, text) = element(&mut validity)?;
    time(tag, text)
}

fn of_tag<'a>(input: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    element(input).filter(|(found, _)| *found == tag).map(|(_, content)| content)
}

/// Takes the tag and the content of the next element.
fn element<'a>(input: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (&[tag, first], rest) = input.split_first_chunk()?;
    let (len, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
        let is_short = (1..=4).contains(&bytes.len());
        let len = bytes.iter().fold(0_u64, |len, &byte| (len << 8) | u64::from(byte));
        (usize::try_from(len).ok().filter(|_| is_short)?, rest)
    };
    let (content, rest) = rest.split_at_checked(len)?;
    *input = rest;
    Some((tag, content))
}

/// Parses `YYMMDDHHMMSSZ`, with years from 1950 to 2049, or `YYYYMMDDHHMMSSZ` into seconds since 1970.
fn time(tag: u8, text: &[u8]) -> Option<i64> {
    let digits = text.strip_suffix(b"Z")?;
    let (year, rest) = match tag {
        UTC_TIME => {
            let (year, rest) = number(digits, 2)?;
            (if year < 50 { 2000 + year } else { 1900 + year }, rest)
        }
        GENERALIZED_TIME => number(digits, 4)?,
        _ => return None,
    };
    let (month, rest) = number(rest, 2)?;
    let (day, rest) = number(rest, 2)?;
    let (hour, rest) = number(rest, 2)?;
    let (minute, rest) = number(rest, 2)?;
    let (second, rest) = number(rest, 2)?;
    let is_date = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24;
    if !is_date || minute >= 60 || second > 60 || !rest.is_empty() {
        return None;
    }
    Some(day_number(year, month, day) * DAY_S + hour * 3_600 + minute * 60 + second)
}

/// Parses a number of `len` digits, and returns the rest.
fn number(text: &[u8], len: usize) -> Option<(i64, &[u8])> {
    let (digits, rest) = text.split_at_checked(len)?;
    let is_number = digits.iter().all(u8::is_ascii_digit);
    let value = digits.iter().fold(0, |value, &digit| value * 10 + i64::from(digit & 0x0f));
    is_number.then_some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    /// Creates a certificate whose validity ends at the beginning of this day.
    fn certificate(year: i32, month: u8, day: u8) -> CertificateDer<'static> {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        params.not_before = date_time_ymd(1999, 1, 1);
        params.not_after = date_time_ymd(year, month, day);
        let key = KeyPair::generate().expect("a key");
        params.self_signed(&key).expect("a certificate").der().clone()
    }

    #[test]
    fn the_first_of_a_chain_to_end_counts() {
        // The first two are UTCTime, the third is GeneralizedTime.
        let dates = [(2031, 5, 17), (2049, 12, 31), (2100, 3, 1)];
        let all: Vec<_> =
            dates.iter().map(|&(year, month, day)| certificate(year, month, day)).collect();
        let ends = all.iter().map(|one| Expiry::first_of(std::slice::from_ref(one)));
        let ends: Vec<i64> = ends.map(|end| end.expect("a date").seconds()).collect();
        let shown: Vec<String> = ends.iter().map(|&end| date_time(end)).collect();
        assert_eq!(shown, ["2031-05-17T00:00:00", "2049-12-31T00:00:00", "2100-03-01T00:00:00"]);
        for chain in [[&all[0], &all[2]], [&all[2], &all[0]]] {
            let chain = chain.map(Clone::clone);
            assert_eq!(Expiry::first_of(&chain), Some(Expiry(ends[0])));
        }
        assert_eq!(Expiry::first_of(&[]), None);
    }

    #[test]
    fn what_is_cut_or_changed_has_no_date_or_another_one_and_ends_nobody() {
        let whole = certificate(2031, 5, 17);
        for len in 0..whole.len() {
            let _ = not_after(&whole[..len]);
            for byte in [0x00, 0x30, 0x7f, 0x80, 0x84, 0xff] {
                let mut changed = whole.to_vec();
                changed[len] = byte;
                let _ = not_after(&changed);
            }
        }
        for cut in [0, 1, 2, 20] {
            assert_eq!(not_after(&whole[..cut]), None);
        }
        for text in ["", "Z", "310517000000", "311317000000Z", "310500000000Z", "3105170000Z"] {
            assert_eq!(time(UTC_TIME, text.as_bytes()), None, "{text}");
        }
        assert_eq!(time(0x16, b"310517000000Z"), None);
        assert_eq!(time(UTC_TIME, b"310517000000Z"), Some(1_936_742_400));
    }

    #[test]
    fn a_certificate_is_warned_of_30_days_before_its_end_and_after_it() {
        let end = Expiry(1_936_742_400);
        let path = Path::new("server.pem");
        let said = |now_s| end.warning_at(path, CertificatePeers::Clients, now_s);
        assert_eq!(said(end.0 - SOON_S), None);
        let soon = said(end.0 - SOON_S + 1).expect("a warning");
        let words = "the certificate in server.pem expires at 2031-05-17T00:00:00Z, in 29 days: ";
        assert!(soon.words.starts_with(words) && !soon.is_over, "{soon:?}");
        // It is still valid in its last second (RFC 5280).
        assert!(!said(end.0).expect("a warning").is_over);
        let over = said(end.0 + 1).expect("a warning");
        let words = "the certificate in server.pem expired at 2031-05-17T00:00:00Z, and clients ";
        assert!(over.words.starts_with(words) && over.is_over, "{over:?}");
        assert!(over.words.ends_with("and send SIGHUP"), "{over:?}");
        let of_nodes =
            end.warning_at(path, CertificatePeers::Nodes, end.0 + 1).expect("a warning").words;
        assert!(of_nodes.ends_with("refuse it: put a new one in its place, with its key"));
    }

    #[test]
    fn a_gauge_shows_what_was_set_last() {
        let gauge = ExpiryGauge::default();
        assert_eq!(gauge.get(), None);
        gauge.set(Some(Expiry(5)));
        assert_eq!(gauge.get(), Some(Expiry(5)));
        gauge.set(None);
        assert_eq!(gauge.get(), None);
    }
}
