//! Two endpoints and the fabric between them.

use scurry_rdma_fabric::{Fabric, Limits, SimQueue};
use scurry_rdma_proto::{Endpoint, Progress, Role, Settings, WINDOW_LEN_MIN};

/// Length of all windows, bytes.
pub(crate) const LEN: usize = WINDOW_LEN_MIN;

/// A server and a client, connected.
pub(crate) struct Pair {
    pub(crate) fabric: Fabric,
    pub(crate) ends: [usize; 2],
    pub(crate) server: Endpoint<SimQueue>,
    pub(crate) client: Endpoint<SimQueue>,
    pub(crate) now_ms: i64,
}

impl Pair {
    /// Creates both with these settings and windows of 64 KiB.
    pub(crate) fn new(settings: Settings) -> Pair {
        Pair::limited(Settings { window_len: LEN, ..settings }, Limits::default())
    }

    pub(crate) fn limited(settings: Settings, server: Limits) -> Pair {
        let fabric = Fabric::default();
        let ends = fabric.connect([server, Limits::default()]);
        let [server, client] =
            [(ends[0], Role::Server), (ends[1], Role::Client)].map(|(end, role)| {
                let queue = SimQueue::new(&fabric, end);
                let mut endpoint =
                    Endpoint::new(queue, role, settings, 0).expect("there is memory");
                endpoint.open(0).expect("nothing is wrong");
                endpoint
            });
        let mut pair = Pair { fabric, ends, server, client, now_ms: 0 };
        pair.deliver();
        pair
    }

    /// Delivers everything in flight.
    pub(crate) fn deliver(&mut self) {
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for (end, endpoint) in self.ends.into_iter().zip([&mut self.server, &mut self.client]) {
                while self.fabric.carry(end) || self.fabric.complete(end) {
                    changed = true;
                }
                while let Some(told) = self.fabric.next_event(end) {
                    endpoint.event(told.event(), self.now_ms).expect("no fault");
                    changed = true;
                }
            }
        }
    }

    /// Returns the server's input after all that has arrived was copied.
    pub(crate) fn shown(&mut self) -> &[u8] {
        while let Progress::More(_) = self.server.progress() {}
        self.server.input()
    }
}

/// Forms bytes and publishes them. Returns true when all of them were sent.
pub(crate) fn say(endpoint: &mut Endpoint<SimQueue>, bytes: &[u8]) -> bool {
    endpoint.parts().1.extend_from_slice(bytes);
    endpoint.commit();
    endpoint.publish().expect("no fault")
}

/// Returns bytes that differ from their neighbours, so that a misplaced one is detected.
pub(crate) fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8 ^ (i / 251 % 256) as u8).collect()
}

pub(crate) fn in_place() -> Settings {
    Settings { windows: 2, ..Settings::default() }
}
