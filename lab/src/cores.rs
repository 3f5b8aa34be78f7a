//! Which cores the loader and the system under test run on: never the same one, where there
//! are enough.

use anyhow::{Context, Result};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The placement of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cores {
    /// The loader's core.
    pub loader: usize,
    /// The cores of the system under test.
    pub target: Vec<usize>,
}

impl Cores {
    /// The loader takes the first core that this process may use, a target of so many threads
    /// those that follow, and the loader's as well when there are not enough. `None` on a
    /// machine with one core.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn choose(threads: usize) -> Result<Option<Cores>> {
        let allowed = sched_getaffinity(None).context("asking which cores may be used")?;
        let usable: Vec<usize> =
            (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
        Ok(Cores::among(&usable, threads))
    }

    fn among(usable: &[usize], threads: usize) -> Option<Cores> {
        let (loader, others) = usable.split_first().filter(|(_, others)| !others.is_empty())?;
        let mut target: Vec<usize> = others.iter().copied().take(threads.max(1)).collect();
        if target.len() < threads {
            target.insert(0, *loader);
        }
        Some(Cores { loader: *loader, target })
    }

    /// Both's.
    pub fn all(&self) -> Vec<usize> {
        let mut all = self.target.clone();
        if !self.are_shared() {
            all.push(self.loader);
        }
        all
    }

    /// The loader's core is one of the target's.
    pub fn are_shared(&self) -> bool {
        self.target.contains(&self.loader)
    }
}

/// The cores that the calling thread may use, which it may use again when this is dropped, wherever it
/// was bound meanwhile.
pub struct Allowed(CpuSet);

impl Allowed {
    /// Looks.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn look() -> Result<Allowed> {
        sched_getaffinity(None).map(Allowed).context("asking which cores may be used")
    }
}

impl Drop for Allowed {
    fn drop(&mut self) {
        // They were allowed before: where they are not any more, others must do.
        let _ = sched_setaffinity(None, &self.0);
    }
}

/// Binds the calling thread, and whatever it starts, to one core.
///
/// # Errors
/// When this process may not use that core.
pub fn bind_this_thread(core: usize) -> Result<()> {
    bind(None, &[core])
}

/// Binds one thread, the calling one or another, to these cores.
///
/// # Errors
/// When the thread has gone, or none of the cores may be used.
pub fn bind(thread: Option<Pid>, cores: &[usize]) -> Result<()> {
    let mut set = CpuSet::new();
    cores.iter().for_each(|core| set.set(*core));
    sched_setaffinity(thread, &set).with_context(|| format!("binding a thread to cores {cores:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_has_its_own_core_where_there_are_enough() {
        let cores = |usable: &[usize], threads| Cores::among(usable, threads);
        assert_eq!(cores(&[3], 1), None);
        let alone = Cores { loader: 0, target: vec![1] };
        assert!(!alone.are_shared());
        assert_eq!(alone.all(), [1, 0]);
        assert_eq!(cores(&[0, 1], 1), Some(alone));
        let shared = Cores { loader: 0, target: vec![0, 1] };
        assert!(shared.are_shared());
        assert_eq!(shared.all(), [0, 1]);
        assert_eq!(cores(&[0, 1], 2), Some(shared));
        assert_eq!(cores(&[0, 1, 2, 5], 2), Some(Cores { loader: 0, target: vec![1, 2] }));
        assert_eq!(cores(&[0, 1, 2], 9), Some(Cores { loader: 0, target: vec![0, 1, 2] }));
    }
}
