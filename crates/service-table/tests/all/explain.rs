//! What the table says about a request, word by word.

use crate::settings::{table_of, table_of_row};
use scurry_service_table::ServiceTable;

#[test]
fn a_standard_service_is_explained() {
    let said = ServiceTable::standard().explain("8.32251@3gpp.org", Some(10), None);
    let expected = "\
request     context 8.32251@3gpp.org, rating group 10, no service
row         standard: context 32251@, any rating group, any service
mode        charge: units are reserved and debited
unit        octet (volume)
item        10: one item for the rating group, but for services with rows of their own
grant       10485760 if the client does not say, 1 to any
validity    600 s; of sessions of the context 600 s
threshold   the client asks again when 20% of a grant is left
holding     the client decides when it returns the quota for lack of traffic
final       terminate: the client ends the service
final when  nothing else is left; not while other sessions hold the rest
denied      a session whose first request is denied is refused
refund      there is no bucket for a refund that names no debit
";
    assert_eq!(said, expected);
}

#[test]
fn a_row_is_explained_by_its_number() {
    let text = "[[services]]\nmode = 'free'\nrating_group = 1\n[[services]]\nmeasure = 'time'\nservice = 7\n\
                grant_max = 900\nquota_holding_s = 0\nquota_consumption_s = 5\nfinal = 'redirect'\n\
                redirect = '192.0.2.1'\ndenied_at_start = 'keep'\nrefund_bucket = 'back'";
    let table = table_of(text).expect(text);
    let expected = "\
request     context own, no rating group, service 7
row         2 of [[services]]: any context, any rating group, service 7
mode        charge: units are reserved and debited
unit        second (time)
item        -.7: the service is an item of its own
grant       600 if the client does not say, 1 to 900
validity    600 s; of sessions of the context 600 s
threshold   none: the client asks again when the grant is used
holding     the client keeps the quota however long there is no traffic
consumption up to 5 s without traffic still count as used
final       redirect: the client sends the user to 192.0.2.1
final when  nothing else is left; not while other sessions hold the rest
denied      a session whose first request is denied stays open
refund      a refund that names no debit goes to bucket back
";
    assert_eq!(table.explain("own", None, Some(7)), expected);
    let expected = "\
request     context own, rating group 1, no service
row         1 of [[services]]: any context, rating group 1, any service
mode        free: nothing is reserved or debited, the client gets Result-Code 4011
";
    assert_eq!(table.explain("own", Some(1), None), expected);
}

#[test]
fn recorded_use_is_explained_without_an_end() {
    let table =
        table_of_row("mode = 'record'\nmeasure = 'money'\nquota_holding_s = 60").expect("a row");
    let expected = "\
request     context own, no rating group, no service
row         1 of [[services]]: any context, any rating group, any service
mode        record: nothing is reserved, reported use becomes an item of the session
unit        record (money of any currency with 2 decimals)
item        -: one item for all without a rating group, but for services with rows of their own
grant       100 if the client does not say, 1 to any
validity    600 s; of sessions of the context 600 s
threshold   none: the client asks again when the grant is used
holding     the client returns the quota after 60 s without traffic
";
    assert_eq!(table.explain("own", None, None), expected);
}

#[test]
fn a_request_without_a_row_is_told_the_row_to_add() {
    let table = table_of_row("measure = 'time'\ncontext = '32260@'").expect("a row");
    let expected = "\
request     context 8.32251@3gpp.org, rating group 10, no service
row         none: such requests get Result-Code 5031, rating failed
cure        add a row to the settings, with the measure that the clients report:
            [[services]]
            context = \"32251@3gpp.org\"
            rating_group = 10
            measure = \"volume\"
";
    let said = table.explain("8.32251@3gpp.org", Some(10), None);
    assert_eq!(said, expected);
    // The row is one that can be added.
    let row = said.split_once("report:\n").expect("a row").1;
    assert!(table_of(row).expect(row).find("8.32251@3gpp.org", Some(10), None).is_some());
    // Without rows, the first one takes the place of the standard services.
    let said = ServiceTable::standard().explain("own", None, None);
    let note = "note        rows replace all standard services: add rows for those that you need\n";
    assert!(said.ends_with(note), "{said}");
}
