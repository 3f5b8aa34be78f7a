//! A build with the feature `nats`.

use super::ToNats;
use crate::ship::deliver;
use anyhow::Result;
use scurry_sink_nats::{NatsSink, NatsTarget};

/// Longest time from an event to its delivery, ms.
const FLUSH_MS: u64 = 100;

pub(super) fn run(to: ToNats) -> Result<()> {
    let mut target = NatsTarget::parse(&to.address, &to.subject)?;
    target.create_stream = to.create_stream;
    target.user = to.to_user;
    target.password = to.to_password;
    target.credentials = to.to_creds;
    target.roots = to.to_cacert;
    target.client = to.to_cert.zip(to.to_key);
    deliver(&to.source, FLUSH_MS, Box::new(NatsSink::new(target)))
}
