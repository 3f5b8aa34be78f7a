//! Settings as text, their defaults and their errors.

use super::support::{REALM, Shared, StandIn, local, settings};
use crate::open_error::OpenError;
use crate::section::DiameterSection;
use crate::serving::Serving;
use crate::settings::{Settings, UnknownPeers, UnknownPolicy};
use crate::settings_error::SettingsError;
use std::sync::Arc;

fn read(text: &str) -> Result<Settings, SettingsError> {
    let section: DiameterSection = toml::from_str(text).expect("a section");
    section.into_settings(None)
}

#[test]
fn a_section_is_read() {
    let settings = read(
        "listen = '0.0.0.0:3868'\ntls_listen = '[::]:5868'\ntls_cert = 'a'\ntls_key = 'b'\ntls_ca = 'c'\n\
         origin_host = 'ocs.scurry.example'\nrealms = ['one.example', 'two.example']\n\
         unknown_peers = 'refuse'\nwatchdog_s = 6\n\
         [[peers]]\nhost = 'pgw.example'\naddresses = ['192.0.2.1', '2001:db8::1']\nneeds_tls = true\n",
    );
    let settings = settings.expect("settings");
    assert_eq!((settings.realm(), settings.watchdog_s), (REALM, 6));
    assert_eq!(settings.served_realms(), ["one.example", "two.example", REALM]);
    assert_eq!(settings.unknown_peers, Some(UnknownPeers::Refuse));
    assert!(settings.tls.is_some_and(|tls| tls.client_ca.is_some()));
    assert!(settings.peers[0].needs_tls && settings.peers[0].addresses.len() == 2);
    for wrong in ["origin_hots = 'a.b'", "[[peers]]\nhots = 'a'", "unknown_peers = 'perhaps'"] {
        let text = format!("origin_host = 'a.b'\n{wrong}");
        assert!(toml::from_str::<DiameterSection>(&text).is_err(), "{wrong}");
    }
}

#[test]
fn wrong_settings_are_refused_in_words() {
    let everywhere = "0.0.0.0:3868".parse().expect("an address");
    let here = "listen = '127.0.0.1:3868'\norigin_host = 'ocs.scurry.example'\n";
    for (text, error) in [
        ("origin_host = 'a.b'".to_owned(), SettingsError::NoAddress),
        (format!("{here}tls_ca = 'c'"), SettingsError::TlsPair),
        (format!("{here}tls_cert = 'c'"), SettingsError::TlsPair),
        (format!("{here}tls_listen = '127.0.0.1:5868'"), SettingsError::TlsPair),
        (format!("{here}watchdog_s = 5"), SettingsError::Watchdog(6, 86_400)),
        (
            format!("{here}requests_max = 0"),
            SettingsError::Bound { name: "requests_max", min: 1, max: 1 << 30 },
        ),
        (
            format!("{here}[[peers]]\nhost = 'a'\n[[peers]]\nhost = 'A'"),
            SettingsError::PeerTwice("A".to_owned()),
        ),
        (
            format!("{here}[[peers]]\nhost = 'a'\ncertificate = 'b'"),
            SettingsError::NoClientCa("a".to_owned()),
        ),
        (
            format!("{here}origin_realm = 'a b'"),
            SettingsError::Identity("origin_realm", "a b".to_owned()),
        ),
        (
            "listen = '127.0.0.1:3868'\norigin_host = 'ocs'".to_owned(),
            SettingsError::NoRealm("ocs".to_owned()),
        ),
        (
            "listen = '0.0.0.0:3868'\norigin_host = 'a.b'".to_owned(),
            SettingsError::OpenAccess(everywhere),
        ),
    ] {
        assert_eq!(read(&text).expect_err("an error"), error, "{text}");
    }
    let open = "listen = '0.0.0.0:3868'\norigin_host = 'a.b'\nunknown_peers = 'admit'";
    assert_eq!(read(open).expect("settings").unknown_peers, Some(UnknownPeers::Admit));
}

#[test]
fn only_a_door_on_this_machine_admits_all_when_it_has_no_rules() {
    let everywhere = "0.0.0.0:3868".parse().expect("an address");
    use UnknownPeers::{Admit, Refuse};
    for (listen, unknown_peers, without_rules, with_rules) in [
        (local(0), None, Admit, Refuse),
        (everywhere, None, Refuse, Refuse),
        (everywhere, Some(Admit), Admit, Admit),
        (local(0), Some(Refuse), Refuse, Refuse),
    ] {
        let settings = Settings { listen: Some(listen), unknown_peers, ..settings() };
        assert_eq!(settings.unknown_policy(), UnknownPolicy { without_rules, with_rules });
    }
}

/// With the feature `sctp` a door listens, or says that this kernel has no SCTP.
#[test]
fn sctp_is_there_if_the_build_and_the_kernel_have_it() {
    let settings = Settings { sctp_listen: Some(local(0)), ..settings() };
    let stand_in = StandIn::open();
    let opened = Serving::open(settings, |_| Arc::new(Shared(Arc::clone(&stand_in))));
    let has_feature = cfg!(feature = "sctp");
    match opened {
        Ok(door) => {
            door.close();
            assert!(has_feature, "it listens");
        }
        Err(OpenError::WithoutSctp) => assert!(!has_feature, "it has no SCTP"),
        Err(error) => {
            let said = error.to_string();
            assert!(has_feature && said.contains("not supported"), "{said}");
        }
    }
}
