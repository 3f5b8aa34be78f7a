//! The reach of the log: a lower bound of its durable length, in a separate file, and the writer that raises it.

use crate::SimFile;
use crate::sim::Sim;
use scurry_engine::{Disk, File, LogReach, LogWriter, NoteError, RequiredExtent};

/// The name of the file with the reach. A server has it beside the directory of the log.
pub(crate) const REACH: &str = "reach";

impl Sim {
    /// Raises the noted reach to this sequence. Creates the file if it is missing.
    pub(crate) fn note_reach(&mut self, sequence: u64) -> Result<(), NoteError> {
        if let Some(mut reach) = self.open_reach()? {
            return reach.raise(sequence);
        }
        let new = format!("{REACH}.new");
        let mut file = self.disk.create(&new, 0)?;
        file.write_at(0, &LogReach::<SimFile>::file_of([(self.log, sequence)].into_iter()))?;
        file.sync()?;
        self.disk.rename(&new, REACH)?;
        Ok(self.disk.sync_dir()?)
    }

    /// Opens the note of the reach; None if the file is missing.
    pub(crate) fn open_reach(&mut self) -> Result<Option<LogReach<SimFile>>, NoteError> {
        match self.disk.open(REACH) {
            Ok(file) => LogReach::open(file, self.log).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the extent that a start must find at least.
    pub(crate) fn least(&mut self) -> Result<RequiredExtent, NoteError> {
        let sequence = self.open_reach()?.map_or(0, |reach| reach.sequence());
        Ok(RequiredExtent { sequence, snapshot: false })
    }

    /// Creates the writer that continues the log. It raises the reach if there is a note of it.
    pub(crate) fn reopen_writer(&mut self) {
        let writer = LogWriter::new(self.disk.clone(), self.log, self.plan.segment_len);
        self.writer = match self.open_reach() {
            Ok(Some(reach)) => writer.with_reach(reach),
            Ok(None) | Err(_) => writer,
        };
    }
}
