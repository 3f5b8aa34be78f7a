//! What each mistake in the rows is told.

use crate::settings::{table_of, table_of_row};

#[test]
fn a_wrong_value_is_told_what_is_allowed() {
    for (row, key, problem) in [
        ("", "measure", "it is missing: give \"volume\", \"time\", \"units\" or \"money\""),
        ("mode = 'record'", "measure", "it is missing: give "),
        (
            "measure = 'money'",
            "unit",
            "it is missing: give the unit of the buckets of money, such as \"cent\"",
        ),
        (
            "measure = 'time'\nunit = ''",
            "unit",
            "\"\" is not allowed: give 1 to 16 characters of ASCII without spaces",
        ),
        ("measure = 'time'\nunit = 'a b'", "unit", "\"a b\" is not allowed: give 1 to 16 "),
        ("measure = 'time'\nunit = 'secondsofservices'", "unit", "\"secondsofservices\" is not"),
        ("measure = 'time'\nunit = 'ü'", "unit", "\"ü\" is not allowed"),
        (
            "measure = 'money'\nunit = 'c'\ncurrency = 0",
            "currency",
            "0 is not allowed: give a number from 1 to 999",
        ),
        ("measure = 'money'\nunit = 'c'\ncurrency = 1000", "currency", "1000 is not allowed: "),
        (
            "measure = 'money'\nunit = 'c'\ndecimals = 19",
            "decimals",
            "19 is not allowed: give a number from 0 to 18",
        ),
        (
            "measure = 'units'\ngrant = 0",
            "grant",
            "0 is not allowed: give a number from 1 to 9223372036854775807",
        ),
        (
            "measure = 'units'\ngrant_min = -1",
            "grant_min",
            "-1 is not allowed: give a number from 1 to ",
        ),
        (
            "measure = 'units'\ngrant_max = 0",
            "grant_max",
            "0 is not allowed: give a number from 1 to ",
        ),
        (
            "measure = 'time'\ngrant_max = 4294967296",
            "grant_max",
            "4294967296 is not allowed: give a number from 1 to 4294967295",
        ),
        ("measure = 'time'\ngrant = 4294967296", "grant", "4294967296 is not allowed: "),
        (
            "measure = 'units'\ngrant = 4\ngrant_min = 5",
            "grant",
            "4 is less than `grant_min`, which is 5",
        ),
        (
            "measure = 'units'\ngrant = 6\ngrant_max = 5",
            "grant",
            "6 is more than `grant_max`, which is 5",
        ),
        (
            "measure = 'units'\ngrant_min = 6\ngrant_max = 5",
            "grant_min",
            "6 is more than `grant_max`, which is 5",
        ),
        (
            "measure = 'units'\nvalidity_s = 0",
            "validity_s",
            "0 is not allowed: give a number from 1 to 302400",
        ),
        ("measure = 'units'\nvalidity_s = 302401", "validity_s", "302401 is not allowed: "),
        (
            "measure = 'units'\nthreshold = 0",
            "threshold",
            "0 is not allowed: give a number from 1 to ",
        ),
        (
            "measure = 'units'\nthreshold = '0%'",
            "threshold",
            "\"0%\" is not allowed: give a share from \"1%\" to \"99%\"",
        ),
        ("measure = 'units'\nthreshold = '100%'", "threshold", "\"100%\" is not allowed: "),
        (
            "measure = 'units'\nquota_holding_s = 302401",
            "quota_holding_s",
            "302401 is not allowed: give a number from 0 to 302400",
        ),
        (
            "measure = 'time'\nquota_consumption_s = 0",
            "quota_consumption_s",
            "0 is not allowed: give a number from 1 to 302400",
        ),
        (
            "measure = 'time'\nfinal = 'redirect'",
            "redirect",
            "it is missing: give an IPv4 address, an IPv6 address, a URL such as \"http://topup.example.com/\", or a SIP URI",
        ),
        (
            "measure = 'time'\nfinal = 'redirect'\nredirect = 'topup'",
            "redirect",
            "\"topup\" is no address: give an IPv4 address, ",
        ),
        (
            "measure = 'time'\nfinal = 'redirect'\nredirect = 'http://a b'",
            "redirect",
            "\"http://a b\" is not allowed: give 1 to 1024 characters",
        ),
        (
            "measure = 'time'\nfinal = 'restrict'",
            "filters",
            "final = \"restrict\" needs `filters` or `filter_ids`: what stays allowed",
        ),
        (
            "measure = 'time'\nfinal = 'restrict'\nfilters = []\nfilter_ids = []",
            "filters",
            "final = \"restrict\" needs ",
        ),
        (
            "measure = 'time'\nfinal = 'restrict'\nfilters = ['permit all']",
            "filters",
            "\"permit all\" is no IPFilterRule: give up to 512 characters such as \"permit out ip from 192.0.2.0/24 to any\"",
        ),
        (
            "measure = 'time'\nfinal = 'restrict'\nfilters = ['allow in ip from a to b']",
            "filters",
            "\"allow in ",
        ),
        (
            "measure = 'time'\nfinal = 'restrict'\nfilters = ['permit up ip from a to b']",
            "filters",
            "\"permit up ",
        ),
        (
            "measure = 'time'\nfinal = 'restrict'\nfilters = ['deny in ip from any']",
            "filters",
            "\"deny in ",
        ),
        (
            "measure = 'time'\nfinal = 'restrict'\nfilter_ids = ['a b']",
            "filter_ids",
            "\"a b\" is not allowed: give 1 to 128 ",
        ),
        (
            "measure = 'time'\nrefund_bucket = ''",
            "refund_bucket",
            "\"\" is not allowed: give 1 to 16 ",
        ),
        (
            "measure = 'time'\ncontext = ''",
            "context",
            "\"\" is not allowed: give 1 to 128 characters",
        ),
        (
            "measure = 'time'\ncontext = '@3gpp.org'",
            "context",
            "\"@3gpp.org\" names no service: write the service before the @, such as \"32251@\"",
        ),
        (
            "measure = 'time'\ncontext = '8.@3gpp.org'",
            "context",
            "\"8.@3gpp.org\" names no service: ",
        ),
        (
            "measure = 'time'\ncontext = '8.32251@3gpp.org'",
            "context",
            "\"8.32251@3gpp.org\" is too exact: the part before the last dot in front of the @ does not count; write \"32251@3gpp.org\"",
        ),
    ] {
        let said = table_of_row(row).expect_err(row);
        let start = format!("[[services]] row 1, `{key}`: {problem}");
        assert!(said.starts_with(&start), "{row}: {said}");
    }
}

