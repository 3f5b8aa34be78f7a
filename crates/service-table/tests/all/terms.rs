//! What the keys of a row make of its terms.

use crate::settings::table_of_row;
use scurry_ledger::{ItemKey, Limits};
use scurry_service_table::{
    FinalAction, Measure, Mode, RedirectKind, ServiceTerms, VALIDITY_S_MAX,
};

fn terms(row: &str) -> ServiceTerms {
    let table = table_of_row(row).expect(row);
    table.find("32251@3gpp.org", Some(1), Some(2)).expect(row).as_ref().clone()
}

#[test]
fn what_a_row_does_not_say_has_its_default() {
    for (row, unit, grant, grant_max) in [
        ("measure = 'volume'", "octet", 10_485_760, i64::MAX),
        ("measure = 'time'", "second", 600, 4_294_967_295),
        ("measure = 'units'", "unit", 1, i64::MAX),
        ("measure = 'money'\nunit = 'cent'", "cent", 100, i64::MAX),
        ("measure = 'money'\nunit = 'yen'\ndecimals = 0", "yen", 1, i64::MAX),
        (
            "measure = 'money'\nunit = 'wei'\ndecimals = 18",
            "wei",
            1_000_000_000_000_000_000,
            i64::MAX,
        ),
    ] {
        let terms = terms(row);
        assert_eq!((terms.unit.as_str(), terms.grant), (unit, grant), "{row}");
        assert_eq!((terms.grant_min, terms.grant_max), (1, grant_max), "{row}");
        assert_eq!((terms.mode, terms.validity_s), (Mode::Charge, 600), "{row}");
        assert_eq!(terms.threshold_of(i64::MAX), None, "{row}");
        assert_eq!((terms.quota_holding_s, terms.quota_consumption_s), (None, None), "{row}");
        assert_eq!(terms.final_action, FinalAction::Terminate, "{row}");
        assert!(!terms.final_while_held && !terms.keep_when_denied, "{row}");
        assert_eq!(terms.refund_bucket, None, "{row}");
    }
    let money = terms("measure = 'money'\nunit = 'cent'");
    assert_eq!(money.measure, Measure::Money { currency: None, decimals: 2 });
}

#[test]
fn every_key_reaches_the_terms() {
    let row = "measure = 'time'\nunit = 'minute'\ngrant = 20\ngrant_min = 10\ngrant_max = 30\n\
               validity_s = 302400\nthreshold = '50 %'\nquota_holding_s = 0\nquota_consumption_s = 5\n\
               final = 'restrict'\nfilters = ['permit in ip from any to 192.0.2.1']\nfilter_ids = ['a']\n\
               final_when = 'held'\ndenied_at_start = 'keep'\nrefund_bucket = 'back'";
    let said = terms(row);
    assert_eq!((said.measure, said.unit.as_str()), (Measure::Time, "minute"));
    assert_eq!((said.grant, said.grant_min, said.grant_max), (20, 10, 30));
    assert_eq!((said.validity_s, said.threshold_of(20)), (VALIDITY_S_MAX, Some(10)));
    assert_eq!((said.quota_holding_s, said.quota_consumption_s), (Some(0), Some(5)));
    let rules = vec!["permit in ip from any to 192.0.2.1".to_owned()];
    let restrict = FinalAction::Restrict { rules, filters: vec!["a".to_owned()] };
    assert_eq!(said.final_action, restrict);
    assert_eq!(said.final_action.redirect_kind(), None);
    assert!(said.final_while_held && said.keep_when_denied);
    assert_eq!(said.refund_bucket.map(|name| name.as_str().to_owned()).as_deref(), Some("back"));

    let said = terms("measure = 'money'\nunit = 'c'\ncurrency = 978\ndecimals = 4");
    assert_eq!(said.measure, Measure::Money { currency: Some(978), decimals: 4 });
    let said = terms("measure = 'units'\nfinal = 'redirect'\nredirect = 'sip:a@b'\nthreshold = 3");
    assert_eq!(said.final_action, FinalAction::Redirect("sip:a@b".to_owned()));
    assert_eq!(said.final_action.redirect_kind(), Some(RedirectKind::SipUri));
    assert_eq!((said.threshold_of(3), said.threshold_of(4)), (None, Some(3)));
}

#[test]
fn a_default_grant_is_the_nearest_allowed_amount() {
    for (row, grant) in [
        ("measure = 'units'\ngrant_min = 5", 5),
        ("measure = 'time'\ngrant_max = 60", 60),
        ("measure = 'time'\ngrant_min = 60", 600),
    ] {
        assert_eq!(terms(row).grant, grant, "{row}");
    }
}

#[test]
fn a_client_gets_what_it_asks_for_within_the_bounds() {
    let terms = terms("measure = 'units'\ngrant = 5\ngrant_min = 2\ngrant_max = 8");
    for (asked, amount) in [
        (None, 5),
        (Some(0), 5),
        (Some(-1), 5),
        (Some(1), 2),
        (Some(6), 6),
        (Some(9), 8),
        (Some(i64::MAX), 8),
    ] {
        assert_eq!(terms.amount(asked), amount, "{asked:?}");
    }
}

#[test]
fn a_service_of_a_row_is_an_item_of_its_own() {
    let key = |text: &str| ItemKey::new(text.as_bytes()).expect(text);
    let group = terms("measure = 'units'\nrating_group = 1");
    assert_eq!(group.item(Some(1), Some(2)), key("1"));
    assert_eq!(group.item(None, Some(2)), key("-"));
    let service = terms("measure = 'units'\nservice = 2");
    assert_eq!(service.item(Some(1), Some(2)), key("1.2"));
    assert_eq!(service.item(None, Some(2)), key("-.2"));
    assert_eq!(service.item(Some(u32::MAX), Some(u32::MAX)), key("4294967295.4294967295"));
}

#[test]
fn free_and_record_need_little() {
    for row in ["mode = 'free'", "mode = 'free'\nmeasure = 'money'"] {
        assert_eq!(terms(row).mode, Mode::Free, "{row}");
    }
    for (row, unit) in [
        ("mode = 'record'\nmeasure = 'volume'", "record"),
        ("mode = 'record'\nmeasure = 'money'", "record"),
        ("mode = 'record'\nmeasure = 'units'\nunit = 'info'\ngrant = 7\nthreshold = 2", "info"),
    ] {
        let terms = terms(row);
        assert_eq!((terms.mode, terms.unit.as_str()), (Mode::Record, unit), "{row}");
    }
}

#[test]
fn the_ledger_allows_twice_the_longest_validity() {
    let tcc_ms = i64::from(VALIDITY_S_MAX) * 2 * 1000;
    assert!(tcc_ms <= Limits::default().tcc_ms_max, "{tcc_ms}");
}
