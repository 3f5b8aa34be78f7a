//! What fails in the first phase of a run: links and doors.

use crate::link::{Chunk, End, LinkId};
use crate::world::{What, World};

impl World {
    /// Schedules the first failures.
    pub(crate) fn begin_failures(&mut self) {
        self.schedule_link_failure();
        self.schedule_door_failure();
    }

    fn schedule_link_failure(&mut self) {
        let mean_ms = self.plan.link_fault_ms;
        if mean_ms > 0 && self.is_faulty {
            let at_ms = self.now_ms + self.up_to(2 * mean_ms);
            self.schedule(at_ms, What::LinkFails);
        }
    }

    fn schedule_door_failure(&mut self) {
        let mean_ms = self.plan.door_fault_ms;
        if mean_ms > 0 && self.is_faulty {
            let at_ms = self.now_ms + self.up_to(2 * mean_ms);
            self.schedule(at_ms, What::DoorFails);
        }
    }

    /// Has one link fail: it stalls, in one direction or both, or it is cut, and one side, both or none see that.
    pub(crate) fn link_fails(&mut self) {
        self.schedule_link_failure();
        let sides = self.clients.iter().flat_map(|client| client.sides.iter().flatten());
        let links: Vec<LinkId> = sides.map(|own| own.link).collect();
        if !self.is_faulty || links.is_empty() {
            return;
        }
        let link = self.random.pick(&links);
        let ends: &[End] = match self.random.below(3) {
            0 => &[End::Client],
            1 => &[End::Door],
            _ => &[End::Client, End::Door],
        };
        if self.random.one_in(2) {
            self.truth.report.stalls += 1;
            let until_ms = self.now_ms + self.up_to(self.plan.stall_ms);
            ends.iter().for_each(|end| self.links[link].to(*end).stall(until_ms));
            return;
        }
        self.truth.report.cuts += 1;
        // What is under way may still arrive, or be lost with the rest.
        if self.random.one_in(2) {
            let seen: &[End] = if ends.len() == 2 && self.random.one_in(2) { &[] } else { ends };
            self.truth.report.half_open += u64::from(seen.len() < 2);
            seen.iter().for_each(|end| self.send_chunk(link, *end, Chunk::End));
            let unseen = [End::Client, End::Door].into_iter().filter(|end| !seen.contains(end));
            unseen.for_each(|end| self.links[link].to(end).lose());
        } else {
            self.truth.report.half_open += 1;
            ends.iter().for_each(|end| self.links[link].to(*end).lose());
        }
    }

    /// Has one door end: at once, or after its requests.
    pub(crate) fn door_fails(&mut self) {
        self.schedule_door_failure();
        let door = self.random.below(2);
        let is_running = self.doors[door].is_up && self.doors[door].drain_until_ms.is_none();
        if !self.is_faulty || !is_running {
            return;
        }
        if self.random.one_in(2) {
            self.truth.report.door_kills += 1;
            return self.kill(door);
        }
        self.truth.report.door_drains += 1;
        let until_ms = self.now_ms + 10_000;
        self.doors[door].drain_until_ms = Some(until_ms);
        self.schedule(until_ms, What::Drained(door));
    }

    /// Ends all failures: stalled links go on, and what was lost stays lost.
    pub(crate) fn heal(&mut self) {
        self.is_faulty = false;
        for link in &mut self.links {
            link.to(End::Client).heal();
            link.to(End::Door).heal();
        }
    }
}
