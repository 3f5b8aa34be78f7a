//! Each entry allows what it says and nothing else.

use super::*;
use crate::client::uri::Target;

fn allowed(entries: &[&str]) -> AllowedTargets {
    AllowedTargets::parse("notify_targets", entries).expect("entries")
}

/// Checks a URI whose host has this address, as the client does.
fn check(entries: &[&str], uri: &str, address: &str) -> Result<(), TargetRefusal> {
    let targets = allowed(entries);
    let origin = Target::parse(uri).expect("a URI").origin;
    targets.check_host(&origin)?;
    targets.check_address(&origin, address.parse().expect("an address"))
}

#[test]
fn an_entry_allows_what_it_names() {
    for (entry, uri, address, is_allowed) in [
        ("smf.example", "http://smf.example/", "10.0.0.1", true),
        ("SMF.example.", "http://smf.EXAMPLE./", "10.0.0.1", true),
        ("smf.example", "http://smf.example.org/", "10.0.0.1", false),
        ("smf.example", "http://a.smf.example/", "10.0.0.1", false),
        ("smf.example:8080", "http://smf.example:8080/", "10.0.0.1", true),
        ("smf.example:8080", "http://smf.example/", "10.0.0.1", false),
        ("smf.example:443", "https://smf.example/", "10.0.0.1", true),
        ("*.5gc.example", "http://smf.5gc.example/", "10.0.0.1", true),
        ("*.5gc.example", "http://a.b.5gc.example/", "10.0.0.1", true),
        ("*.5gc.example", "http://5gc.example/", "10.0.0.1", false),
        ("*.5gc.example", "http://evil5gc.example/", "10.0.0.1", false),
        ("*.5gc.example:80", "http://smf.5gc.example:81/", "10.0.0.1", false),
        ("10.0.0.1", "http://10.0.0.1/", "10.0.0.1", true),
        ("10.0.0.1", "http://smf.example/", "10.0.0.1", true),
        ("10.0.0.1:80", "http://10.0.0.1:81/", "10.0.0.1", false),
        ("10.0.0.0/8", "http://10.1.2.3/", "10.1.2.3", true),
        ("10.0.0.0/8", "http://smf.example/", "10.1.2.3", true),
        ("10.0.0.0/8", "http://smf.example/", "11.1.2.3", false),
        ("10.0.0.0/8:80", "http://10.1.2.3:81/", "10.1.2.3", false),
        ("10.0.0.0/8:80", "http://10.1.2.3/", "10.1.2.3", true),
        ("fd00::/8", "http://[fd00::1]:81/", "fd00::1", true),
        ("fd00::1", "http://[fd00::1]/", "fd00::1", true),
        ("[fd00::/8]:80", "http://[fd00::1]:81/", "fd00::1", false),
        ("[fd00::/8]:80", "http://[fd00::1]/", "fd00::1", true),
        ("[fd00::1]", "http://[fd00::1]/", "fd00::1", true),
        // Addresses of IPv4 inside IPv6 are those of IPv4.
        ("10.0.0.0/8", "http://[::ffff:10.1.2.3]/", "::ffff:10.1.2.3", true),
        ("::/0", "http://[::ffff:10.1.2.3]/", "::ffff:10.1.2.3", false),
        ("::ffff:10.1.2.3", "http://10.1.2.3/", "10.1.2.3", true),
        // A name does not allow a URI with its address.
        ("smf.example", "http://10.0.0.1/", "10.0.0.1", false),
    ] {
        let result = check(&[entry], uri, address);
        assert_eq!(result.is_ok(), is_allowed, "{entry} {uri} {address}: {result:?}");
    }
}

