//! CONFIG: shows settings; they are set at the start only.

use crate::counters::Counters;
use crate::glob;
use crate::listener::KEEPALIVE;
use crate::node::Node;
use scurry_resp::{Args, Reply};

/// Names and values, in the order in which they are shown. `requirepass` is not among them.
fn settings(node: &Node) -> Vec<(&'static str, String)> {
    let settings = &node.settings;
    let limits = &settings.limits;
    vec![
        ("bind", node.shared.main.ip().to_string()),
        ("port", node.shared.main.port().to_string()),
        ("maxclients", settings.clients_max.to_string()),
        ("maxmemory", settings.memory_max.unwrap_or(0).to_string()),
        ("maxmemory-policy", "noeviction".to_owned()),
        ("proto-max-bulk-len", settings.request.argument_len_max.to_string()),
        ("client-query-buffer-limit", settings.request.request_len_max.to_string()),
        ("tcp-keepalive", KEEPALIVE.as_secs().to_string()),
        ("timeout", "0".to_owned()),
        ("databases", "1".to_owned()),
        ("io-threads", node.shared.slots.cores().to_string()),
        ("save", String::new()),
        ("appendonly", "no".to_owned()),
        ("cluster-enabled", "no".to_owned()),
        ("identities-max", limits.identities_max.to_string()),
        ("buckets-max", limits.buckets_max.to_string()),
        ("counters-max", limits.counters_max.to_string()),
        ("sessions-max", limits.sessions_max.to_string()),
        ("session-ids-max", limits.session_ids_max.to_string()),
        ("items-max", limits.items_max.to_string()),
        ("answers-max", limits.answers_max.to_string()),
        ("transactions-max", limits.transactions_max.to_string()),
        ("blob-len-max", limits.blob_len_max.to_string()),
        ("tombstone-ms", limits.tombstone_ms.to_string()),
        ("transaction-ms", limits.transaction_ms.to_string()),
        ("validity-ms-default", limits.validity_ms_default.to_string()),
        ("tcc-ms-max", limits.tcc_ms_max.to_string()),
        ("overrun-default", limits.overrun_default.name().to_owned()),
    ]
}

pub(crate) fn get(node: &Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let wanted: Vec<(&str, String)> = settings(node)
        .into_iter()
        .filter(|(name, _)| args.iter_from(2).any(|glob| glob::matches(glob, name.as_bytes())))
        .collect();
    reply.map(wanted.len());
    for (name, value) in wanted {
        reply.text(name);
        reply.text(&value);
    }
}

pub(crate) fn reset_stat(node: &mut Node, reply: &mut Reply<'_>) {
    node.counters = Counters::default();
    reply.ok();
}
