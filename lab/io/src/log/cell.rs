//! One way on one ground with one size of batch: what is measured together.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Barrier;
use std::thread;

use anyhow::{Context, Result, anyhow, ensure};
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::ground::Ground;
use crate::memory::{Aligned, padded};
use crate::way::Way;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) way: Way,
    pub(crate) ground: Ground,
    /// Bytes of a batch.
    pub(crate) batch_len: usize,
    /// Batches that each writer writes.
    pub(crate) batches: usize,
    pub(crate) writers: usize,
}

/// What came out in one round. Times in microseconds.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Row {
    pub(crate) way: Way,
    pub(crate) ground: Ground,
    pub(crate) batch_len: usize,
    pub(crate) writers: usize,
    pub(crate) batches: usize,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) max_us: f64,
    /// Megabytes of batches, without padding, of all writers together.
    pub(crate) mb_per_s: f64,
    /// CPU time of the process for each batch; the threads of the file system are not in it.
    pub(crate) cpu_us: f64,
}

impl Row {
    /// True for what this cell measured, now or in an earlier round.
    pub(crate) fn is_of(&self, cell: &Cell) -> bool {
        (self.way, self.ground) == (cell.way, cell.ground)
            && (self.batch_len, self.writers) == (cell.batch_len, cell.writers)
    }
}

impl Cell {
    /// Prepares the files, writes, and reads back what was written.
    pub(crate) fn measure(&self, directory: &Path) -> Result<Row> {
        self.run(directory).with_context(|| {
            format!("{} on {}, {} bytes", self.way.name(), self.ground.name(), self.batch_len)
        })
    }

    fn run(&self, directory: &Path) -> Result<Row> {
        let paths: Vec<_> =
            (0..self.writers).map(|writer| directory.join(format!("log-{writer}"))).collect();
        for path in &paths {
            self.ground.make(path, self.stride() * self.batches, self.way.is_direct())?;
        }
        let ready = Barrier::new(self.writers + 1);
        let (mut latencies, wall, cpu) = thread::scope(|scope| {
            let writers: Vec<_> =
                paths.iter().map(|path| scope.spawn(|| self.write(path, &ready))).collect();
            ready.wait();
            let (start, cpu) = (clock::nanos(), clock::cpu_nanos());
            let mut latencies = Vec::new();
            for writer in writers {
                let written = writer.join().map_err(|_| anyhow!("a writer panicked"))?;
                latencies.extend(written?);
            }
            anyhow::Ok((latencies, clock::nanos() - start, clock::cpu_nanos() - cpu))
        })?;
        for path in &paths {
            self.check(path)?;
        }
        latencies.sort_unstable();
        let batches = latencies.len();
        let at = |percent: usize| latencies[(batches - 1) * percent / 100] as f64 / 1e3;
        Ok(Row {
            way: self.way,
            ground: self.ground,
            batch_len: self.batch_len,
            writers: self.writers,
            batches: self.batches,
            p50_us: at(50),
            p99_us: at(99),
            max_us: at(100),
            mb_per_s: (batches * self.batch_len) as f64 * 1e3 / wall as f64,
            cpu_us: cpu as f64 / 1e3 / batches as f64,
        })
    }

    /// Bytes from one batch to the next.
    fn stride(&self) -> usize {
        if self.way.is_direct() { padded(self.batch_len) } else { self.batch_len }
    }

    /// Nanoseconds of each batch. Reaches the barrier also when the file does not open, as the
    /// others wait for it.
    fn write(&self, path: &Path, ready: &Barrier) -> Result<Vec<u64>> {
        let writer = self.way.open(path);
        let mut batch = Aligned::new(self.stride());
        let mut latencies = Vec::with_capacity(self.batches);
        ready.wait();
        let mut writer = writer?;
        for number in 0..self.batches {
            batch.bytes()[..8].copy_from_slice(&mark(number));
            let start = clock::nanos();
            writer.write((number * self.stride()) as u64, &mut batch)?;
            latencies.push(clock::nanos() - start);
        }
        Ok(latencies)
    }

    /// A way that loses bytes would be fast.
    fn check(&self, path: &Path) -> Result<()> {
        let (file, mut found) = (File::open(path)?, [0; 8]);
        for number in 0..self.batches {
            file.read_exact_at(&mut found, (number * self.stride()) as u64)?;
            ensure!(found == mark(number), "batch {number} is not what was written");
        }
        Ok(())
    }
}

/// How a batch begins.
fn mark(number: usize) -> [u8; 8] {
    (number as u64 + 1).to_le_bytes()
}