#[test]
fn addresses_of_the_machine_and_the_link_are_named_by_address_only() {
    let special = [
        "127.0.0.1",
        "127.255.0.1",
        "0.0.0.0",
        "::1",
        "::",
        "169.254.1.1",
        "169.254.169.254",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "fd00:ec2::254",
        "fd20:ce::254",
        "fe80::1",
        "224.0.0.1",
        "255.255.255.255",
        "ff02::1",
        "::ffff:127.0.0.1",
        "64:ff9b::169.254.169.254",
        "2002:7f00:1::",
        "::127.0.0.1",
    ];
    for address in special {
        for entries in
            [["smf.example", "*.example"], ["0.0.0.0/0", "::/0"], ["smf.example", "10.0.0.0/8"]]
        {
            let refusal = check(&entries, "http://smf.example/", address);
            let is_special = matches!(refusal, Err(TargetRefusal::Special { .. }));
            assert!(is_special, "{address} {entries:?}: {refusal:?}");
        }
        assert_eq!(check(&[address], "http://smf.example/", address), Ok(()), "{address}");
        let other_port =
            if address.contains(':') { format!("[{address}]:81") } else { format!("{address}:81") };
        let refusal = check(&[&other_port, "smf.example"], "http://smf.example/", address);
        assert!(matches!(refusal, Err(TargetRefusal::Special { .. })), "{address}: {refusal:?}");
    }
    assert_eq!(check(&["127.0.0.0/8"], "http://127.0.0.9/", "127.0.0.9"), Ok(()));
    assert_eq!(check(&["169.254.0.0/16"], "http://169.254.1.1/", "169.254.1.1"), Ok(()));
    // The network of the link does not name the metadata service in it.
    let refusal = check(&["169.254.0.0/16"], "http://169.254.169.254/", "169.254.169.254");
    assert!(matches!(refusal, Err(TargetRefusal::Special { .. })), "{refusal:?}");
}

#[test]
fn a_name_that_no_entry_can_allow_is_not_resolved() {
    let origin = |uri| Target::parse(uri).expect("a URI").origin;
    let targets = allowed(&["smf.example", "10.0.0.0/8:8080"]);
    assert!(targets.check_host(&origin("http://other.example/")).is_err());
    assert!(targets.check_host(&origin("http://other.example:8080/")).is_ok());
    assert!(targets.check_host(&origin("http://smf.example/")).is_ok());
}

#[test]
fn refusals_say_what_to_set() {
    let said = |entries: &[&str], uri, address| {
        check(entries, uri, address).expect_err("it is refused").to_string()
    };
    assert_eq!(
        said(&[], "http://10.0.0.1/", "10.0.0.1"),
        "10.0.0.1:80 is not called, because no address may be: list what may be called, such as \
         notify_targets = [\"10.0.0.0/8\", \"*.5gc.example:8080\"]"
    );
    assert_eq!(
        said(&["a.example"], "http://b.example/", "10.0.0.1"),
        "b.example:80 may not be called: add \"b.example:80\", or a network, to notify_targets"
    );
    assert_eq!(
        said(&["10.0.0.0/8"], "http://b.example/", "11.0.0.1"),
        "b.example:80 has the address 11.0.0.1, which may not be called: add one of both to \
         notify_targets"
    );
    assert_eq!(
        said(&["a.example"], "http://a.example/", "127.0.0.1"),
        "a.example:80 is 127.0.0.1, an address of this machine: it is called only if \"127.0.0.1\" \
         itself is in notify_targets"
    );
}

#[test]
fn the_operator_may_call_everything() {
    let origin = Target::parse("http://nrf.example/").expect("a URI").origin;
    let loopback = "127.0.0.1".parse().expect("an address");
    assert_eq!(AllowedTargets::any().check_host(&origin), Ok(()));
    assert_eq!(AllowedTargets::any().check_address(&origin, loopback), Ok(()));
}

#[test]
fn wrong_entries_are_refused() {
    for entry in [
        "",
        "*",
        "*.",
        "http://a/",
        "a b",
        "a:0",
        "a:65536",
        "a:x",
        "a:",
        "10.0.0.1/8",
        "10.0.0.0/33",
        "[::1",
        "[10.0.0.1]:80",
        "[::1]80",
        "[a]:80",
        "a.*.b",
        ".a",
        "user@a",
    ] {
        let error = AllowedTargets::parse("notify_targets", &[entry]).expect_err(entry);
        assert_eq!(error, TargetsError::Entry("notify_targets", entry.to_owned()));
    }
    let many = vec!["a.example"; TARGETS_MAX + 1];
    let error = AllowedTargets::parse("notify_targets", &many).expect_err("too many");
    assert_eq!(error, TargetsError::TooMany("notify_targets"));
    assert!(AllowedTargets::parse("notify_targets", &many[1..]).is_ok());
}
