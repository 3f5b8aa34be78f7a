//! Pins every number of the table of result codes, which is persisted and published.

use scurry_ledger::{Code, CodeKind};

#[test]
fn numbers_words_and_mappings_are_pinned() {
    let rows: Vec<String> = Code::ALL
        .iter()
        .map(|code| {
            let kind = match code.kind() {
                CodeKind::Success => "success",
                CodeKind::Denial => "denial",
                CodeKind::Reject => "reject",
            };
            let number = *code as u8;
            let (diameter, nchf, http) = (code.diameter(), code.nchf(), code.http());
            format!("{number} {} {kind} {diameter} {nchf} {http}\n", code.name())
        })
        .collect();
    expect_test::expect![[r#"
        10 INVALID reject 5004 MANDATORY_IE_INCORRECT 400
        20 UNKNOWN_ACCOUNT reject 5030 USER_UNKNOWN 404
        21 ACCOUNT_EXISTS reject 5012 CHARGING_FAILED 409
        30 UNKNOWN_SESSION reject 5002 CONTEXT_NOT_FOUND 404
        31 SESSION_EXISTS reject 5012 CHARGING_FAILED 409
        32 REQUEST_MISMATCH reject 5012 CHARGING_FAILED 422
        33 OUT_OF_WINDOW reject 5002 CONTEXT_NOT_FOUND 410
        34 VERSION_CONFLICT reject 5012 CHARGING_FAILED 412
        40 UNKNOWN_BUCKET reject 5012 CHARGING_FAILED 404
        41 BUCKET_EXPIRED reject 5012 CHARGING_FAILED 409
        42 UNKNOWN_TRANSACTION reject 5012 CHARGING_FAILED 404
        45 UNKNOWN_LIMIT reject 5012 CHARGING_FAILED 404
        43 NOT_EMPTY reject 5012 CHARGING_FAILED 409
        44 NOT_APPLICABLE reject 4011 CHARGING_NOT_APPLICABLE 409
        50 BUSY reject 5012 CHARGING_FAILED 503
        70 SERVICE_DENIED denial 4010 END_USER_REQUEST_DENIED 403
        80 CREDIT_LIMIT_REACHED denial 4012 QUOTA_LIMIT_REACHED 402
        82 CHAIN_DENIED denial 4012 QUOTA_LIMIT_REACHED 402
        60 OVERFLOW reject 5012 CHARGING_FAILED 422
        22 IDENTITY_EXISTS reject 5012 CHARGING_FAILED 409
        1 OK success 2001 SUCCESS 200
    "#]]
    .assert_eq(&rows.concat());
}

#[test]
fn a_number_finds_its_code_and_no_two_share_one() {
    for (index, code) in Code::ALL.iter().enumerate() {
        assert_eq!(Code::from_number(*code as u8), Some(*code));
        assert!(Code::ALL[..index].iter().all(|other| *other as u8 != *code as u8));
    }
    assert_eq!(Code::from_number(0), None);
}
