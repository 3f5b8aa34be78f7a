//! The part of a survey about a group's log: the state that a node would recover at its start.

use super::{CoreFiles, CoreSurvey};
use scurry_codec::{Index, LogBase, LogPosition, Sequence, Term};
use scurry_engine::{BASE_NAME, Disk, RequiredExtent, SnapshotSequences, look_at_group};

/// Contents of a group's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupSurvey {
    /// State before the first entry. None if the log begins with the first entry of the group.
    pub(crate) base: Option<LogBase>,
    pub(crate) entries: usize,
    /// Last sequence.
    pub(crate) last: Sequence,
    /// Indices of the first and the last entry.
    pub(crate) indices: Option<(Index, Index)>,
    /// Terms of the first and the last entry.
    pub(crate) terms: Option<(Term, Term)>,
    /// End of the last entry that is known to be committed.
    pub(crate) committed: LogPosition,
    /// Sequence that must be committed before a received snapshot can be used.
    pub(crate) waits_for: Option<Sequence>,
}

/// Surveys the log as one of a group, if it is one.
pub(super) fn look(pinned: &mut CoreFiles, survey: &mut CoreSurvey) {
    let Some(log) = survey.log else { return };
    let has_base = pinned.list().is_ok_and(|names| names.iter().any(|name| name == BASE_NAME));
    let has_frames = survey.segments.iter().any(|segment| segment.frames > 0);
    // A store of one machine that was about to found a group has a base, but its frames keep their own format.
    if !survey.is_replicated && (has_frames || !has_base) {
        return;
    }
    let found = match look_at_group(pinned, log, RequiredExtent::default()) {
        Ok(found) => found,
        Err(error) => {
            let text = error.to_string();
            // Damage found earlier describes the problem better.
            if survey.problems.is_empty() {
                survey.problems.push(text);
            }
            return;
        }
    };
    let shown = |snapshot: &super::SnapshotSurvey| SnapshotSequences {
        begun: Sequence(snapshot.begun),
        as_of: Sequence(snapshot.footer.as_of),
    };
    let snapshots: Vec<SnapshotSequences> = survey.snapshots.iter().map(shown).collect();
    let ends = found.entries.first().zip(found.entries.last());
    survey.group = Some(GroupSurvey {
        entries: found.entries.len(),
        last: Sequence(found.next.get() - 1),
        indices: ends.map(|(first, last)| (first.index, last.index)),
        terms: ends.map(|(first, last)| (first.term, last.term)),
        committed: found.committed(&snapshots),
        waits_for: found.shows(&snapshots),
        base: found.base,
    });
}
