//! Which row is for which request.

use crate::settings::table_of;
use scurry_service_table::{Measure, Mode, ServiceTable, UnknownSubscriber};

/// A table of rows that are told apart by their grants, which are their numbers.
fn table(rows: &[(&str, &str)]) -> ServiceTable {
    let text: String = (rows.iter().zip(1..))
        .map(|((_, row), number)| {
            format!(
                "[[services]]\nmeasure = 'units'\ngrant = {number}\n{}\n",
                row.replace(';', "\n")
            )
        })
        .collect();
    table_of(&text).expect(&text)
}

#[test]
fn exact_comes_before_any_and_the_context_comes_first() {
    let rows = [
        ("any", ""),
        ("service", "service = 7"),
        ("group", "rating_group = 10"),
        ("group, service", "rating_group = 10; service = 7"),
        ("label", "context = '32251@'"),
        ("label, service", "context = '32251@'; service = 7"),
        ("label, group", "context = '32251@'; rating_group = 10"),
        ("label, group, service", "context = '32251@'; rating_group = 10; service = 7"),
        ("whole", "context = '32251@3gpp.org'"),
        ("whole, service", "context = '32251@3gpp.org'; service = 7"),
        ("whole, group", "context = '32251@3gpp.org'; rating_group = 10"),
        ("whole, group, service", "context = '32251@3gpp.org'; rating_group = 10; service = 7"),
    ];
    let table = table(&rows);
    let release = "ext.01.001.8.32251@3gpp.org";
    for (context, group, service, name) in [
        ("32251@3gpp.org", Some(10), Some(7), "whole, group, service"),
        (release, Some(10), Some(7), "whole, group, service"),
        ("32251@3gpp.org", Some(10), Some(8), "whole, group"),
        ("32251@3gpp.org", Some(10), None, "whole, group"),
        ("32251@3gpp.org", Some(11), Some(7), "whole, service"),
        ("32251@3gpp.org", None, Some(7), "whole, service"),
        (release, None, None, "whole"),
        ("8.32251@example.com", Some(10), Some(7), "label, group, service"),
        ("32251@example.com", Some(10), Some(8), "label, group"),
        ("32251@", Some(11), Some(7), "label, service"),
        ("32251@3GPP.ORG", None, None, "label"),
        ("32260@3gpp.org", Some(10), Some(7), "group, service"),
        ("32251", Some(10), None, "group"),
        ("", None, Some(7), "service"),
        ("132251@3gpp.org", Some(1), Some(1), "any"),
    ] {
        let at = table.find(context, group, service).expect("a row for any").grant;
        let found = rows[usize::try_from(at - 1).expect("a number of a row")].0;
        assert_eq!(found, name, "{context} {group:?} {service:?}");
    }
}

#[test]
fn a_context_without_an_at_is_the_whole_identifier() {
    let table = table(&[("", "context = 'acme.data'"), ("", "context = 'acme'")]);
    let grant = |context| table.find(context, None, None).map(|terms| terms.grant);
    assert_eq!(grant("acme.data"), Some(1));
    assert_eq!(grant("acme"), Some(2));
    for other in ["data", "x.acme.data", "acme@", "acme.data@", "x.acme"] {
        assert_eq!(grant(other), None, "{other}");
    }
}

#[test]
fn a_row_without_a_match_is_no_row() {
    let table = table(&[("", "context = '32251@'; rating_group = 10")]);
    assert!(table.find("32251@3gpp.org", Some(10), Some(1)).is_some());
    for (context, group) in
        [("32251@3gpp.org", None), ("32251@3gpp.org", Some(11)), ("32260@3gpp.org", Some(10))]
    {
        assert!(table.find(context, group, None).is_none(), "{context} {group:?}");
    }
}

#[test]
fn the_standard_services_are_those_of_the_charging_specifications() {
    let made = ServiceTable::new(&[], &[], UnknownSubscriber::default()).expect("no rows");
    for table in [ServiceTable::standard(), made] {
        for (context, measure, unit, grant, threshold) in [
            ("32251@3gpp.org", Measure::Volume, "octet", 10 << 20, Some(2 << 20)),
            ("32260@3gpp.org", Measure::Time, "second", 600, None),
            ("32270@3gpp.org", Measure::Units, "unit", 1, None),
            ("32274@3gpp.org", Measure::Units, "unit", 1, None),
            ("32275@3gpp.org", Measure::Time, "second", 600, None),
            ("32276@3gpp.org", Measure::Time, "second", 600, None),
        ] {
            let terms = table.find(&format!("1.8.{context}"), Some(4), Some(5)).expect(context);
            let said = (terms.measure, terms.unit.as_str(), terms.grant, terms.mode);
            assert_eq!(said, (measure, unit, grant, Mode::Charge), "{context}");
            assert_eq!(terms.threshold_of(terms.grant), threshold, "{context}");
            assert_eq!(terms.item(Some(4), Some(5)), scurry_ledger::ItemKey::Number(4));
            assert_eq!(table.session_validity_s(context), 600);
        }
        for other in ["32299@3gpp.org", "32251", "own", ""] {
            assert!(table.find(other, None, None).is_none(), "{other}");
            assert_eq!(table.session_validity_s(other), 600);
        }
        assert_eq!(table.unknown_subscriber().result_code(), 5030);
    }
}

#[test]
fn a_session_has_the_longest_validity_of_its_context() {
    let table = table(&[
        ("", "context = '32251@'; rating_group = 1; validity_s = 900"),
        ("", "context = '32251@'; rating_group = 2; validity_s = 60"),
        ("", "context = '32251@3gpp.org'; validity_s = 1200"),
        ("", "context = '32260@'; validity_s = 30"),
        ("", "rating_group = 9; validity_s = 100"),
    ]);
    for (context, longest) in [
        ("8.32251@3gpp.org", 1200),
        ("32251@example.com", 900),
        ("32260@3gpp.org", 100),
        ("own", 100),
    ] {
        assert_eq!(table.session_validity_s(context), longest, "{context}");
    }
    // A free service has no grants, so it has no validity.
    let free = "[[services]]\ncontext = '32251@'\nmode = 'free'\n\
                [[services]]\ncontext = '32260@'\nmode = 'free'\n\
                [[services]]\ncontext = '32260@'\nrating_group = 1\nmeasure = 'time'\nvalidity_s = 5";
    let table = table_of(free).expect(free);
    assert_eq!(table.session_validity_s("32251@3gpp.org"), 600);
    assert_eq!(table.session_validity_s("32260@3gpp.org"), 5);
}
