//! The profile that a section makes, and sections that are wrong.

use super::*;
use serde_json::{Value, json};

fn profile(text: &str, port: Option<u16>) -> Value {
    let settings = section(text).into_settings(port).expect("settings");
    serde_json::to_value(settings.profile).expect("a document")
}

#[test]
fn a_whole_section_makes_a_whole_profile() {
    let service = json!({
        "serviceInstanceId": "nchf-convergedcharging",
        "serviceName": "nchf-convergedcharging",
        "versions": [
            { "apiVersionInUri": "v3", "apiFullVersion": "3.1.6" },
            { "apiVersionInUri": "v2", "apiFullVersion": "2.0.6" },
        ],
        "scheme": "https",
        "nfServiceStatus": "REGISTERED",
        "ipEndPoints": [
            { "ipv4Address": "10.0.0.5", "transport": "TCP", "port": 8080 },
            { "ipv6Address": "fd00::5", "transport": "TCP", "port": 8080 },
        ],
        "apiPrefix": "/charging",
        "priority": 1,
        "capacity": 100,
    });
    let expected = json!({
        "nfInstanceId": "8d4c0f7e-2b0a-4f5c-9e44-0a1b2c3d4e5f",
        "nfType": "CHF",
        "nfStatus": "REGISTERED",
        "heartBeatTimer": 30,
        "plmnList": [{ "mcc": "001", "mnc": "01" }, { "mcc": "001", "mnc": "010" }],
        "fqdn": "chf.5gc.example",
        "ipv4Addresses": ["10.0.0.5"],
        "ipv6Addresses": ["fd00::5"],
        "priority": 1,
        "capacity": 100,
        "chfInfo": {
            "supiRangeList": [
                { "start": "001010000000000", "end": "001010000999999" },
                { "pattern": "^imsi-00102[0-9]{10}$" },
            ],
            "gpsiRangeList": [{ "start": "49151000000", "end": "49151999999" }],
            "plmnRangeList": [{ "start": "00101", "end": "00102" }],
        },
        "nfServices": [service],
        "nfServiceList": { "nchf-convergedcharging": service },
    });
    assert_eq!(profile(WHOLE, None), expected);
}

#[test]
fn a_short_section_leaves_out_what_it_does_not_say() {
    let text = r#"
        uri = ["http://nrf.5gc.example"]
        instance_id = "8d4c0f7e-2b0a-4f5c-9e44-0a1b2c3d4e5f"
        host = "chf.5gc.example"
    "#;
    let service = json!({
        "serviceInstanceId": "nchf-convergedcharging",
        "serviceName": "nchf-convergedcharging",
        "versions": [
            { "apiVersionInUri": "v3", "apiFullVersion": "3.1.6" },
            { "apiVersionInUri": "v2", "apiFullVersion": "2.0.6" },
        ],
        "scheme": "http",
        "nfServiceStatus": "REGISTERED",
        "ipEndPoints": [{ "transport": "TCP", "port": 8081 }],
    });
    let expected = json!({
        "nfInstanceId": "8d4c0f7e-2b0a-4f5c-9e44-0a1b2c3d4e5f",
        "nfType": "CHF",
        "nfStatus": "REGISTERED",
        "heartBeatTimer": 60,
        "fqdn": "chf.5gc.example",
        "nfServices": [service],
        "nfServiceList": { "nchf-convergedcharging": service },
    });
    assert_eq!(profile(text, Some(8081)), expected);
}

#[test]
fn an_nrf_is_called_below_its_root() {
    let settings = section(WHOLE).into_settings(None).expect("settings");
    assert_eq!(settings.uris, ["http://nrf-1.5gc.example:8000", "https://nrf-2.5gc.example/nrf"]);
}

#[test]
fn the_prefix_may_be_a_whole_uri() {
    for prefix in ["/a", "/a/b", "http://10.0.0.5:8080", "https://chf.example/charging"] {
        let section = NrfSection { api_prefix: Some(prefix.to_owned()), ..section(WHOLE) };
        let settings = section.into_settings(None).expect("settings");
        let profile = serde_json::to_value(settings.profile).expect("a document");
        assert_eq!(profile["nfServices"][0]["apiPrefix"], prefix);
    }
}

