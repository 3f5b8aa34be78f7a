//! A host that is let in is, as a browser parses it, an address, localhost, or a name of the settings.

use super::*;
use crate::console::UnitDecimals;
use proptest::prelude::*;
use scurry_server::Users;
use std::sync::Arc;
use url::{Host, Url};

fn hosts(listen: &str, named: &[&str]) -> Hosts {
    Hosts::new(&DoorSettings {
        listen: listen.parse().expect("an address"),
        connections_max: 1,
        threads: 1,
        tls: None,
        users: Arc::new(Users::new(None, &[]).expect("nobody")),
        open_access_allowed: true,
        listen_option: "--listen",
        open_access_option: "--allow-open-access",
        hosts: named.iter().map(|&name| name.to_owned()).collect(),
        hosts_option: "--hosts",
        unit_decimals: UnitDecimals::new(),
    })
    .expect("names")
}

fn headers(pairs: &[(header::HeaderName, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(name, HeaderValue::from_str(value).expect("a value"));
    }
    headers
}

fn by_host(hosts: &Hosts, host: &str) -> bool {
    hosts.check_names(&Uri::from_static("/metrics"), &headers(&[(header::HOST, host)])).is_ok()
}

fn by_page(hosts: &Hosts, host: &str, origin: &str) -> bool {
    let headers = headers(&[(header::HOST, host), (header::ORIGIN, origin)]);
    hosts.check_page(&Uri::from_static("/metrics"), &headers).is_ok()
}

#[test]
fn on_loopback_addresses_and_localhost_are_answered_to_and_names_of_others_are_not() {
    let hosts = hosts("127.0.0.1:8080", &["scurry.lan"]);
    for ours in [
        "localhost",
        "localhost:8080",
        "LocalHost.:9",
        "a.localhost",
        "127.0.0.1",
        "127.0.0.1:8080",
        "127.9.9.9",
        "10.0.0.7:80",
        "[::1]:8080",
        "[::1]",
        "[fe80::1]",
        "scurry.lan",
        "SCURRY.LAN.:8080",
    ] {
        assert!(by_host(&hosts, ours), "{ours}");
    }
    for foreign in [
        "evil.example",
        "evil.example:8080",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil-localhost",
        "scurry.lan.evil.example",
        "x.scurry.lan",
        "localhost@evil.example",
        "evil.example@localhost",
        "localhost:8080:80",
        "localhost:99999",
        "localhost:x",
        "127.0.0.1 evil.example",
        "127.0.0.1,evil.example",
        "[::1].evil.example",
        "[::1",
        "::1",
        "localhost/",
        "http://localhost",
        "",
        ".",
        "x",
    ] {
        assert!(!by_host(&hosts, foreign), "{foreign}");
    }
    let nobody = HeaderMap::new();
    assert!(hosts.check_names(&Uri::from_static("/"), &nobody).is_ok(), "HTTP/1.0 has none");
    let twice = headers(&[(header::HOST, "localhost"), (header::HOST, "evil.example")]);
    assert!(hosts.check_names(&Uri::from_static("/"), &twice).is_err());
    let local = headers(&[(header::HOST, "localhost")]);
    let absolute = Uri::from_static("http://evil.example/metrics");
    assert!(hosts.check_names(&absolute, &local).is_err(), "the target says another name");
    let absolute = Uri::from_static("http://127.0.0.1:8080/metrics");
    assert!(hosts.check_names(&absolute, &local).is_ok());
}

#[test]
fn beyond_loopback_names_are_looked_at_where_some_are_given() {
    assert!(by_host(&hosts("0.0.0.0:8080", &[]), "balancer.example"));
    let named = hosts("0.0.0.0:8080", &["scurry.lan"]);
    assert!(by_host(&named, "scurry.lan") && by_host(&named, "10.1.2.3"));
    assert!(!by_host(&named, "balancer.example"));
    assert!(!by_page(&hosts("0.0.0.0:8080", &[]), "10.0.0.1:8080", "http://evil.example"));
}

#[test]
fn a_page_is_of_the_same_host_and_port_or_of_a_host_that_is_named() {
    let hosts = hosts("127.0.0.1:8080", &["scurry.lan"]);
    for (host, origin, is_let) in [
        ("localhost:8080", "http://localhost:8080", true),
        ("127.0.0.1:8080", "http://127.0.0.1:8080", true),
        ("[::1]:8080", "http://[::1]:8080", true),
        ("localhost", "http://localhost", true),
        ("localhost:80", "http://localhost", true),
        ("scurry.lan", "https://scurry.lan", true),
        ("127.0.0.1:8080", "https://scurry.lan", true),
        ("localhost:8080", "http://localhost:3000", false),
        ("localhost:8080", "http://localhost", false),
        ("localhost:8080", "http://127.0.0.1:8080", false),
        ("localhost:8080", "null", false),
        ("localhost:8080", "", false),
        ("localhost:8080", "file://", false),
        ("localhost:8080", "http://evil.example", false),
        ("localhost:8080", "http://localhost:8080@evil.example", false),
        ("localhost:8080", "http://localhost:8080 http://evil.example", false),
        ("localhost:8080", "localhost:8080", false),
    ] {
        assert_eq!(by_page(&hosts, host, origin), is_let, "{origin} asks {host}");
    }
    let twice = headers(&[
        (header::HOST, "localhost"),
        (header::ORIGIN, "http://localhost"),
        (header::ORIGIN, "http://evil.example"),
    ]);
    assert!(hosts.check_page(&Uri::from_static("/"), &twice).is_err());
    assert!(hosts.check_page(&Uri::from_static("/"), &HeaderMap::new()).is_ok(), "no browser");
}

#[test]
fn a_setting_that_is_no_name_is_refused() {
    for wrong in ["", "a b", "scurry.lan:8080", "http://scurry.lan", "*", "a..b", "[::1]"] {
        let mut front = DoorSettings {
            listen: "127.0.0.1:1".parse().expect("an address"),
            connections_max: 1,
            threads: 1,
            tls: None,
            users: Arc::new(Users::new(None, &[]).expect("nobody")),
            open_access_allowed: false,
            listen_option: "",
            open_access_option: "",
            hosts: vec![wrong.to_owned()],
            hosts_option: "--hosts",
            unit_decimals: UnitDecimals::new(),
        };
        assert!(Hosts::new(&front).is_err(), "{wrong}");
        front.hosts = vec!["x".to_owned(); NAMES_MAX + 1];
        assert!(Hosts::new(&front).is_err(), "too many");
    }
}

/// Reports whether no other page can have this host. True for a host that a browser cannot parse.
fn is_ours_to_a_browser(host: &str) -> bool {
    let Ok(url) = Url::parse(&format!("http://{host}/")) else { return true };
    let is_bare = url.username().is_empty() && url.password().is_none() && url.path() == "/";
    is_bare
        && match url.host() {
            Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
            Some(Host::Domain(name)) => {
                let name = name.strip_suffix('.').unwrap_or(name);
                name == "localhost" || name.ends_with(".localhost") || name == "scurry.lan"
            }
            None => false,
        }
}

/// Pieces that hosts are made of, ours and others', and separators.
fn host_like() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "localhost",
        "127.0.0.1",
        "[::1]",
        "scurry.lan",
        "evil.example",
        "::1",
        "0x7f.1",
        "2130706433",
        ".",
        ":",
        ":80",
        ":8080",
        "@",
        "/",
        "\\",
        "#",
        "?",
        " ",
        ",",
        "%2e",
        "[",
        "]",
        "-",
        "a",
        "LOCALHOST",
        "[::ffff:127.0.0.1]",
        "\u{ff4c}ocalhost",
        "http://",
        "xn--",
        "\t",
    ]);
    prop::collection::vec(pieces, 0..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 20_000, ..ProptestConfig::default() })]

    #[test]
    fn what_is_let_in_by_its_host_is_ours_as_a_browser_reads_it(host in host_like()) {
        let Ok(value) = HeaderValue::from_str(&host) else { return Ok(()) };
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, value);
        let is_let = hosts("127.0.0.1:8080", &["scurry.lan"])
            .check_names(&Uri::from_static("/"), &headers)
            .is_ok();
        prop_assert!(!is_let || is_ours_to_a_browser(&host), "{host:?}");
    }

    #[test]
    fn a_page_that_is_let_in_has_the_origin_of_what_it_asks(host in host_like(), page in host_like()) {
        let origin = format!("http://{page}");
        let (Ok(own), Ok(value)) = (HeaderValue::from_str(&host), HeaderValue::from_str(&origin)) else {
            return Ok(());
        };
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, own);
        headers.insert(header::ORIGIN, value);
        let is_let =
            hosts("127.0.0.1:8080", &[]).check_page(&Uri::from_static("/"), &headers).is_ok();
        let origin_of = |host: &str| {
            Url::parse(&format!("http://{host}/")).map(|url| url.origin().ascii_serialization())
        };
        prop_assert!(!is_let || origin_of(&host).ok() == origin_of(&page).ok(), "{host:?} {page:?}");
    }
}