#[test]
fn a_key_that_does_not_apply_is_told_so() {
    let free = [
        "unit = 'a'",
        "currency = 978",
        "decimals = 2",
        "grant = 1",
        "grant_min = 1",
        "grant_max = 1",
        "validity_s = 60",
        "threshold = 1",
        "quota_holding_s = 1",
        "quota_consumption_s = 1",
        "final = 'terminate'",
        "redirect = 'http://a'",
        "filters = []",
        "filter_ids = []",
        "final_when = 'last'",
        "denied_at_start = 'keep'",
        "refund_bucket = 'a'",
    ];
    for line in free {
        does_not_apply("mode = 'free'", line, "it does not apply with mode = \"free\": remove it");
        let with_measure = "mode = 'free'\nmeasure = 'money'";
        does_not_apply(with_measure, line, "it does not apply with mode = \"free\": remove it");
    }
    for line in &free[10..] {
        let problem = "it applies only with mode = \"charge\": remove it";
        does_not_apply("mode = 'record'\nmeasure = 'time'", line, problem);
    }
    for measure in ["volume", "time", "units"] {
        let problem = "it applies only with measure = \"money\": remove it";
        does_not_apply(&format!("measure = '{measure}'"), "currency = 978", problem);
        does_not_apply(&format!("measure = '{measure}'"), "decimals = 2", problem);
    }
    let money = "measure = 'money'\nunit = 'cent'";
    let problem = "it does not apply with measure = \"money\": remove it";
    does_not_apply(money, "threshold = 5", problem);
    for others in ["measure = 'volume'", "measure = 'units'", money] {
        let problem = "it applies only with measure = \"time\": remove it";
        does_not_apply(others, "quota_consumption_s = 5", problem);
    }
    let problem = "it applies only with final = \"redirect\": remove it, or add that";
    for last in ["", "\nfinal = 'terminate'", "\nfinal = 'restrict'\nfilter_ids = ['a']"] {
        does_not_apply(&format!("measure = 'time'{last}"), "redirect = 'http://a'", problem);
    }
    let problem = "it applies only with final = \"restrict\": remove it, or add that";
    for last in ["", "\nfinal = 'terminate'", "\nfinal = 'redirect'\nredirect = 'http://a'"] {
        does_not_apply(&format!("measure = 'time'{last}"), "filters = []", problem);
        does_not_apply(&format!("measure = 'time'{last}"), "filter_ids = ['a']", problem);
    }
}

