//! Checks passwords against their hashes on a separate thread, because a check takes milliseconds: one thread for the
//! process, one desk for each event loop.

use super::user::User;
use super::{Users, Workspace};
use crate::ticket::Ticket;
use mio::Waker;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::thread;

/// Maximum number of passwords that wait to be checked. Each connection has at most one, and the thread checks some
/// tens a second: more would wait longer than clients do.
const WAITING_MAX: usize = 256;

/// The answer for a [`Ticket`].
pub(crate) struct PasswordVerdict {
    pub(crate) ticket: Ticket,
    /// The authenticated user; None when name or password is wrong.
    pub(crate) user: Option<Arc<User>>,
}

/// Too many passwords wait to be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Busy;

struct Job {
    ticket: Ticket,
    name: Box<[u8]>,
    password: Box<[u8]>,
    verdicts: Sender<PasswordVerdict>,
    waker: Arc<Waker>,
}

/// The sending side of the thread. The thread ends with the last desk.
pub(crate) struct Checker {
    jobs: SyncSender<Job>,
}

/// A loop's connection to the checker. Each job gets at most one verdict, and the number of jobs is bounded, so the
/// queue of verdicts is bounded too.
pub(crate) struct PasswordChecks {
    jobs: SyncSender<Job>,
    waker: Arc<Waker>,
    sender: Sender<PasswordVerdict>,
    verdicts: Receiver<PasswordVerdict>,
}

impl Checker {
    /// Starts the thread.
    pub(crate) fn start(users: Arc<Users>) -> io::Result<Checker> {
        let (sender, jobs) = sync_channel(WAITING_MAX);
        thread::Builder::new()
            .name("scurry-passwords".to_owned())
            .spawn(move || check_all(&users, &jobs))?;
        Ok(Checker { jobs: sender })
    }

    /// Creates a desk whose loop is woken by `waker` when a verdict arrives.
    pub(crate) fn desk(&self, waker: Arc<Waker>) -> PasswordChecks {
        let (sender, verdicts) = channel();
        PasswordChecks { jobs: self.jobs.clone(), waker, sender, verdicts }
    }
}

fn check_all(users: &Users, jobs: &Receiver<Job>) {
    let mut workspace = Workspace::default();
    for job in jobs {
        let user = users.check(&job.name, &job.password, &mut workspace);
        // The loop may have ended; then nothing waits for the verdict.
        if job.verdicts.send(PasswordVerdict { ticket: job.ticket, user }).is_ok() {
            let _ = job.waker.wake();
        }
    }
}

impl PasswordChecks {
    /// Submits a password to be checked; [`PasswordChecks::verdict`] returns the result. Never blocks.
    pub(crate) fn submit(&self, ticket: Ticket, name: &[u8], password: &[u8]) -> Result<(), Busy> {
        let job = Job {
            ticket,
            name: name.into(),
            password: password.into(),
            verdicts: self.sender.clone(),
            waker: Arc::clone(&self.waker),
        };
        self.jobs.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) | TrySendError::Disconnected(_) => Busy,
        })
    }

    /// Returns the next verdict that has arrived.
    pub(crate) fn verdict(&self) -> Option<PasswordVerdict> {
        self.verdicts.try_recv().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{CHEAP, entry};
    use super::*;
    use mio::{Events, Poll, Token};

    fn ticket(client: u64) -> Ticket {
        Ticket { key: 7, client }
    }

    #[test]
    fn verdicts_come_in_order_and_wake_the_loop() {
        let users = Users::new(None, &[entry("alice", CHEAP, &["read"])]).expect("good users");
        let users = Arc::new(users);
        let mut poll = Poll::new().expect("a poller");
        let waker = Arc::new(Waker::new(poll.registry(), Token(1)).expect("a waker"));
        let desk = Checker::start(Arc::clone(&users)).expect("a thread").desk(waker);
        for (client, name, password) in
            [(1, "alice", "wrong"), (2, "alice", "password"), (3, "bob", "password")]
        {
            desk.submit(ticket(client), name.as_bytes(), password.as_bytes()).expect("room");
        }
        let mut got = Vec::new();
        let mut events = Events::with_capacity(8);
        while got.len() < 3 {
            poll.poll(&mut events, Some(std::time::Duration::from_secs(20))).expect("it waits");
            assert!(!events.is_empty(), "nothing woke the loop");
            while let Some(verdict) = desk.verdict() {
                let user = verdict.user.map(|user| user.name.clone());
                got.push((verdict.ticket, user));
            }
        }
        assert_eq!(
            got,
            [(ticket(1), None), (ticket(2), Some("alice".to_owned())), (ticket(3), None)]
        );
        assert_eq!(users.computed(), 3);
    }

    #[test]
    fn a_full_queue_says_so() {
        let (jobs, _never_taken) = sync_channel(1);
        let poll = Poll::new().expect("a poller");
        let waker = Arc::new(Waker::new(poll.registry(), Token(1)).expect("a waker"));
        let desk = Checker { jobs }.desk(waker);
        assert_eq!(desk.submit(ticket(1), b"alice", b"x"), Ok(()));
        assert_eq!(desk.submit(ticket(2), b"alice", b"x"), Err(Busy));
    }
}
