//! Common parts of the tools for data directories: find a directory, read it without changing it, check every byte,
//! copy it, and format its records.

mod copy;
mod cut;
mod directory;
mod fact;
mod line;
mod pinned;
mod progress;
mod rebuild;
mod survey;
mod tally;
mod target;
mod text;

pub(crate) use copy::{CopiedCore, CoreSource, copy_core};
pub(crate) use cut::Cut;
pub(crate) use directory::{DataDirectory, PathKind, core_name};
pub(crate) use line::{account_line, entry_line, record_line};
pub(crate) use pinned::CoreFiles;
pub(crate) use progress::Progress;
pub(crate) use rebuild::{
    Contents, Rebuilt, RestorePoint, StatePoint, contents, core_at, rebuild_core, sound_core,
};
pub(crate) use survey::{
    CoreSurvey, GroupSurvey, SegmentSurvey, SnapshotSurvey, log_of, survey_files, surveyed,
};
pub(crate) use target::Target;
pub(crate) use text::{count_text, grouped, time_text};