fn does_not_apply(row: &str, line: &str, problem: &str) {
    let key = line.split(' ').next().expect("a key");
    let said = table_of_row(&format!("{row}\n{line}")).expect_err(line);
    assert_eq!(said, format!("[[services]] row 1, `{key}`: {problem}"), "{row}");
}

#[test]
fn an_unknown_word_is_told_the_known_ones() {
    for (row, words) in [
        (
            "measure = 'octets'",
            "unknown variant `octets`, expected one of `volume`, `time`, `units`, `money`",
        ),
        ("mode = 'off'", "unknown variant `off`, expected one of `charge`, `free`, `record`"),
        (
            "final = 'end'",
            "unknown variant `end`, expected one of `terminate`, `redirect`, `restrict`",
        ),
        ("final_when = 'end'", "unknown variant `end`, expected `last` or `held`"),
        ("denied_at_start = 'no'", "unknown variant `no`, expected `refuse` or `keep`"),
        (
            "threshold = '20'",
            "\"20\" is no threshold: give a number of units without quotes, or a share of the grant from \"1%\" to \"99%\"",
        ),
        ("threshold = '300%'", "\"300%\" is no threshold: "),
        ("threshold = '2.5%'", "\"2.5%\" is no threshold: "),
        (
            "threshold = 2.5",
            "invalid type: floating point `2.5`, expected a number of units, or a share of the grant such as \"20%\"",
        ),
        (
            "price = 5",
            "unknown field `price`, expected one of `context`, `rating_group`, `service`, ",
        ),
        ("rating_group = -1", "invalid value: integer `-1`, expected u32"),
    ] {
        let said = table_of_row(row).expect_err(row);
        assert!(said.starts_with(words), "{row}: {said}");
    }
    for (text, words) in [
        (
            "unknown_subscriber = 'no'",
            "\"no\" is no such answer: use user_unknown, rejected or denied",
        ),
        ("[[subscribers]]\naccount = '{}'", "missing field `type`"),
        (
            "[[subscribers]]\ntype = 'msisdn'",
            "unknown variant `msisdn`, expected one of `e164`, `imsi`, `sip_uri`, `nai`, `private`",
        ),
    ] {
        let said = table_of(text).expect_err(text);
        assert!(said.starts_with(words), "{text}: {said}");
    }
}

#[test]
fn a_mistake_is_told_with_the_number_of_its_row() {
    let good = "[[services]]\nrating_group = 1\nmeasure = 'time'\n";
    let said =
        table_of(&format!("{good}[[services]]\nmeasure = 'time'\ngrant = 0")).expect_err("0");
    assert!(said.starts_with("[[services]] row 2, `grant`: 0 is"), "{said}");
    let other = "[[services]]\nmeasure = 'volume'\n";
    let said = table_of(&format!("{good}{other}{good}")).expect_err("the same");
    let expected = "[[services]] row 3 is for the same context, rating_group and service as row 1: remove one of them";
    assert_eq!(said, expected);
}

#[test]
fn a_wrong_subscriber_is_told_what_is_allowed() {
    for (row, problem) in [
        (
            "",
            "row 1, `account`: it is missing: give a pattern such as \"imsi-{}\", or `identity`, or both",
        ),
        (
            "account = 'imsi'",
            "row 1, `account`: \"imsi\" is no pattern: write exactly one {} where the identifier goes, such as \"imsi-{}\"",
        ),
        ("account = '{}{}'", "row 1, `account`: \"{}{}\" is no pattern: "),
        ("account = ''", "row 1, `account`: \"\" is not allowed: give 1 to 128 characters"),
        ("account = 'imsi {}'", "row 1, `account`: \"imsi {}\" is not allowed: "),
        (
            "identity = 'identityofaperson'",
            "row 1, `identity`: \"identityofaperson\" is not allowed: give 1 to 16 ",
        ),
        (
            "identity = 'a'\n[[subscribers]]\ntype = 'imsi'\nidentity = 'a'",
            "row 2 is for the same type, account and identity as row 1: remove one of them",
        ),
    ] {
        let said = table_of(&format!("[[subscribers]]\ntype = 'imsi'\n{row}")).expect_err(row);
        assert!(said.starts_with(&format!("[[subscribers]] {problem}")), "{row}: {said}");
    }
}
