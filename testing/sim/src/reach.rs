//! How far the log has come, noted beside it, and the writer that raises the note.

use crate::SimFile;
use crate::sim::Sim;
use scurry_engine::{Disk, File, LogReach, LogWriter, NoteError, RequiredExtent};

/// The file that says how far the log has come; a server has it beside the directory of the log.
pub(crate) const REACH: &str = "reach";

impl Sim {
    /// Notes how far the log has come, in a file that is made where there is none.
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

    /// The note of how far the log has come; none where there is no such file.
    pub(crate) fn open_reach(&mut self) -> Result<Option<LogReach<SimFile>>, NoteError> {
        match self.disk.open(REACH) {
            Ok(file) => LogReach::open(file, self.log).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The least that a start has to find.
    pub(crate) fn least(&mut self) -> Result<RequiredExtent, NoteError> {
        let sequence = self.open_reach()?.map_or(0, |reach| reach.sequence());
        Ok(RequiredExtent { sequence, snapshot: false })
    }

    /// A writer goes on with the log, and says beside it how far it has come.
    pub(crate) fn write_on(&mut self) {
        let writer = LogWriter::new(self.disk.clone(), self.log, self.plan.segment_len);
        self.writer = match self.open_reach() {
            Ok(Some(reach)) => writer.with_reach(reach),
            Ok(None) | Err(_) => writer,
        };
    }
}
