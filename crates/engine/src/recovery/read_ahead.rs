//! A second thread for recovery: it reads, checks and prepares, while the first thread applies. Loads pass between them
//! in the order of the files. A read error is reported only after everything handed over before it was applied, so the
//! first error is reported, as if one thread did both.

use super::RecoveryError;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, scope};

/// Most loads that wait to be applied. With the one that each thread works on, they bound the memory.
const WAITING_MAX: usize = 4;

/// Bytes of a long load, which is applied before the next is read: a single value may be as long as the host allows.
pub(super) const LONG_LEN: usize = 1 << 20;

/// Unit of work that is handed from the reader to the applier.
pub(super) trait Load: Default + Send {
    /// Reports whether it takes more than [`LONG_LEN`] bytes.
    fn is_long(&self) -> bool;
}

/// The reader's end of the hand-over.
pub(super) struct ReadAhead<T> {
    ready: SyncSender<T>,
    applied: Receiver<T>,
    /// Loads that were handed over and not returned.
    under_way: usize,
    /// Whether the applying thread has stopped: nothing more is needed.
    is_over: bool,
}

impl<T: Load> ReadAhead<T> {
    fn new() -> (ReadAhead<T>, Receiver<T>, Sender<T>) {
        let ((ready, loads), (back, applied)) = (sync_channel(WAITING_MAX), channel());
        (ReadAhead { ready, applied, under_way: 0, is_over: false }, loads, back)
    }

    /// Hands a load over, and returns an empty one to fill.
    pub(super) fn give(&mut self, load: T) -> T {
        let is_long = load.is_long();
        self.is_over |= self.ready.send(load).is_err();
        self.under_way += 1;
        let mut spent = self.applied.try_recv().ok();
        self.under_way -= usize::from(spent.is_some());
        while is_long && self.under_way > 0 && !self.is_over {
            spent = self.applied.recv().ok();
            self.under_way -= 1;
            self.is_over = spent.is_none();
        }
        spent.unwrap_or_default()
    }

    /// Reports whether the applying thread still takes loads.
    pub(super) fn is_wanted(&self) -> bool {
        !self.is_over
    }
}

/// Reads on another thread and applies on this one, one load after another; returns the result of reading. When both
/// fail, the error of applying is returned, because it is earlier in the files.
pub(super) fn read_ahead<T: Load, R: Send, E: From<RecoveryError>>(
    read: impl FnOnce(&mut ReadAhead<T>) -> R + Send,
    mut apply: impl FnMut(&mut T) -> Result<(), E>,
) -> Result<R, E> {
    let (mut ahead, loads, back) = ReadAhead::new();
    scope(move |scope| {
        let reader = Builder::new()
            .name("recovery-reads".to_owned())
            .spawn_scoped(scope, move || read(&mut ahead))
            .map_err(RecoveryError::Thread)?;
        // The loop ends when the reader drops its end; returning early drops `loads`, which stops the reader.
        for mut load in loads {
            apply(&mut load)?;
            let _ = back.send(load);
        }
        reader.join().map_or_else(|panic| resume_unwind(panic), Ok)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn fault(sequence: u64) -> RecoveryError {
        RecoveryError::lost(sequence, sequence + 1, None, None)
    }

    impl Load for u64 {
        fn is_long(&self) -> bool {
            false
        }
    }

    impl Load for Vec<u64> {
        fn is_long(&self) -> bool {
            self.len() > 1
        }
    }

    #[test]
    fn nothing_is_under_way_beside_a_long_load() {
        let applied = AtomicU64::new(0);
        let read = |ahead: &mut ReadAhead<Vec<u64>>| {
            for number in 1..=2_000 {
                let is_long = number % 9 == 0;
                ahead.give(vec![number; if is_long { 2 } else { 1 }]);
                assert!(!is_long || applied.load(Ordering::SeqCst) == number);
            }
        };
        let outcome: Result<(), RecoveryError> = read_ahead(read, |load| {
            applied.store(load[0], Ordering::SeqCst);
            Ok(())
        });
        outcome.expect("no fault");
    }

    #[test]
    fn loads_come_in_their_order_and_few_are_there_at_once() {
        let (given, mut applied, mut places) = (AtomicU64::new(0), 0, Vec::new());
        let read = |ahead: &mut ReadAhead<Vec<u64>>| {
            let mut load = Vec::new();
            for number in 0..1_000 {
                assert!(ahead.is_wanted() && load.is_empty());
                load.push(number);
                given.fetch_add(1, Ordering::SeqCst);
                load = ahead.give(load);
            }
            "all of it"
        };
        let outcome: Result<_, RecoveryError> = read_ahead(read, |load| {
            // One load is being applied and one is about to be handed over.
            assert!(given.load(Ordering::SeqCst) - applied <= WAITING_MAX as u64 + 2);
            assert_eq!(*load, [applied]);
            load.clear();
            places.push(load.as_ptr());
            applied += 1;
            Ok(())
        });
        assert_eq!((outcome.expect("no fault"), applied), ("all of it", 1_000));
        places.sort_unstable();
        places.dedup();
        assert!(places.len() <= WAITING_MAX + 3, "{} loads were made", places.len());
    }

    #[test]
    fn a_fault_in_applying_ends_the_reading_and_counts() {
        let read = |ahead: &mut ReadAhead<u64>| {
            let mut number = 0;
            while ahead.is_wanted() {
                ahead.give(number);
                number += 1;
            }
            Err::<(), _>(fault(number))
        };
        let outcome = read_ahead(read, |number| if *number == 3 { Err(fault(3)) } else { Ok(()) });
        let error = outcome.map(drop).expect_err("it was refused").to_string();
        assert_eq!(error, fault(3).to_string());
    }

    #[test]
    fn a_fault_in_applying_a_long_load_is_not_waited_for() {
        let read = |ahead: &mut ReadAhead<Vec<u64>>| {
            ahead.give(vec![1]);
            ahead.give(vec![2, 2]);
            ahead.is_wanted()
        };
        let outcome = read_ahead(read, |load| if load.len() == 2 { Err(fault(2)) } else { Ok(()) });
        assert!(outcome.is_err());
    }

    #[test]
    fn what_lies_before_a_fault_in_reading_is_applied() {
        let read = |ahead: &mut ReadAhead<u64>| {
            for number in 1..=50 {
                ahead.give(number);
            }
            Err::<(), _>(fault(51))
        };
        let mut last = 0;
        let outcome: Result<_, RecoveryError> = read_ahead(read, |number| {
            last = *number;
            Ok(())
        });
        let error = outcome.expect("all was applied").expect_err("reading has failed").to_string();
        assert_eq!((last, error), (50, fault(51).to_string()));
    }
}
