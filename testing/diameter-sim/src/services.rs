//! The table of services of a run: groups that are charged, one that is recorded only, and one that is free.

use scurry_service_table::{
    MeasureKey, Mode, ServiceRow, ServiceTable, SubscriberKind, SubscriberRow, UnknownSubscriber,
};

/// Rating groups that are charged. All others but the two below are charged too.
pub(crate) const GROUPS: [u32; 3] = [10, 11, NO_REFUNDS];
/// A group that is charged, to whose account nothing is refunded without a debit.
pub(crate) const NO_REFUNDS: u32 = 12;
/// A group that is recorded only.
pub(crate) const RECORDED: u32 = 20;
/// A group that is free.
pub(crate) const FREE: u32 = 30;
/// Octets for a client that does not say how many.
pub(crate) const GRANT: i64 = 900;
/// Kind of identity of numbers.
pub(crate) const NUMBER: &str = "msisdn";

/// Reports whether a rating group is charged.
pub(crate) fn is_charged(group: u32) -> bool {
    group != RECORDED && group != FREE
}

/// Makes the table. With a bug all groups are charged.
pub(crate) fn table(validity_s: u32, is_all_charged: bool) -> ServiceTable {
    let row = ServiceRow {
        context: Some("32251@".to_owned()),
        measure: Some(MeasureKey::Volume),
        grant: Some(GRANT),
        validity_s: Some(validity_s),
        refund_bucket: Some("main".to_owned()),
        ..ServiceRow::default()
    };
    let of_group = |group| ServiceRow { rating_group: Some(group), ..row.clone() };
    let mut rows = vec![row.clone(), ServiceRow { refund_bucket: None, ..of_group(NO_REFUNDS) }];
    if !is_all_charged {
        let mode =
            |group, mode| ServiceRow { mode: Some(mode), refund_bucket: None, ..of_group(group) };
        rows.push(mode(RECORDED, Mode::Record));
        rows.push(ServiceRow { grant: None, validity_s: None, ..mode(FREE, Mode::Free) });
    }
    let imsi = SubscriberRow {
        kind: SubscriberKind::Imsi,
        account: Some("imsi-{}".to_owned()),
        identity: None,
    };
    let number = SubscriberRow {
        kind: SubscriberKind::E164,
        account: None,
        identity: Some(NUMBER.to_owned()),
    };
    ServiceTable::new(&rows, &[imsi, number], UnknownSubscriber::default()).expect("a table")
}
