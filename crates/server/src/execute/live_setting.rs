//! Settings that CONFIG SET changes while the server runs. All values are parsed first, so that several are changed
//! together or not at all; then they are applied to each core.

use crate::execute::node::Node;
use crate::measures::slowlog::SLOWLOG_LEN_MAX;
use crate::open_files;
use crate::settings::Settings;
use scurry_resp::parse_integer;

/// One setting with its new value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LiveSetting {
    /// `maxmemory`, bytes; None for no limit.
    MemoryMax(Option<u64>),
    /// `maxclients`.
    ClientsMax(usize),
    /// `slowlog-log-slower-than`, microseconds; negative logs nothing.
    SlowerThanUs(i64),
    /// `slowlog-max-len`.
    SlowlogLenMax(usize),
    /// `latency-monitor-threshold`, ms; 0 records nothing.
    LatencyThresholdMs(u64),
    /// `tracking-table-max-keys`, of all cores together.
    TrackedKeysMax(usize),
}

/// Parses a value, or returns why it is invalid, in Redis's words.
pub(crate) type Read = fn(&[u8]) -> Result<LiveSetting, String>;

/// Names of the settings with the parsers of their values.
const NAMES: &[(&str, Read)] = &[
    ("maxmemory", memory_max),
    ("maxclients", clients_max),
    ("slowlog-log-slower-than", slower_than),
    ("slowlog-max-len", slowlog_len_max),
    ("latency-monitor-threshold", latency_threshold),
    ("tracking-table-max-keys", tracked_keys_max),
];

impl LiveSetting {
    /// Returns the parser of this setting's values; None for a setting that cannot change.
    pub(crate) fn reader(name: &[u8]) -> Option<Read> {
        let named = |(known, _): &&(&str, Read)| known.as_bytes().eq_ignore_ascii_case(name);
        NAMES.iter().find(named).map(|&(_, read)| read)
    }

    /// Makes the system provide the resources for the setting, or returns why it cannot.
    pub(crate) fn prepared(self, settings: &Settings) -> Result<LiveSetting, String> {
        let LiveSetting::ClientsMax(wanted) = self else { return Ok(self) };
        let possible = open_files::make_room(wanted, settings.files_beside());
        if possible < wanted {
            return Err(format!(
                "The operating system is not able to handle the specified number of clients, try with {possible}"
            ));
        }
        Ok(self)
    }

    /// Changes the setting on one core.
    pub(crate) fn apply(self, node: &mut Node) {
        match self {
            LiveSetting::MemoryMax(memory_max) => {
                node.settings.memory_max = memory_max;
                node.shard.set_memory_max(memory_max);
                // The memory of the other cores counts too.
                node.share();
            }
            LiveSetting::ClientsMax(clients_max) => node.settings.clients_max = clients_max,
            LiveSetting::SlowerThanUs(us) => node.slowness.set_slower_than_us(us),
            LiveSetting::SlowlogLenMax(len_max) => node.slowness.slowlog.set_len_max(len_max),
            LiveSetting::LatencyThresholdMs(ms) => node.slowness.set_latency_threshold_ms(ms),
            LiveSetting::TrackedKeysMax(keys_max) => node.tracking.set_keys_max(keys_max),
        }
    }
}

fn integer(value: &[u8], least: i64, most: i64) -> Result<i64, String> {
    let value = parse_integer(value)
        .ok_or_else(|| "argument couldn't be parsed into an integer".to_owned())?;
    if (least..=most).contains(&value) {
        Ok(value)
    } else {
        Err(format!("argument must be between {least} and {most} inclusive"))
    }
}

fn memory_max(value: &[u8]) -> Result<LiveSetting, String> {
    let bytes = memory(value).ok_or_else(|| "argument must be a memory value".to_owned())?;
    Ok(LiveSetting::MemoryMax(Some(bytes).filter(|&bytes| bytes > 0)))
}

/// Parses digits and a unit as Redis does: k is 1000, kb is 1024, and so on.
fn memory(value: &[u8]) -> Option<u64> {
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, unit) = value.split_at(digits);
    let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    let factor: u64 = match &*unit.to_ascii_lowercase() {
        b"" | b"b" => 1,
        b"k" => 1_000,
        b"kb" => 1 << 10,
        b"m" => 1_000_000,
        b"mb" => 1 << 20,
        b"g" => 1_000_000_000,
        b"gb" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(factor)
}

fn clients_max(value: &[u8]) -> Result<LiveSetting, String> {
    let wanted = integer(value, 1, i64::from(u32::MAX))?;
    Ok(LiveSetting::ClientsMax(usize::try_from(wanted).unwrap_or(usize::MAX)))
}

fn slower_than(value: &[u8]) -> Result<LiveSetting, String> {
    integer(value, -1, i64::MAX).map(LiveSetting::SlowerThanUs)
}

fn slowlog_len_max(value: &[u8]) -> Result<LiveSetting, String> {
    let most = i64::try_from(SLOWLOG_LEN_MAX).unwrap_or(i64::MAX);
    let len_max = integer(value, 0, most)?;
    Ok(LiveSetting::SlowlogLenMax(usize::try_from(len_max).unwrap_or(SLOWLOG_LEN_MAX)))
}

fn latency_threshold(value: &[u8]) -> Result<LiveSetting, String> {
    let ms = integer(value, 0, i64::MAX)?;
    Ok(LiveSetting::LatencyThresholdMs(u64::try_from(ms).unwrap_or_default()))
}

fn tracked_keys_max(value: &[u8]) -> Result<LiveSetting, String> {
    // Redis takes 0 for no limit; here everything has one.
    let keys_max = integer(value, 1, i64::from(u32::MAX))?;
    Ok(LiveSetting::TrackedKeysMax(usize::try_from(keys_max).unwrap_or(usize::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_as_redis_reads_it() {
        for (text, bytes) in [
            ("0", Some(0)),
            ("10", Some(10)),
            ("10b", Some(10)),
            ("1k", Some(1_000)),
            ("1kb", Some(1_024)),
            ("2MB", Some(2 << 20)),
            ("1g", Some(1_000_000_000)),
            ("1Gb", Some(1 << 30)),
            ("", None),
            ("-1", None),
            ("1.5gb", None),
            ("10%", None),
            ("kb", None),
            ("99999999999gb", None),
        ] {
            assert_eq!(memory(text.as_bytes()), bytes, "{text}");
        }
    }
}
