//! The embedded engine as the door asks it: RESP over pairs of sockets. Requests do not wait for each
//! other: a connection executes nothing while its replies wait for a sync of the log, and what is asked
//! meanwhile goes over another one, so that the next sync takes it along.

use crate::line::Line;
use crate::service::{Service, ServiceError};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use redis::{Cmd, Value};
use scurry_server::Inside;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Connections at most. Each is one more group of requests that is executed while others wait for a
/// sync; with fewer the door's clients wait for two syncs, and each costs the engine a turn and the
/// door a buffer.
const LINES_MAX: usize = 16;

// Those that have been given up may still be there.
const _: () = assert!(2 * LINES_MAX <= Inside::CONNECTIONS_MAX);

/// A new connection to the engine.
type Connect = dyn Fn() -> io::Result<UnixStream> + Send + Sync;

/// The way to the engine: connections that are made when they are needed, and anew when they are lost.
pub(crate) struct Engine {
    connect: Box<Connect>,
    /// No answer takes longer.
    patience: Duration,
    lines: Mutex<Vec<Line>>,
}

impl Engine {
    pub(crate) fn new(
        connect: impl Fn() -> io::Result<UnixStream> + Send + Sync + 'static,
        patience: Duration,
    ) -> Engine {
        Engine { connect: Box::new(connect), patience, lines: Mutex::default() }
    }

    /// The answer to a command; errors of RESP are among the values.
    async fn ask(&self, command: &Cmd) -> Result<Value, ServiceError> {
        let line = self.line().map_err(|error| ServiceError::NotSent(error.to_string()))?;
        let error = match line.ask(command).await {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        // Others would wait behind it.
        self.lines().retain(|kept| !kept.is_same(&line));
        Err(ServiceError::Unknown(match error.is_timeout() {
            true => "the engine does not answer".to_owned(),
            false => error.to_string(),
        }))
    }

    /// The connection on which the fewest requests are under way: one without any, as long as one more
    /// is to be had.
    fn line(&self) -> io::Result<Line> {
        let mut lines = self.lines();
        lines.retain(|line| !line.is_over());
        let counted = lines.iter().map(|line| (line.under_way(), line));
        let idlest = counted.min_by_key(|(under_way, _)| *under_way);
        let idlest = idlest.map(|(under_way, line)| (under_way, line.clone()));
        if let Some((under_way, line)) = &idlest
            && (*under_way == 0 || lines.len() >= LINES_MAX)
        {
            return Ok(line.clone());
        }
        let made = (self.connect)().and_then(|stream| Line::within(stream, self.patience));
        match (made, idlest) {
            (Ok(line), _) => {
                lines.push(line.clone());
                Ok(line)
            }
            // The engine takes no more at present: it answers those that it has.
            (Err(_), Some((_, line))) => Ok(line),
            (Err(error), None) => Err(error),
        }
    }

    fn lines(&self) -> MutexGuard<'_, Vec<Line>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service for Engine {
    fn execute<'a>(
        &'a self,
        arguments: &'a [Vec<u8>],
    ) -> BoxFuture<'a, Result<Value, ServiceError>> {
        let mut command = Cmd::new();
        for argument in arguments {
            command.arg(argument);
        }
        async move { self.ask(&command).await }.boxed()
    }
}

#[cfg(test)]
mod tests;