#[test]
fn what_is_wrong_is_told_with_its_cure() {
    type Change = fn(&mut NrfSection);
    let cases: &[(Change, &str)] = &[
        (|it| it.uri.clear(), "needs uri"),
        (|it| it.uri = vec!["nrf:8000".to_owned()], "Write the apiRoot of the NRF"),
        (|it| it.uri = vec!["http://u@nrf/".to_owned()], "a user or a password"),
        (|it| it.uri = vec!["http://nrf/?a".to_owned()], "a query or a fragment"),
        (|it| it.uri = vec!["http://nrf/nnrf-nfm/v1".to_owned()], "which is appended to it"),
        (|it| it.uri = vec![format!("http://nrf/{}", "a".repeat(960))], "may have 1024"),
        (|it| it.uri = vec!["http://nrf/".to_owned(); 9], "uri has more than 8 items"),
        (|it| it.instance_id = None, "needs instance_id"),
        (|it| it.instance_id = Some("chf-1".to_owned()), "is no UUID"),
        (
            |it| it.instance_id = Some("8d4c0f7e-2b0a-4f5c-9e44-0a1b2c3d4e5g".to_owned()),
            "is no UUID",
        ),
        (|it| (it.host, it.addresses) = (None, Vec::new()), "needs host or addresses"),
        (|it| it.host = Some("http://chf".to_owned()), "without scheme and port"),
        (|it| it.host = Some("10.0.0.5".to_owned()), "or use addresses"),
        (|it| it.addresses = vec!["0.0.0.0".parse().expect("it is one")], "no consumer can reach"),
        (|it| it.addresses = vec!["::".parse().expect("it is one")], "no consumer can reach"),
        (|it| it.addresses = vec!["10.0.0.5".parse().expect("it is one"); 65], "more than 64"),
        (|it| it.port = None, "needs port"),
        (|it| it.port = Some(0), "needs port"),
        (|it| it.api_prefix = Some("charging".to_owned()), "neither a path such as"),
        (|it| it.api_prefix = Some("/charging/".to_owned()), "neither a path such as"),
        (|it| it.api_prefix = Some("/charging?a".to_owned()), "neither a path such as"),
        (|it| it.plmns = vec!["0010".to_owned()], "5 or 6 digits"),
        (|it| it.plmns = vec!["00101a".to_owned()], "5 or 6 digits"),
        (
            |it| it.supi_ranges = vec![IdentityRange::default()],
            "needs start and end, or pattern alone",
        ),
        (
            |it| it.supi_ranges[0].pattern = Some("a".to_owned()),
            "needs start and end, or pattern alone",
        ),
        (|it| it.supi_ranges[0].end = None, "needs start and end, or pattern alone"),
        (|it| it.supi_ranges[0].start = Some("imsi-1".to_owned()), "without imsi- or msisdn-"),
        (|it| it.supi_ranges[0].start = Some(String::new()), "1 to 15 digits"),
        (
            |it| it.supi_ranges[0].start = Some("001010001000000".to_owned()),
            "the start comes first",
        ),
        (|it| it.supi_ranges[0].start = Some("1".to_owned()), "as many digits"),
        (|it| it.supi_ranges[1].pattern = Some(String::new()), "1 to 256 bytes"),
        (|it| it.supi_ranges[1].pattern = Some("a".repeat(257)), "1 to 256 bytes"),
        (|it| it.gpsi_ranges[0].end = Some("4915199999x".to_owned()), "gpsi_ranges has"),
        (|it| it.plmn_ranges[0].start = Some("0010".to_owned()), "5 to 6 digits"),
        (|it| it.priority = Some(65_536), "priority must be from 0 to 65535"),
        (|it| it.capacity = Some(65_536), "capacity must be from 0 to 65535"),
        (|it| it.heartbeat_s = Some(0), "heartbeat_s must be from 1 to 86400"),
        (|it| it.tls_key = Some("key.pem".into()), "tls_cert needs tls_key"),
    ];
    for (change, words) in cases {
        let mut section = section(WHOLE);
        change(&mut section);
        let error = section.into_settings(None).expect_err(words).to_string();
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn unknown_settings_are_refused() {
    for (text, words) in [
        ("uris = []", "unknown field `uris`"),
        ("uri = \"http://nrf\"", "expected a sequence"),
        ("port = 65536", "65536"),
        ("scheme = \"h2c\"", "h2c"),
        ("addresses = [\"chf\"]", "IP address"),
        ("supi_ranges = [{ from = \"1\" }]", "unknown field `from`"),
    ] {
        let error = toml::from_str::<NrfSection>(text).expect_err(text).to_string();
        assert!(error.contains(words), "{text}: {error}");
    }
}
