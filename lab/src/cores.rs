//! Which cores the loader and the system under test run on; they share none if there are enough.

use anyhow::{Context, Result};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Core assignment of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cores {
    /// Core of the loader.
    pub loader: usize,
    /// Cores of the system under test.
    pub target: Vec<usize>,
}

impl Cores {
    /// Assigns the first usable core to the loader and the next `threads` cores to the target, which also gets the
    /// loader's core when there are too few. Returns `None` on a machine with one core.
    ///
    /// # Errors
    /// When the kernel does not report the usable cores.
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

    /// Returns the cores of both.
    pub fn all(&self) -> Vec<usize> {
        let mut all = self.target.clone();
        if !self.are_shared() {
            all.push(self.loader);
        }
        all
    }

    /// Reports whether the loader's core is also one of the target's.
    pub fn are_shared(&self) -> bool {
        self.target.contains(&self.loader)
    }
}

/// Affinity mask of the calling thread, restored when this is dropped.
pub struct Allowed(CpuSet);

impl Allowed {
    /// Reads the current mask.
    ///
    /// # Errors
    /// When the kernel does not report it.
    pub fn look() -> Result<Allowed> {
        sched_getaffinity(None).map(Allowed).context("asking which cores may be used")
    }
}

impl Drop for Allowed {
    fn drop(&mut self) {
        // These cores were allowed before. If they no longer are, the thread keeps its present cores.
        let _ = sched_setaffinity(None, &self.0);
    }
}

/// Binds the calling thread, and everything that it starts, to one core.
///
/// # Errors
/// When this process may not use that core.
pub fn bind_this_thread(core: usize) -> Result<()> {
    bind(None, &[core])
}

/// Binds a thread (None is the calling one) to these cores.
///
/// # Errors
/// When the thread has ended, or none of the cores may be used.
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
