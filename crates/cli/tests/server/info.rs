//! INFO, ROLE and TIME in the format of Valkey: the same sections, names and forms, compared with a real server.

use crate::real_clients::peer::Peer;
use crate::support::{Client, Server, array, connect, tool};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Sections by heading, each with its names and values.
type Sections = BTreeMap<String, BTreeMap<String, String>>;

fn info(client: &mut Client, arguments: &str) -> Sections {
    client.send(format!("INFO {arguments}\r\n"));
    let text = client.bulk();
    let mut sections = Sections::new();
    let mut last = String::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(title) = line.strip_prefix("# ") {
            title.clone_into(&mut last);
            sections.entry(last.clone()).or_default();
        } else {
            let (name, value) = line.split_once(':').unwrap_or_else(|| panic!("{line}"));
            let section =
                sections.get_mut(&last).unwrap_or_else(|| panic!("{line} has no heading"));
            assert!(section.insert(name.to_owned(), value.to_owned()).is_none(), "{name} twice");
        }
    }
    sections
}

/// Returns the form of a value: all digits are equal, and so are all words.
fn form(value: &str) -> String {
    let part = |part: &str| {
        let (name, value) = part.split_once('=').map_or(("", part), |(name, value)| (name, value));
        let unit = value.trim_end_matches(|end: char| end.is_ascii_uppercase());
        let kind = match () {
            () if value.parse::<i64>().is_ok() => "integer",
            () if value.parse::<f64>().is_ok() => "number",
            () if unit.len() < value.len() && unit.parse::<f64>().is_ok() => "number and unit",
            () if value.len() == 40 && value.chars().all(|digit| digit.is_ascii_hexdigit()) => "id",
            () => "word",
        };
        format!("{name}={kind}")
    };
    value.split(',').map(part).collect::<Vec<_>>().join(",")
}

/// Lines that clients and monitoring tools read.
const WANTED: [(&str, &str); 12] = [
    (
        "Server",
        "redis_version server_name server_mode os arch_bits process_id run_id tcp_port \
                server_time_usec uptime_in_seconds uptime_in_days",
    ),
    (
        "Clients",
        "connected_clients maxclients tracking_clients blocked_clients cluster_connections \
         clients_in_timeout_table",
    ),
    (
        "Memory",
        "used_memory used_memory_human used_memory_rss used_memory_rss_human maxmemory \
                maxmemory_human maxmemory_policy mem_clients_normal used_memory_peak used_memory_peak_human \
                used_memory_peak_perc used_memory_dataset used_memory_dataset_perc used_memory_overhead \
                total_system_memory total_system_memory_human mem_fragmentation_ratio \
                mem_fragmentation_bytes mem_allocator used_memory_lua number_of_cached_scripts \
                mem_not_counted_for_evict mem_clients_slaves active_defrag_running",
    ),
    (
        "Persistence",
        "loading async_loading rdb_bgsave_in_progress rdb_last_save_time \
                     rdb_last_bgsave_status rdb_saves aof_enabled aof_last_write_status \
                     rdb_changes_since_last_save aof_rewrite_in_progress aof_rewrite_scheduled \
                     aof_last_bgrewrite_status aof_last_rewrite_time_sec",
    ),
    (
        "Stats",
        "total_connections_received total_commands_processed total_net_input_bytes \
               total_net_output_bytes rejected_connections expired_keys evicted_keys \
               keyspace_hits keyspace_misses total_error_replies pubsub_channels \
               instantaneous_ops_per_sec instantaneous_input_kbps instantaneous_output_kbps \
               latest_fork_usec total_forks pubsubshard_channels active_defrag_hits",
    ),
    (
        "Replication",
        "role connected_slaves master_failover_state master_replid master_replid2 \
                     master_repl_offset second_repl_offset repl_backlog_active repl_backlog_size \
                     repl_backlog_first_byte_offset repl_backlog_histlen",
    ),
    ("CPU", "used_cpu_sys used_cpu_user used_cpu_sys_children used_cpu_user_children"),
    ("Commandstats", "cmdstat_get cmdstat_set cmdstat_config|get cmdstat_info"),
    ("Errorstats", "errorstat_ERR errorstat_EXECABORT"),
    ("Cluster", "cluster_enabled"),
    ("Keyspace", "db0"),
    ("Modules", ""),
];

