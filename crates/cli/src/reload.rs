//! Reloads users and certificates on SIGHUP, while connections stay open.

use crate::supervisor;
use anyhow::{Context, Result};
use scurry_tls::Certificates;
use signal_hook::consts::SIGHUP;
use signal_hook::iterator::{Handle, Signals};
use std::path::Path;
use std::thread;

/// Registration for SIGHUP, which from then on no longer ends the process.
pub(crate) struct Hangups(Signals);

/// Thread that waits for SIGHUP until this is dropped.
pub(crate) struct Waiting(Handle);

impl Hangups {
    pub(crate) fn new() -> Result<Hangups> {
        Signals::new([SIGHUP]).map(Hangups).context("cannot wait for SIGHUP")
    }

    /// Runs `reload` on each SIGHUP, on its own thread because files may be slow. Tells the supervisor when it begins
    /// and ends.
    pub(crate) fn each(self, reload: impl Fn() + Send + 'static) -> Result<Waiting> {
        let Hangups(mut signals) = self;
        let waiting = Waiting(signals.handle());
        let wait = move || {
            for _ in signals.forever() {
                tell(supervisor::RELOADING);
                reload();
                tell(supervisor::READY);
            }
        };
        let thread = thread::Builder::new().name("reload".to_owned());
        thread.spawn(wait).context("cannot start the thread that waits for SIGHUP")?;
        Ok(waiting)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Reads the certificate files again. An error is logged, and the certificates in use stay.
pub(crate) fn read_certificates<'c>(all: impl Iterator<Item = &'c Certificates> + Clone) {
    let mut outcome = None;
    for certificates in all.clone() {
        match certificates.read_again() {
            Ok(()) => outcome = outcome.or(Some(Ok(()))),
            // RESP and HTTP use the same files, so the last error stands for all.
            Err(error) => outcome = Some(Err(error)),
        }
    }
    match outcome {
        None => {}
        Some(Ok(())) => tracing::info!("the certificates are taken"),
        Some(Err(error)) => tracing::error!("the certificates stay as they were: {error}"),
    }
    warn_of_certificates(all);
}

/// Warns of certificates that have expired or soon will. The server uses them all the same: its other ports, and
/// clients that do not check, keep working.
pub(crate) fn warn_of_certificates<'c>(all: impl IntoIterator<Item = &'c Certificates>) {
    let mut told = Vec::new();
    for warning in all.into_iter().filter_map(Certificates::warning) {
        // RESP and HTTP use the same files, so a warning is logged once.
        if !told.contains(&warning) {
            warning.log();
            told.push(warning);
        }
    }
}

/// Logs whether the users of a file were accepted.
pub(crate) fn tell_of_users(path: &Path, outcome: Result<()>) {
    match outcome {
        Ok(()) => tracing::info!("the users in {} are taken", path.display()),
        Err(error) => tracing::error!("the users are not taken: {error:#}"),
    }
}

fn tell(word: &[u8]) {
    if let Err(error) = supervisor::tell(word) {
        tracing::warn!("{error:#}");
    }
}
