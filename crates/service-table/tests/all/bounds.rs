//! Bounds of values and lists: the most is allowed, one more is not.

use crate::settings::table_of_row;
use scurry_service_table::{
    CONTEXT_LEN_MAX, FILTER_ID_LEN_MAX, FILTER_LEN_MAX, FILTERS_MAX, MeasureKey, Mode,
    PATTERN_LEN_MAX, REDIRECT_LEN_MAX, ROWS_MAX, SUBSCRIBERS_MAX, ServiceRow, ServiceTable,
    Threshold, UnknownSubscriber,
};

#[test]
fn the_longest_values_are_allowed_and_longer_ones_are_not() {
    let filter = |len: usize| format!("{:x<len$}", "permit out ip from a to ");
    let url = |len: usize| format!("{:x<len$}", "http://");
    let list = |count: usize| vec!["'permit in ip from a to b'"; count].join(", ");
    let row = |line: String| format!("measure = 'time'\n{line}");
    let restrict = |line: String| row(format!("final = 'restrict'\n{line}"));
    for (most, make) in [
        (
            CONTEXT_LEN_MAX,
            &(|n| row(format!("context = '{}'", "a".repeat(n)))) as &dyn Fn(usize) -> String,
        ),
        (REDIRECT_LEN_MAX, &|n| row(format!("final = 'redirect'\nredirect = '{}'", url(n)))),
        (FILTER_LEN_MAX, &|n| restrict(format!("filters = ['{}']", filter(n)))),
        (FILTER_ID_LEN_MAX, &|n| restrict(format!("filter_ids = ['{}']", "a".repeat(n)))),
        (FILTERS_MAX, &|n| restrict(format!("filters = [{}]", list(n)))),
        (FILTERS_MAX, &|n| restrict(format!("filter_ids = [{}]", vec!["'a'"; n].join(", ")))),
        (SUBSCRIBERS_MAX, &|n| {
            row((0..n)
                .map(|n| format!("[[subscribers]]\ntype = 'nai'\naccount = '{n}{{}}'\n"))
                .collect())
        }),
        (PATTERN_LEN_MAX, &|n| {
            row(format!("[[subscribers]]\ntype = 'nai'\naccount = '{:x<n$}'", "{}"))
        }),
    ] {
        table_of_row(&make(most)).expect("the most is allowed");
        let said = table_of_row(&make(most + 1)).expect_err("one more");
        assert!(said.contains(&most.to_string()) && said.len() < 300, "{said}");
    }
}

#[test]
fn a_table_of_too_many_rows_is_refused() {
    let row = |number| ServiceRow {
        rating_group: Some(number),
        mode: Some(Mode::Free),
        ..ServiceRow::default()
    };
    let mut rows: Vec<ServiceRow> = (0..).take(ROWS_MAX).map(row).collect();
    let unknown = UnknownSubscriber::default();
    ServiceTable::new(&rows, &[], unknown).expect("as many as allowed");
    rows.push(row(u32::MAX));
    let said = ServiceTable::new(&rows, &[], unknown).expect_err("one more").to_string();
    assert_eq!(said, "[[services]] has 4097 rows: at most 4096 are allowed");
    // A program may make a share that the settings file cannot have.
    let threshold = Some(Threshold::Percent(200));
    let measure = Some(MeasureKey::Time);
    let row = ServiceRow { threshold, measure, ..ServiceRow::default() };
    let said = ServiceTable::new(&[row], &[], unknown).expect_err("200").to_string();
    assert!(said.contains("`threshold`: \"200%\" is not allowed"), "{said}");
}
