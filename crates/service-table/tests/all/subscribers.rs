//! How subscribers become accounts.

use crate::settings::table_of;
use scurry_service_table::{ServiceTable, SubscriberKind, UnknownSubscriber};

#[test]
fn without_rows_an_imsi_comes_before_a_telephone_number() {
    for table in [ServiceTable::standard(), table_of("").expect("nothing")] {
        let rules: Vec<_> = table
            .subscribers()
            .iter()
            .map(|rule| (rule.kind, rule.account_of("123"), rule.identity))
            .collect();
        let expected = [
            (SubscriberKind::Imsi, Some("imsi-123".to_owned()), None),
            (SubscriberKind::E164, Some("msisdn-123".to_owned()), None),
        ];
        assert_eq!(rules, expected);
    }
}

#[test]
fn rows_are_rules_in_their_order() {
    let text = "[[subscribers]]\ntype = 'sip_uri'\nidentity = 'sip'\n\
                [[subscribers]]\ntype = 'nai'\naccount = '{{}}'\n\
                [[subscribers]]\ntype = 'e164'\naccount = 'a-{}-b'\nidentity = 'msisdn'\n\
                [[subscribers]]\ntype = 'e164'\naccount = '{}'\n\
                [[subscribers]]\ntype = 'private'\nidentity = 'own'\n\
                [[subscribers]]\ntype = 'imsi'\naccount = '{}'\n";
    let table = table_of(text).expect(text);
    let rules: Vec<_> = (table.subscribers().iter())
        .map(|rule| {
            let identity = rule.identity.map(|name| name.as_str().to_owned());
            (rule.kind, rule.account_of("x"), identity)
        })
        .collect();
    let text = |text: &str| Some(text.to_owned());
    let expected = [
        (SubscriberKind::SipUri, None, text("sip")),
        // Braces around the identifier make it the part of the id that chooses the hash slot.
        (SubscriberKind::Nai, text("{x}"), None),
        (SubscriberKind::E164, text("a-x-b"), text("msisdn")),
        (SubscriberKind::E164, text("x"), None),
        (SubscriberKind::Private, None, text("own")),
        (SubscriberKind::Imsi, text("x"), None),
    ];
    assert_eq!(rules, expected);
}

#[test]
fn an_unknown_subscriber_gets_the_result_code_of_the_setting() {
    for (text, unknown, result_code) in [
        ("", UnknownSubscriber::UserUnknown, 5030),
        ("unknown_subscriber = 'user_unknown'", UnknownSubscriber::UserUnknown, 5030),
        ("unknown_subscriber = 'rejected'", UnknownSubscriber::AuthorizationRejected, 5003),
        ("unknown_subscriber = 'denied'", UnknownSubscriber::ServiceDenied, 4010),
    ] {
        let said = table_of(text).expect(text).unknown_subscriber();
        assert_eq!((said, said.result_code()), (unknown, result_code), "{text}");
    }
}
