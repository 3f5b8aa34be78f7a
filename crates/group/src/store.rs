//! The thread that writes and syncs one shard's log and ballot.

use crate::clock::Clock;
use crate::device_state::DeviceState;
use scurry_consensus::shard::{LogDevice, Stored, Task, TaskOutcome};
use scurry_disk::Directory;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

/// Pause before a write to a full disk is retried.
const FULL_PAUSE: Duration = Duration::from_millis(200);

/// Starts the thread. It reports what it has stored to `tell`, and returns the state of the device, which it keeps up
/// to date.
pub(super) fn start(
    shard: u16,
    mut device: LogDevice<Directory>,
    tasks: Receiver<Task>,
    tell: impl Fn(Stored) -> bool + Send + 'static,
    clock: Clock,
) -> io::Result<Arc<DeviceState>> {
    let state = Arc::new(DeviceState::default());
    let shown = state.clone();
    thread::Builder::new().name(format!("group-log-{shard}")).spawn(move || {
        let tell = |stored| {
            state.note(&stored, clock.monotonic_ns());
            tell(stored)
        };
        let mut next = None;
        while let Some(task) = next.take().or_else(|| tasks.recv().ok()) {
            let more = || tasks.try_recv().ok();
            let rest = || thread::sleep(FULL_PAUSE); // tidy: allow (a disk says nothing when it has room)
            state.begin(clock.monotonic_ns());
            match device.work(task, more, &tell, &rest) {
                TaskOutcome::GoesOn(other) => next = other,
                TaskOutcome::Ends => return,
            }
            state.end();
        }
    })?;
    Ok(shown)
}
