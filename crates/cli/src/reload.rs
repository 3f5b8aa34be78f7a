//! SIGHUP: users and certificates are read anew, and connections go on.

use crate::supervisor;
use anyhow::{Context, Result};
use scurry_server::Certificates;
use signal_hook::consts::SIGHUP;
use signal_hook::iterator::{Handle, Signals};
use std::path::Path;
use std::thread;

/// SIGHUPs of this process, which do not end it from now on.
pub(crate) struct Hangups(Signals);

/// A thread that waits for SIGHUP, until this is dropped.
pub(crate) struct Waiting(Handle);

impl Hangups {
    pub(crate) fn new() -> Result<Hangups> {
        Signals::new([SIGHUP]).map(Hangups).context("cannot wait for SIGHUP")
    }

    /// Does this for each SIGHUP, on a thread of its own: files may be slow. The supervisor is told when it
    /// begins and ends.
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

/// Reads the files of certificates again; what is wrong is told, and what was there before stays.
pub(crate) fn read_certificates<'c>(all: impl Iterator<Item = &'c Certificates> + Clone) {
    let mut outcome = None;
    for certificates in all.clone() {
        match certificates.read_again() {
            Ok(()) => outcome = outcome.or(Some(Ok(()))),
            // The doors have the same files, and the same is wrong with them.
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

/// Tells of certificates that have expired or will soon. A server shows them all the same: its other ports, and
/// clients that do not look, go on.
pub(crate) fn warn_of_certificates<'c>(all: impl IntoIterator<Item = &'c Certificates>) {
    let mut told = Vec::new();
    for warning in all.into_iter().filter_map(Certificates::warning) {
        // The doors have the same files.
        if !told.contains(&warning) {
            warning.log();
            told.push(warning);
        }
    }
}

/// Tells how the users of a file were taken.
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
