//! Two hosts with a cable between them, on this machine. Where namespaces cannot be made the test
//! says so and ends.

use std::process::Command;

use serde_json::Value;

/// Why there is no such stand here.
fn refused() -> Option<String> {
    let output = Command::new("unshare").args(["--net", "ip", "link", "show"]).output();
    match output {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

/// Interfaces of the machine by that name.
fn cables() -> usize {
    let devices = std::fs::read_to_string("/proc/net/dev").unwrap();
    devices.lines().filter(|line| line.trim_start().starts_with("cable:")).count()
}

#[test]
fn a_cable_carries_the_load_and_no_more_than_a_gigabit() {
    if let Some(why) = refused() {
        println!("skipped: no network namespaces here: {why}");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("rows.json");
    // Answers of 64 KiB: the echo server would send several times as much over the loopback.
    let words = "run kv --stand namespaces --target echo --target redis --get-share 100 --set-share 0 \
                 --value-size 65536 --keys 100 --sessions 32 --connections 8 --depth 4 --seconds 2 \
                 --warmup 0.5 --quiet --json";
    let output = Command::new(env!("CARGO_BIN_EXE_scurry-lab"))
        .args(words.split_whitespace())
        .arg(&json)
        .output()
        .unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success(), "{said}");
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    for row in report["rows"].as_array().unwrap() {
        assert_eq!(row["stand"], "namespaces");
        let sent = row["tx_kb_per_s"].as_f64().unwrap();
        // 1 Gbit/s are 125,000 kB/s. The shaper may let a burst through at the begin.
        assert!(sent < 130_000.0, "{sent} kB/s: {said}");
        // How much less it is, is the machine's business.
        assert!(sent > 0.0, "nothing passed the cable: {said}");
        // The packets are those of a wire of 1,500 bytes.
        let length = 1_000.0 * sent / row["tx_packets_per_s"].as_f64().unwrap();
        assert!(length < 1_600.0, "{length} bytes a packet: {said}");
    }
    assert_eq!(cables(), 0, "the hosts are gone, and their cable");
}

/// Kilobytes per second that Redis sends as answers of 100 kB on this stand, and all that was said.
fn sent(stand: &str) -> (f64, String) {
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("rows.json");
    let words = "run kv --target redis --get-share 100 --set-share 0 --value-size 100000 --keys 100 \
                 --sessions 32 --connections 8 --depth 4 --seconds 3 --warmup 0.5 --quiet --json";
    let output = Command::new(env!("CARGO_BIN_EXE_scurry-lab"))
        .args(words.split_whitespace())
        .arg(&json)
        .args(["--stand", stand])
        .output()
        .unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success(), "{said}");
    let report: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let row = &report["rows"][0];
    assert_eq!((&row["audit"], &row["stand"]), (&"ok".into(), &stand.into()), "{row}");
    (row["tx_kb_per_s"].as_f64().unwrap(), said)
}

#[test]
fn large_answers_do_not_pass_the_limit_of_the_cable() {
    if let Some(why) = refused() {
        println!("skipped: no network namespaces here: {why}");
        return;
    }
    let (limited, said) = sent("namespaces");
    assert!(limited <= 1.05 * 125_000.0, "{limited} kB/s: {said}");
    // Without the limit the row says so. How fast that is hangs on the machine.
    let (free, _) = sent("namespaces-unshaped");
    println!("{limited} kB/s with the limit, {free} kB/s without");
}

#[test]
fn what_needs_a_second_host_is_refused_in_words() {
    for (words, expected) in [
        ("--stand namespaces --replicas 1", "one host for the target"),
        ("--stand namespaces --address redis=127.0.0.1:1", "one host for the target"),
        ("--stand wire", "possible values: loopback, namespaces, namespaces-unshaped"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_scurry-lab"))
            .args(["run", "kv", "--target", "redis"])
            .args(words.split(' '))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(expected), "{words}: {said}");
    }
}