/// Makes the same requests to both: calls, calls with errors, wrong arguments, unknown commands.
fn prepare(client: &mut Client) {
    client.ask("CONFIG RESETSTAT", "+OK\r\n");
    for (line, first) in [
        ("SET k v", "+OK"),
        ("GET k", "$1"),
        ("GET none", "$-1"),
        ("GET", "-ERR"),
        ("SET k", "-ERR"),
        ("INCR k", "-ERR"),
        ("MULTI", "+OK"),
        ("GET", "-ERR"),
        ("EXEC", "-EXECABORT"),
        ("NOSUCH", "-ERR"),
        ("CONFIG GET nosuch", "*0"),
        ("CONFIG NOSUCH", "-ERR"),
        ("EXPIRE k 100", ":1"),
    ] {
        client.send(format!("{line}\r\n"));
        let reply = client.line();
        assert!(reply.starts_with(first), "{line}: {reply}");
        if reply == "$1" {
            client.line();
        }
    }
}

#[test]
fn sections_have_valkeys_names_and_forms() {
    let (server, valkey) = (Server::start(&[]), Peer::single());
    let mut ours = server.connect();
    let port = valkey.address().rsplit_once(':').expect("a port").1.parse().expect("a port");
    let mut theirs = Client::over(connect(port));
    prepare(&mut ours);
    prepare(&mut theirs);
    let (ours, theirs) = (info(&mut ours, "everything"), info(&mut theirs, "everything"));
    for (title, names) in WANTED.iter().filter(|(title, _)| *title != "Modules") {
        let (own, their) = (&ours[*title], &theirs[*title]);
        for name in names.split_whitespace().filter(|name| *name != "cmdstat_info") {
            assert!(own.contains_key(name) && their.contains_key(name), "{title}: {name}");
        }
        for (name, value) in own.iter().filter(|(name, _)| their.contains_key(*name)) {
            assert_eq!(form(value), form(&their[name]), "{name}: {value} and {}", their[name]);
        }
    }
    // A name of Valkey must be in the same section here.
    for (title, names) in &ours {
        for name in names.keys() {
            let elsewhere = theirs.iter().find(|(_, their)| their.contains_key(name));
            assert!(elsewhere.is_none_or(|(their, _)| their == title), "{name} is in {title}");
        }
    }
    // Counts must be equal; times need not.
    let counts = |sections: &Sections| -> BTreeMap<String, String> {
        let both = ["Commandstats", "Errorstats"].into_iter().flat_map(|title| &sections[title]);
        let timeless = |value: &str| {
            let parts = value.split(',').filter(|part| !part.starts_with("usec"));
            parts.collect::<Vec<_>>().join(",")
        };
        both.map(|(name, value)| (name.clone(), timeless(value))).collect()
    };
    assert_eq!(counts(&ours), counts(&theirs));
}

#[test]
fn what_tools_read_is_true() {
    let dir = tempfile::tempdir().expect("a directory");
    let dir = dir.path().to_str().expect("text");
    let server = Server::start(&["--durability", "write", "--dir", dir]);
    let mut client = server.connect();
    let number = |sections: &Sections, section: &str, name: &str| -> f64 {
        let value = &sections[section][name];
        value.trim_end_matches('%').parse().unwrap_or_else(|_| panic!("{name}: {value}"))
    };
    let before = info(&mut client, "");
    assert_eq!(before["Persistence"]["rdb_changes_since_last_save"], "0");
    assert_eq!(before["Clients"]["blocked_clients"], "0");
    assert_eq!(
        (&*before["Cluster"]["cluster_enabled"], &*before["Server"]["redis_mode"]),
        ("0", "standalone")
    );
    let value = "v".repeat(1_000_000);
    client.send(array(&[b"SET", b"k", value.as_bytes()]));
    client.expect("+OK\r\n");
    let full = info(&mut client, "");
    assert!(number(&full, "Memory", "used_memory_peak") >= 1e6);
    assert!(number(&full, "Memory", "used_memory_dataset") >= 1e6);
    assert!(
        number(&full, "Memory", "total_system_memory") > number(&full, "Memory", "used_memory_rss")
    );
    assert!(number(&full, "Persistence", "rdb_changes_since_last_save") >= 1.0);
    // The peak stays after memory is freed.
    client.ask("DEL k", ":1\r\n");
    let empty = info(&mut client, "");
    assert!(number(&empty, "Memory", "used_memory_peak") >= 1e6);
    assert!(number(&empty, "Memory", "used_memory") < 1e6);
    // A reader waits for events.
    let mut reader = server.connect();
    reader.send("SCUR.WATCH $ BLOCK 60000\r\n");
    wait_for(&mut client, |sections| sections["Clients"]["blocked_clients"] == "1");
    wait_for(&mut client, |sections| {
        number(sections, "Stats", "instantaneous_ops_per_sec") > 0.0
            && number(sections, "Stats", "instantaneous_input_kbps") > 0.0
            && number(sections, "Stats", "instantaneous_output_kbps") > 0.0
    });
    client.ask("SCUR.SNAPSHOT", "+OK\r\n");
    wait_for(&mut client, |sections| sections["Persistence"]["rdb_changes_since_last_save"] == "0");
}

