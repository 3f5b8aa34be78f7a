//! The example files of the documentation are right: each is read, and does what its comments say.

use crate::settings::table_of;
use scurry_service_table::{
    FinalAction, Measure, Mode, RedirectKind, ServiceTable, ServiceTerms, UnknownSubscriber,
};

const DATA: &str = include_str!("../../../../docs/examples/services-data.toml");
const VOICE: &str = include_str!("../../../../docs/examples/services-voice.toml");
const SMS: &str = include_str!("../../../../docs/examples/services-sms.toml");

fn table(text: &str) -> ServiceTable {
    table_of(text).expect("a good example")
}

/// Returns the accounts and identities by which `x` is found.
fn subscribers(table: &ServiceTable) -> Vec<(Option<String>, String)> {
    let rule = |rule: &scurry_service_table::SubscriberRule| {
        let identity = rule.identity.map_or(String::new(), |name| name.as_str().to_owned());
        (rule.account_of("x"), identity)
    };
    table.subscribers().iter().map(rule).collect()
}

fn names(terms: &ServiceTerms) -> (&str, Mode, i64) {
    (terms.unit.as_str(), terms.mode, terms.grant)
}

#[test]
fn the_example_of_data_does_what_it_says() {
    let table = table(DATA);
    let find = |group, service| table.find("1.2.8.32251@3gpp.org", group, service).expect("a row");
    let account = Some("imsi-x".to_owned());
    assert_eq!(subscribers(&table), [(account, String::new()), (None, "msisdn".to_owned())]);
    assert_eq!(table.unknown_subscriber(), UnknownSubscriber::AuthorizationRejected);
    assert_eq!(table.session_validity_s("32251@3gpp.org"), 3600);

    let bundle = find(Some(10), Some(1));
    assert_eq!(names(bundle), ("octet", Mode::Charge, 50 << 20));
    assert_eq!((bundle.grant_min, bundle.grant_max), (1 << 20, 200 << 20));
    assert_eq!(bundle.threshold_of(50 << 20), Some(10 << 20));
    assert_eq!(bundle.quota_holding_s, Some(300));
    assert_eq!(bundle.final_action.redirect_kind(), Some(RedirectKind::Url));
    assert!(bundle.keep_when_denied && !bundle.final_while_held);

    let video = find(Some(20), None);
    assert_eq!(names(video), ("video-octet", Mode::Charge, 100 << 20));
    assert_eq!(video.threshold_of(100 << 20), Some(10 << 20));
    let FinalAction::Restrict { rules, filters } = &video.final_action else {
        panic!("{:?}", video.final_action)
    };
    assert_eq!((rules.len(), filters.as_slice()), (2, ["own-pages".to_owned()].as_slice()));
    assert!(video.final_while_held);

    assert_eq!(find(Some(90), None).mode, Mode::Free);
    assert_eq!(names(find(Some(95), None)), ("record", Mode::Record, 10 << 20));
    let own = find(Some(10), Some(7));
    assert_eq!((names(own), own.threshold_of(100)), (("octet", Mode::Charge, 10 << 20), Some(10)));
    for general in [find(Some(11), None), find(None, Some(7))] {
        assert_eq!(names(general), ("octet", Mode::Charge, 10 << 20));
        assert_eq!(general.final_action.redirect_kind(), Some(RedirectKind::Url));
    }
}

#[test]
fn the_example_of_voice_does_what_it_says() {
    let table = table(VOICE);
    let find = |group| table.find("32260@3gpp.org", group, None).expect("a row");
    let account = Some("msisdn-x".to_owned());
    let expected = [(None, "sip".to_owned()), (account, "msisdn".to_owned())];
    assert_eq!(subscribers(&table), expected);
    assert_eq!(table.unknown_subscriber(), UnknownSubscriber::UserUnknown);

    let national = find(Some(1));
    assert_eq!((names(national), national.measure), (("second", Mode::Charge, 120), Measure::Time));
    assert_eq!((national.grant_min, national.grant_max), (10, 1800));
    assert_eq!((national.validity_s, national.threshold_of(120)), (1860, Some(15)));
    assert_eq!(national.quota_consumption_s, Some(10));
    assert_eq!(national.final_action, FinalAction::Terminate);

    let abroad = find(Some(5));
    assert_eq!(names(abroad), ("cent", Mode::Charge, 50));
    assert_eq!(abroad.measure, Measure::Money { currency: Some(978), decimals: 2 });
    assert_eq!(find(Some(112)).mode, Mode::Free);
    assert!(table.find("32251@3gpp.org", Some(1), None).is_none());
}

#[test]
fn the_example_of_text_messages_does_what_it_says() {
    let table = table(SMS);
    let find = |group| table.find("32274@3gpp.org", group, None).expect("a row");
    let account = Some("msisdn-x".to_owned());
    assert_eq!(subscribers(&table), [(account, String::new()), (None, "smsc".to_owned())]);
    assert_eq!(table.unknown_subscriber(), UnknownSubscriber::ServiceDenied);
    let bucket = |group| find(group).refund_bucket.map(|name| name.as_str().to_owned());

    assert_eq!((names(find(None)), find(None).grant_max), (("sms", Mode::Charge, 1), 10));
    assert_eq!(bucket(None).as_deref(), Some("sms"));
    assert_eq!(names(find(Some(3))), ("token", Mode::Charge, 1));
    assert_eq!(bucket(Some(3)).as_deref(), Some("tokens"));
    assert_eq!(names(find(Some(9))), ("sms-info", Mode::Record, 1));
}

#[test]
fn the_examples_are_explained() {
    let said = table(DATA).explain("8.32251@3gpp.org", Some(20), None);
    let expected = "\
request     context 8.32251@3gpp.org, rating group 20, no service
row         2 of [[services]]: context 32251@, rating group 20, any service
mode        charge: units are reserved and debited
unit        video-octet (volume)
item        20: one item for the rating group, but for services with rows of their own
grant       104857600 if the client does not say, 1 to any
validity    600 s; of sessions of the context 3600 s
threshold   the client asks again when 10485760 are left, if the grant is larger
holding     the client decides when it returns the quota for lack of traffic
final       restrict: the client lets the user use only these:
            permit out ip from 192.0.2.0/24 to any
            permit in ip from any to 192.0.2.0/24
            filter own-pages of the client
final when  nothing else is left, or other sessions hold the rest
denied      a session whose first request is denied is refused
refund      there is no bucket for a refund that names no debit
";
    assert_eq!(said, expected);
    let said = table(VOICE).explain("32260@3gpp.org", Some(5), None);
    assert!(
        said.contains("\nunit        cent (money of currency 978 with 2 decimals)\n"),
        "{said}"
    );
    let said = table(SMS).explain("32274@3gpp.org", None, None);
    assert!(
        said.contains("\nrefund      a refund that names no debit goes to bucket sms\n"),
        "{said}"
    );
}
