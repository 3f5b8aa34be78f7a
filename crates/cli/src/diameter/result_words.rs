//! What a Result-Code means: of this server in the words of docs/diameter.md, of others by its name in the RFCs.

/// What this server means by some codes, and the cure. A row of the table in docs/diameter.md.
pub(super) struct ResultWords {
    codes: &'static [u32],
    pub(super) when: &'static str,
    /// Empty where nothing is to be cured.
    pub(super) cure: &'static str,
}

const fn row(codes: &'static [u32], when: &'static str, cure: &'static str) -> ResultWords {
    ResultWords { codes, when, cure }
}

const TABLE: [ResultWords; 21] = [
    row(&[2001], "done; each service has its own code", ""),
    row(&[3002, 3003], "another Destination-Host or realm", "`origin_host`, `realms`"),
    row(
        &[3004],
        "the store does not answer, or the door ends",
        "send it again, to another door: it is charged once",
    ),
    row(
        &[3010],
        "the peer is not in `[[diameter.peers]]`, or comes from another realm or address",
        "add it",
    ),
    row(
        &[4003],
        "another connection of this Origin-Host is open",
        "give each client its own Origin-Host",
    ),
    row(&[4010], "the account is suspended", "`SCUR.STATUS`"),
    row(
        &[4011],
        "the service is free, or recorded only; a refund of more than is left of its debit",
        "",
    ),
    row(
        &[4012],
        "not enough credit, also where a service gets nothing",
        "top up; the next CCR-U of an open session asks again",
    ),
    row(&[5001], "an AVP with the M flag is not known", "Failed-AVP names it"),
    row(
        &[5002],
        "the session has ended, or never began, or has answered more than 8 later requests",
        "the client begins another",
    ),
    row(
        &[5003],
        "the certificate is not for the peer's name, or the subscriber is unknown",
        "`certificate` of the peer, `unknown_subscriber`",
    ),
    row(
        &[5004],
        "a value is out of range, for instance money that is no whole number of minor units, or units of a CCR-E that are 0 or of another kind than the service's",
        "Failed-AVP names it",
    ),
    row(
        &[5005],
        "an AVP is missing, for instance the units of one service of a refund whose others have theirs",
        "Failed-AVP names it",
    ),
    row(
        &[5007],
        "units within and outside of services; in a CCR-E use beside a request for units",
        "Failed-AVP names it",
    ),
    row(&[5008], "a CCR-I reports use", ""),
    row(&[5009], "an AVP is there too often; more than 64 services", "Failed-AVP names it"),
    row(
        &[5012],
        "a number or a Session-Id was used again for another request, an account's bound is reached, several accounts have the identity, or a refund has no bucket",
        "Error-Message says which",
    ),
    row(&[5015], "the message is above 64 KiB", ""),
    row(&[5017], "the peer needs TLS", "connect to `tls_listen`"),
    row(&[5030], "the subscriber has no account", "`[[subscribers]]`, `SCUR.CREATE`"),
    row(&[5031], "no row of the table is for the service; price enquiry", "`--explain`"),
];

/// Names of codes in RFC 6733, 7.1, and RFC 8506, 9, without `DIAMETER_`.
const NAMES: [(u32, &str); 35] = [
    (2001, "SUCCESS"),
    (2002, "LIMITED_SUCCESS"),
    (3001, "COMMAND_UNSUPPORTED"),
    (3002, "UNABLE_TO_DELIVER"),
    (3003, "REALM_NOT_SERVED"),
    (3004, "TOO_BUSY"),
    (3005, "LOOP_DETECTED"),
    (3006, "REDIRECT_INDICATION"),
    (3007, "APPLICATION_UNSUPPORTED"),
    (3008, "INVALID_HDR_BITS"),
    (3009, "INVALID_AVP_BITS"),
    (3010, "UNKNOWN_PEER"),
    (4001, "AUTHENTICATION_REJECTED"),
    (4002, "OUT_OF_SPACE"),
    (4003, "ELECTION_LOST"),
    (4010, "END_USER_SERVICE_DENIED"),
    (4011, "CREDIT_CONTROL_NOT_APPLICABLE"),
    (4012, "CREDIT_LIMIT_REACHED"),
    (5001, "AVP_UNSUPPORTED"),
    (5002, "UNKNOWN_SESSION_ID"),
    (5003, "AUTHORIZATION_REJECTED"),
    (5004, "INVALID_AVP_VALUE"),
    (5005, "MISSING_AVP"),
    (5006, "RESOURCES_EXCEEDED"),
    (5007, "CONTRADICTING_AVPS"),
    (5008, "AVP_NOT_ALLOWED"),
    (5009, "AVP_OCCURS_TOO_MANY_TIMES"),
    (5010, "NO_COMMON_APPLICATION"),
    (5011, "UNSUPPORTED_VERSION"),
    (5012, "UNABLE_TO_COMPLY"),
    (5014, "INVALID_AVP_LENGTH"),
    (5015, "INVALID_MESSAGE_LENGTH"),
    (5017, "NO_COMMON_SECURITY"),
    (5030, "USER_UNKNOWN"),
    (5031, "RATING_FAILED"),
];

/// Returns what this server means by a code.
pub(super) fn of_scurry(code: u32) -> Option<&'static ResultWords> {
    TABLE.iter().find(|row| row.codes.contains(&code))
}

/// Returns the name of a code in the RFCs, or its class.
pub(super) fn name(code: u32) -> &'static str {
    let known = NAMES.iter().find(|(known, _)| *known == code).map(|(_, name)| *name);
    known.unwrap_or(match code / 1000 {
        1 => "informational",
        2 => "a success",
        3 => "a protocol error",
        4 => "a transient failure",
        5 => "a permanent failure",
        _ => "no code of Diameter",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_says_the_same() {
        let text = include_str!("../../../../docs/diameter.md");
        let table = text.split_once("\n## Result codes\n").expect("a section").1;
        let rows = table.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
        let rows = rows.take_while(|line| line.starts_with('|'));
        let mut count = 0;
        for (row, line) in TABLE.iter().zip(rows.clone()) {
            let codes: Vec<String> = row.codes.iter().map(u32::to_string).collect();
            let expected = format!("| {} | {} | {} |", codes.join(", "), row.when, row.cure);
            assert_eq!(line.replace("|  |", "| |"), expected.replace("|  |", "| |"));
            count += 1;
        }
        assert_eq!((count, rows.count()), (TABLE.len(), TABLE.len()));
    }

    #[test]
    fn a_code_has_a_name_or_a_class() {
        for (code, expected) in
            [(3010, "UNKNOWN_PEER"), (5999, "a permanent failure"), (9, "no code of Diameter")]
        {
            assert_eq!(name(code), expected);
        }
    }
}
