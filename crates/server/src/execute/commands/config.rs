//! CONFIG: shows settings, and changes those that can change while the server runs.

use super::SYNTAX_ERROR;
use crate::execute::live_setting::LiveSetting;
use crate::execute::node::Node;
use crate::glob::{self, Budget, BudgetSpent};
use crate::measures::counters::Counters;
use crate::net::listener::KEEPALIVE;
use scurry_ledger::Name;
use scurry_resp::{Args, Reply};

/// Settings of Valkey that are never shown, and why they cannot be changed.
const UNSHOWN: [(&str, &str); 2] =
    [("dir", "can't set protected config"), ("requirepass", IMMUTABLE)];
const IMMUTABLE: &str = "can't set immutable config";

/// Returns names and values, in the order in which they are shown. `requirepass` is not among them.
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
        ("slowlog-log-slower-than", node.slowness.slowlog.slower_than_us.to_string()),
        ("slowlog-max-len", node.slowness.slowlog.len_max().to_string()),
        ("latency-monitor-threshold", node.slowness.latency.threshold_ms.to_string()),
        ("tracking-table-max-keys", node.tracking.keys_max().to_string()),
        ("tcp-keepalive", KEEPALIVE.as_secs().to_string()),
        ("timeout", "0".to_owned()),
        ("auth-ms-max", settings.auth_ms_max.to_string()),
        ("databases", "1".to_owned()),
        ("io-threads", node.shared.slots.cores().to_string()),
        ("save", String::new()),
        ("appendonly", "no".to_owned()),
        ("cluster-enabled", "no".to_owned()),
        ("identities-max", limits.identities_max.to_string()),
        ("buckets-max", limits.buckets_max.to_string()),
        ("counters-max", limits.counters_max.to_string()),
        ("limits-max", limits.limits_max.to_string()),
        ("sessions-max", limits.sessions_max.to_string()),
        ("session-ids-max", limits.session_ids_max.to_string()),
        ("items-max", limits.items_max.to_string()),
        ("session-items-max", limits.session_items_max.to_string()),
        ("answers-max", limits.answers_max.to_string()),
        ("transactions-max", limits.transactions_max.to_string()),
        ("blob-len-max", limits.blob_len_max.to_string()),
        ("denials-max", limits.denials_max.to_string()),
        ("tombstone-ms", limits.tombstone_ms.to_string()),
        ("transaction-ms", limits.transaction_ms.to_string()),
        ("validity-ms-default", limits.validity_ms_default.to_string()),
        ("tcc-ms-max", limits.tcc_ms_max.to_string()),
        ("unique-identities", names(&settings.unique_identities)),
        ("entity-index", if settings.entity_index { "yes" } else { "no" }.to_owned()),
        ("entity-tombstone-ms", settings.entity_tombstone_ms.to_string()),
        ("node", settings.node.to_string()),
        ("overrun-default", limits.overrun_default.name().to_owned()),
    ]
}

pub(crate) fn get(node: &Node, args: Args<'_>, reply: &mut Reply<'_>) {
    let wanted = match wanted(node, args) {
        Ok(wanted) => wanted,
        Err(spent) => return reply.error(format_args!("{spent}")),
    };
    reply.map(wanted.len());
    for (name, value) in wanted {
        reply.text(name);
        reply.text(&value);
    }
}

/// Returns the settings with names that match one of the patterns.
fn wanted(node: &Node, args: Args<'_>) -> Result<Vec<(&'static str, String)>, BudgetSpent> {
    let (mut wanted, mut budget) = (Vec::new(), Budget::of_a_command());
    for setting in settings(node) {
        for pattern in args.iter_from(2) {
            if glob::matches(pattern, setting.0.as_bytes(), &mut budget)? {
                wanted.push(setting);
                break;
            }
        }
    }
    Ok(wanted)
}

/// Why CONFIG SET changes nothing.
enum Refusal<'a> {
    Unknown(&'a [u8]),
    Name { name: &'a [u8], why: &'static str },
    Value { name: &'a [u8], why: String },
}

pub(crate) fn set(node: &mut Node, args: Args<'_>, reply: &mut Reply<'_>) {
    if !args.len().is_multiple_of(2) {
        return reply.error(SYNTAX_ERROR);
    }
    match read(node, args) {
        Ok(changes) => {
            changes.into_iter().for_each(|change| change.apply(node));
            reply.ok();
        }
        Err(Refusal::Unknown(name)) => reply.error_quoting(
            "ERR Unknown option or number of arguments for CONFIG SET - '",
            name,
            "'",
        ),
        Err(Refusal::Name { name, why }) => failed(name, why, reply),
        Err(Refusal::Value { name, why }) => failed(&name.to_ascii_lowercase(), &why, reply),
    }
}

fn failed(name: &[u8], why: &str, reply: &mut Reply<'_>) {
    reply.error_quoting(
        "ERR CONFIG SET failed (possibly related to argument '",
        name,
        &format!("') - {why}"),
    );
}

/// Parses all changes, or returns the first error: names before values, as in Redis.
fn read<'a>(node: &Node, args: Args<'a>) -> Result<Vec<LiveSetting>, Refusal<'a>> {
    let pairs = || (2..args.len()).step_by(2).map(|at| (args.at(at), args.at(at + 1)));
    for (at, (name, _)) in pairs().enumerate() {
        let wrong = |why| Err(Refusal::Name { name, why });
        if LiveSetting::reader(name).is_none() {
            let is_it = |known: &str| known.as_bytes().eq_ignore_ascii_case(name);
            if let Some((_, why)) = UNSHOWN.iter().find(|(known, _)| is_it(known)) {
                return wrong(why);
            }
            if !settings(node).iter().any(|(known, _)| is_it(known)) {
                return Err(Refusal::Unknown(name));
            }
            return wrong(IMMUTABLE);
        }
        if pairs().take(at).any(|(other, _)| other.eq_ignore_ascii_case(name)) {
            return wrong("duplicate parameter");
        }
    }
    pairs()
        .filter_map(|(name, value)| LiveSetting::reader(name).map(|read| (name, read(value))))
        .map(|(name, read)| {
            let prepared = read.and_then(|setting| setting.prepared(&node.settings));
            prepared.map_err(|why| Refusal::Value { name, why })
        })
        .collect()
}

pub(crate) fn reset_stat(node: &mut Node, reply: &mut Reply<'_>) {
    node.counters = Counters::default();
    node.rates.reset();
    node.measures.reset();
    reply.ok();
}

/// Joins names with commas.
fn names(names: &[Name]) -> String {
    let texts: Vec<_> = names.iter().map(|name| String::from_utf8_lossy(name.as_bytes())).collect();
    texts.join(",")
}
