//! Tracks what commands have read, and notifies the readers of what commands have changed.

use crate::execute::node::Node;
use crate::mail::bundle::Tracker;
use scurry_engine::KEY_LEN_MAX;
use scurry_resp::table::Spec;
use scurry_resp::{Args, Reply};

impl Node {
    /// Starts to track which clients read keys of this core.
    pub(crate) fn begin_tracking(&mut self) {
        self.tracking.active = true;
        self.shard.note_changes(true);
    }

    /// Stops tracking at the end of a turn when no client tracks any more.
    pub(crate) fn end_tracking(&mut self) {
        if self.shared.trackers() == 0 {
            self.tracking.active = false;
            self.tracking.table.clear();
            self.shard.note_changes(false);
        }
    }

    /// Handles an executed command on keys: notifies the readers of keys that it has changed, and tracks keys that it
    /// has read.
    #[cold]
    pub(crate) fn track(
        &mut self,
        tracker: Option<&Tracker>,
        spec: &Spec,
        args: Args<'_>,
        mut own: Option<&mut Reply<'_>>,
    ) {
        self.tell_changes(tracker, own.as_deref_mut());
        let Some(tracker) = tracker.filter(|tracker| tracker.tracks) else { return };
        if !spec.flags.contains(&"readonly") {
            return;
        }
        for position in spec.key_positions(args) {
            let key = args.at(position);
            // A longer key never holds anything.
            if key.len() <= KEY_LEN_MAX {
                self.tracking.table.add(key, tracker.sender);
            }
        }
        self.tracking.make_room(Some(tracker), own);
    }

    /// Notifies the readers of changed keys.
    pub(crate) fn tell_changes(
        &mut self,
        cause: Option<&Tracker>,
        mut own: Option<&mut Reply<'_>>,
    ) {
        let Some(changed) = self.shard.take_changes() else { return };
        for key in changed.iter() {
            let Some(mut readers) = self.tracking.table.remove_readers(key) else { continue };
            if let Some(cause) = cause.filter(|cause| cause.noloop) {
                readers.retain(|&reader| reader != cause.sender);
            }
            self.tracking.tell(key, &readers, cause, own.as_deref_mut());
        }
        self.shard.reuse_changes(changed);
    }

    /// Notifies all tracking clients: everything was deleted.
    pub(crate) fn drop_tracked(&mut self) {
        if self.tracking.active || self.shared.trackers() > 0 {
            self.begin_tracking();
            self.tracking.flush();
        }
    }
}
