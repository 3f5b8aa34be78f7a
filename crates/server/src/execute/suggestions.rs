//! Advice about commands that the table does not have: alternatives for those of Redis and Valkey, and corrections of
//! mistyped names.

use scurry_resp::table;

/// Maximum length of a name that is considered, letters: no command is longer.
const NAME_LEN_MAX: usize = 32;

/// Data types and features of Redis and Valkey that Scurry lacks, each with its commands.
const KINDS: [(&str, &str); 9] = [
    (
        "hashes",
        "HSET HGET HDEL HLEN HKEYS HVALS HMSET HMGET HGETALL HEXISTS HINCRBY HINCRBYFLOAT \
         HSETNX HSTRLEN HSCAN HRANDFIELD HEXPIRE HPEXPIRE HEXPIREAT HPEXPIREAT HTTL HPTTL \
         HPERSIST HGETDEL HGETEX HSETEX",
    ),
    (
        "lists",
        "LPUSH RPUSH LPUSHX RPUSHX LPOP RPOP LRANGE LLEN LINDEX LSET LREM LINSERT LTRIM LPOS \
         LMOVE LMPOP RPOPLPUSH BLPOP BRPOP BLMOVE BLMPOP BRPOPLPUSH",
    ),
    (
        "sets",
        "SADD SREM SMEMBERS SISMEMBER SMISMEMBER SCARD SPOP SRANDMEMBER SMOVE SINTER \
         SINTERSTORE SINTERCARD SUNION SUNIONSTORE SDIFF SDIFFSTORE SSCAN",
    ),
    (
        "sorted sets",
        "ZADD ZCARD ZCOUNT ZINCRBY ZRANGE ZRANGEBYSCORE ZRANGEBYLEX ZRANGESTORE ZREVRANGE \
         ZREVRANGEBYSCORE ZRANK ZREVRANK ZREM ZREMRANGEBYRANK ZREMRANGEBYSCORE ZREMRANGEBYLEX \
         ZSCORE ZMSCORE ZPOPMIN ZPOPMAX ZSCAN ZUNION ZUNIONSTORE ZINTER ZINTERSTORE ZDIFF \
         ZLEXCOUNT ZRANDMEMBER BZPOPMIN BZPOPMAX BZMPOP ZMPOP",
    ),
    (
        "streams",
        "XADD XLEN XRANGE XREVRANGE XREAD XREADGROUP XGROUP XACK XDEL XTRIM XINFO XPENDING \
         XCLAIM XAUTOCLAIM",
    ),
    ("bitmaps", "SETBIT GETBIT BITCOUNT BITOP BITPOS BITFIELD BITFIELD_RO"),
    (
        "geospatial indexes",
        "GEOADD GEODIST GEOHASH GEOPOS GEOSEARCH GEOSEARCHSTORE GEORADIUS GEORADIUSBYMEMBER",
    ),
    ("HyperLogLogs", "PFADD PFCOUNT PFMERGE"),
    ("publish/subscribe", "PUBLISH SPUBLISH SSUBSCRIBE SUNSUBSCRIBE PUBSUB"),
];

/// Commands that have another name here, or a substitute.
const INSTEAD: [(&[&str], &str); 8] = [
    (
        &["BGSAVE", "SAVE", "BGREWRITEAOF"],
        "SCUR.SNAPSHOT writes a snapshot; changes are in the log already",
    ),
    (&["LASTSAVE"], "INFO persistence has rdb_last_save_time"),
    (&["INCRBYFLOAT"], "count minor units with INCRBY: money in floats rounds"),
    (&["DELEX"], "DELIFEQ key value"),
    (
        &["DUMP", "RESTORE", "MIGRATE"],
        "accounts move by SCUR.DUMP and SCUR.LOAD, stores by scurry export",
    ),
    (
        &["REPLICAOF", "SLAVEOF"],
        "scurry serve --replicate makes a node of a group: docs/replication.md",
    ),
    (&["FAILOVER"], "SCUR.REPLICA TRANSFER node lets another node lead"),
    (
        &["RENAME", "RENAMENX", "COPY"],
        "keys are not renamed: read the value and write it elsewhere",
    ),
];