/// Polls until `is_so` returns true.
#[expect(clippy::disallowed_methods, reason = "how long a test may wait")]
fn wait_for(client: &mut Client, mut is_so: impl FnMut(&Sections) -> bool) {
    let begun = Instant::now();
    while !is_so(&info(client, "")) {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never became so");
    }
}

#[test]
fn a_port_of_a_thread_and_of_all_say_which_they_are() {
    let server = Server::start(&["--threads", "2"]);
    let mut main = server.connect();
    let mode = |client: &mut Client| {
        let all = info(client, "");
        let (mode, enabled) = (&all["Server"]["redis_mode"], &all["Cluster"]["cluster_enabled"]);
        (mode.clone(), enabled.clone())
    };
    assert_eq!(mode(&mut main), ("standalone".into(), "0".into()));
    main.send("CLUSTER SLOTS\r\n");
    let shown: Vec<String> = (0..9).map(|_| main.line()).collect();
    assert_eq!(shown[6], "127.0.0.1", "{shown:?}");
    let port = shown[7].trim_start_matches(':').parse().expect("a port");
    let mut thread = server.connect_to(port);
    assert_eq!(mode(&mut thread), ("cluster".into(), "1".into()));
}

#[test]
fn redis_cli_stat_shows_numbers_that_can_be() {
    let server = Server::start(&[]);
    server.connect().ask("SET k v", "+OK\r\n");
    let port = server.port.to_string();
    for name in ["redis-cli", "valkey-cli"] {
        // It ends when its output is closed.
        let line = format!("{name} -p {port} --stat -i 0.01 | head -60");
        let output = tool("sh", &["-c", &line]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let rows: Vec<Vec<&str>> = text
            .lines()
            .filter(|line| line.starts_with(|first: char| first.is_ascii_digit()))
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert!(rows.len() > 10, "{text}");
        for row in rows {
            // The columns: keys, memory, clients, blocked, requests and their growth, connections.
            assert_eq!((row[0], row[2], row[3]), ("1", "1", "0"), "{text}");
            assert!(!row.iter().any(|word| word.starts_with('-')), "{text}");
        }
    }
}

#[test]
fn sections_are_chosen_as_in_valkey() {
    let (server, valkey) = (Server::start(&[]), Peer::single());
    let mut ours = server.connect();
    let port = valkey.address().rsplit_once(':').expect("a port").1.parse().expect("a port");
    let mut theirs = Client::over(connect(port));
    for arguments in [
        "",
        "default",
        "all",
        "everything",
        "ALL",
        "replication",
        "Replication keyspace",
        "keyspace replication keyspace",
        "commandstats",
        "default commandstats",
        "nosuch",
        "nosuch errorstats",
    ] {
        let known = |sections: Sections| -> Vec<String> {
            let wanted = |title: &String| {
                title != "Modules" && WANTED.iter().any(|(wanted, _)| wanted == title)
            };
            sections.into_keys().filter(wanted).collect()
        };
        let own = known(info(&mut ours, arguments));
        assert_eq!(own, known(info(&mut theirs, arguments)), "INFO {arguments}");
    }
    let replication = info(&mut ours, "replication");
    assert_eq!(replication["Replication"]["role"], "master");
}

#[test]
fn commands_are_counted_where_they_are_executed_and_summed() {
    let server = Server::start(&["--threads", "2"]);
    let mut client = server.connect();
    for number in 0..200 {
        client.send(format!("SET k{number} v\r\nGET k{number}\r\n"));
        client.expect("+OK\r\n$1\r\nv\r\n");
    }
    let shown = info(&mut client, "commandstats");
    for name in ["cmdstat_set", "cmdstat_get"] {
        let value = &shown["Commandstats"][name];
        assert!(value.starts_with("calls=200,usec="), "{name}: {value}");
        assert!(value.ends_with(",rejected_calls=0,failed_calls=0"), "{name}: {value}");
        assert!(!value.contains("usec=0,"), "{name} took no time: {value}");
    }
}

#[test]
fn role_and_time_have_valkeys_form() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    client.ask("ROLE", "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
    client.send("TIME\r\n");
    assert_eq!(client.line(), "*2");
    let seconds: i64 = client.bulk().parse().expect("seconds");
    let microseconds: i64 = client.bulk().parse().expect("microseconds");
    assert!((0..1_000_000).contains(&microseconds), "{microseconds}");
    let now = info(&mut client, "server")["Server"]["server_time_usec"].parse::<i64>();
    let past = now.expect("a number") - (seconds * 1_000_000 + microseconds);
    assert!((0..60_000_000).contains(&past), "{past} microseconds ago");
}
