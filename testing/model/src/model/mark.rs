//! Section 18: marks of buckets.

use super::state::State;

/// Mark that a Commit crosses: the bucket's id, whether less is available than the mark, and the mark.
pub(crate) type CrossedMark = (String, bool, i128);

/// Returns the marks that a Commit crosses, sorted. Takes the account before everything that the Commit does, and after it.
pub(super) fn crossed(before: Option<&State>, after: Option<&State>) -> Vec<CrossedMark> {
    let Some(after) = after else { return vec![] };
    let mut crossed = vec![];
    for bucket in &after.buckets {
        let Some(mark) = bucket.mark else { continue };
        let is_below = after.available(bucket.serial) < mark;
        let (mut was_below, mut had_mark) = (false, false);
        if let Some(before) = before
            && let Some(old) = before.buckets.iter().find(|old| old.serial == bucket.serial)
        {
            had_mark = old.mark == Some(mark);
            was_below = old.mark.is_some_and(|mark| before.available(old.serial) < mark);
        }
        let falls = is_below && (!was_below || !had_mark);
        if falls || (was_below && !is_below) {
            crossed.push((bucket.id.clone(), is_below, mark));
        }
    }
    crossed.sort();
    crossed
}