/// Returns advice for a command that the table does not have; None when there is none.
#[cold]
pub(super) fn advice(name: &[u8]) -> Option<String> {
    let name = str::from_utf8(name.get(..NAME_LEN_MAX).unwrap_or(name)).ok()?.to_ascii_uppercase();
    let is = |names: &[&str]| names.contains(&name.as_str());
    if let Some((_, instead)) = INSTEAD.iter().find(|(names, _)| is(names)) {
        return Some((*instead).to_owned());
    }
    let has = |(_, names): &&(&str, &str)| names.split(' ').any(|own| own == name);
    match KINDS.iter().find(has) {
        Some((kind, _)) => {
            Some(format!("Scurry has no {kind}: use Valkey beside it, see docs/clients.md"))
        }
        None => nearest(&name).map(|near| format!("did you mean {near}?")),
    }
}

/// Returns the command that a mistyped name probably means. Only names with the same first letter and about the same
/// length are compared.
fn nearest(name: &str) -> Option<&'static str> {
    let away_max = (name.len() / 4).clamp(1, 2);
    let is_like = |other: &&str| {
        other.as_bytes().first() == name.as_bytes().first()
            && other.len().abs_diff(name.len()) <= away_max
    };
    let near = table::all()
        .map(|spec| spec.name)
        .filter(is_like)
        .map(|other| (strsim::damerau_levenshtein(name, other), other));
    near.filter(|(away, _)| *away <= away_max).min_by_key(|(away, _)| *away).map(|(_, other)| other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &str) -> String {
        advice(name.as_bytes()).unwrap_or_default()
    }

    #[test]
    fn a_mistyped_command_is_told_the_nearest() {
        assert_eq!(said("SCUR.CREAT"), "did you mean SCUR.CREATE?");
        assert_eq!(said("scur.reserv"), "did you mean SCUR.RESERVE?");
        assert_eq!(said("SCUR.TOPPU"), "did you mean SCUR.TOPUP?");
        assert_eq!(said("EXPRIE"), "did you mean EXPIRE?");
        for unknown in [
            "",
            "FOO",
            "NOSUCH",
            "NONSENSE",
            "SCUR.NONSENSE",
            "DELETE",
            "\u{e9}",
            "HELP",
            "XXXXXX",
            "ZERO",
        ] {
            assert_eq!(said(unknown), "", "{unknown}");
        }
        assert_eq!(advice(&[b'S'; 1_000_000]), None);
        assert_eq!(advice(b"\xff\xfe"), None);
    }

    #[test]
    fn commands_of_redis_are_told_what_does_their_job_here() {
        for name in ["BGSAVE", "save", "BGREWRITEAOF"] {
            assert!(said(name).starts_with("SCUR.SNAPSHOT writes a snapshot"), "{name}");
        }
        for (name, kind) in [
            ("HSET", "hashes"),
            ("hgetall", "hashes"),
            ("HINCRBYFLOAT", "hashes"),
            ("LPUSH", "lists"),
            ("BLPOP", "lists"),
            ("SADD", "sets"),
            ("SINTERSTORE", "sets"),
            ("SSCAN", "sets"),
            ("ZADD", "sorted sets"),
            ("ZRANGEBYSCORE", "sorted sets"),
            ("BZPOPMIN", "sorted sets"),
            ("XADD", "streams"),
            ("XREADGROUP", "streams"),
            ("GEOADD", "geospatial indexes"),
            ("PFADD", "HyperLogLogs"),
            ("SETBIT", "bitmaps"),
            ("BITFIELD_RO", "bitmaps"),
            ("PUBLISH", "publish/subscribe"),
        ] {
            let expected =
                format!("Scurry has no {kind}: use Valkey beside it, see docs/clients.md");
            assert_eq!(said(name), expected, "{name}");
        }
    }
}
