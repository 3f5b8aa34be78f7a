//! Errors of a server in words, with the cure, and which of them may pass by themselves.

use redis::{ErrorKind, RedisError, Value};
use scurry_ship::SinkError;

/// Describes an error that the server at this address has sent, about streams of this name.
pub(crate) fn server_fault(address: &str, stream: &str, code: &str, details: &str) -> SinkError {
    let passes =
        |cure: &str| SinkError::Unavailable(format!("{address} says {code} {details}: {cure}"));
    let stays = |cure: &str| SinkError::Refused(format!("{address} says {code} {details}: {cure}"));
    match code {
        "OOM" => passes("give it more memory, or keep fewer entries with --max-len"),
        "READONLY" => {
            passes("it is a replica; give the addresses of all nodes, with commas between")
        }
        "LOADING" | "BUSY" | "TRYAGAIN" | "MASTERDOWN" | "CLUSTERDOWN" => passes("this passes"),
        "MISCONF" => passes("it cannot write to its disk; its log says why"),
        "NOREPLICAS" => passes("it has fewer replicas than its min-replicas-to-write"),
        "MOVED" | "ASK" => {
            passes("in a cluster give the addresses of all nodes, with commas between")
        }
        "NOAUTH" => {
            stays("set SCURRY_TO_PASSWORD, and --to-user for a user other than the default one")
        }
        "WRONGPASS" => stays("check --to-user and SCURRY_TO_PASSWORD"),
        "NOPERM" => stays(&format!(
            "the user needs +multi +exec +hsetnx +hset +hget +hgetall +xadd +xrange +xinfo (with --to-db +select) on the keys {stream} and {stream}:*"
        )),
        "WRONGTYPE" => stays(&format!(
            "a key {stream} must be a hash and {stream}:<thread> streams; choose another --stream, or delete the other key"
        )),
        "CROSSSLOT" => stays("in a cluster the name needs braces, for example --stream '{events}'"),
        "ERR" if details.starts_with("max number of clients") => passes("close other connections"),
        "ERR" if details.starts_with("unknown command") => {
            stays("it has no streams: give the address of Valkey, or of Redis 5 or later")
        }
        "ERR"
            if details.contains("without any password")
                || details.contains("no password is set") =>
        {
            stays("it has no password; unset SCURRY_TO_PASSWORD")
        }
        _ => stays("this server cannot be shipped to as it is"),
    }
}

/// Describes an error of options, for example of certificates.
pub(crate) fn options_fault(address: &str, error: &RedisError) -> SinkError {
    SinkError::Refused(format!("{address} cannot be connected to as the options say: {error}"))
}

/// Describes an error of a connection.
pub(crate) fn connection_fault(address: &str, error: &RedisError) -> SinkError {
    match error.kind() {
        ErrorKind::Parse | ErrorKind::UnexpectedReturnType => SinkError::Refused(format!(
            "{address} does not speak the protocol of Valkey and Redis ({error}): check the port, and whether it wants TLS \
             (rediss://)"
        )),
        _ if error.is_timeout() => SinkError::Unavailable(format!(
            "{address} did not reply in time: check the server and the network"
        )),
        _ => SinkError::Unavailable(format!(
            "no connection to {address}: {error}. Check the server, the network and TLS"
        )),
    }
}

/// Describes a reply that no server of streams sends.
pub(crate) fn nonsense(address: &str, command: &str, reply: &Value) -> SinkError {
    let mut shown = format!("{reply:?}");
    shown.truncate(shown.floor_char_boundary(200));
    SinkError::Refused(format!(
        "{address} replied {shown} to {command}: it is no server of Valkey or Redis"
    ))
}
