//! The probe of targets that only support two phases: hold an amount, then take part of it.

use anyhow::{Result, bail, ensure};
use scurry_ledger::Name;
use scurry_service::Request;

use crate::client::Client;
use crate::dialect::Dialect;
use crate::requests::{self, MAIN, SessionAt};
use crate::resp::Value;

const ACCOUNT: &[u8] = b"probe";
const UNIT: Name = Name::literal("probe");

/// Checks the rules on which the two phases depend.
///
/// # Errors
/// The first rule that the target breaks.
pub fn probe_two_phase(client: &mut Client, dialect: Dialect) -> Result<()> {
    let mut call = |request: &Request| client.call(&dialect.arguments(request));
    let at = |session: &'static str, number| SessionAt {
        account: ACCOUNT,
        session: session.as_bytes(),
        number,
        key: 1,
        unit: UNIT,
    };
    let create = requests::create(ACCOUNT, &[requests::bucket(MAIN, UNIT, 1_000, None)]);
    let audit = requests::audit(ACCOUNT);
    expect(&call(&create)?, "[OK, 1]", "an account is created")?;
    let reserved = call(&at("p1", 0).reserve(700))?;
    expect(&reserved, "[OK, 0, 0, [[1, OK, 700, 0, 0]]]", "an amount is set aside")?;
    balance(&call(&audit)?, [300, 700, 1000, 0])?;
    let refused = call(&at("p2", 0).reserve(400))?;
    let is_refused = refused.elements().first().and_then(Value::text) != Some("OK");
    ensure!(is_refused, "what the account does not cover is refused: RESERVE answers {refused}");
    let posted = call(&at("p1", 1).terminate(300))?;
    expect(&posted, "[OK, 0, 0, [[1, OK, 0, 0, 0]]]", "a part is taken")?;
    balance(&call(&audit)?, [700, 0, 1000, 300])?;
    call(&at("p3", 0).reserve(700))?;
    let voided = call(&at("p3", 1).terminate(0))?;
    expect(&voided, "[OK, 0, 0, [[1, OK, 0, 0, 0]]]", "all of it is given back")?;
    balance(&call(&audit)?, [700, 0, 1000, 300])?;
    match call(&at("p3", 2).terminate(0))? {
        Value::Error(_) => Ok(()),
        found => bail!("nothing is taken twice: TERMINATE answers {found}"),
    }
}

fn expect(found: &Value, expected: &str, rule: &str) -> Result<()> {
    ensure!(found.to_string() == expected, "{rule}: the answer is {found}, not {expected}");
    Ok(())
}

/// Checks available, held, credited and consumed units.
fn balance(audit: &Value, expected: [i64; 4]) -> Result<()> {
    let bucket = audit.entry("buckets").elements().first();
    let row = bucket.map(Value::elements).unwrap_or_default();
    // id, unit, available, held, credited, refunded, consumed
    let found = [2, 3, 4, 6].map(|index| row.get(index).and_then(Value::integer));
    ensure!(found == expected.map(Some), "the amounts are not {expected:?}: AUDIT answers {audit}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;
    use crate::resp::skip;

    const OK: &str = "*4\r\n+OK\r\n:0\r\n:0\r\n*1\r\n*5\r\n:1\r\n+OK\r\n:0\r\n:0\r\n:0\r\n";
    const DENIED: &str = "*4\r\n+NO\r\n:0\r\n:0\r\n*1\r\n*5\r\n:1\r\n+NO\r\n:0\r\n:0\r\n:0\r\n";

    fn granted(amount: i64) -> String {
        format!("*4\r\n+OK\r\n:0\r\n:0\r\n*1\r\n*5\r\n:1\r\n+OK\r\n:{amount}\r\n:0\r\n:0\r\n")
    }

    fn amounts(of: [i64; 4]) -> String {
        let [available, held, credited, consumed] = of;
        format!(
            "*2\r\n$7\r\nbuckets\r\n*1\r\n*7\r\n$4\r\nmain\r\n$5\r\nprobe\r\n:{available}\r\n:{held}\r\n\
             :{credited}\r\n:0\r\n:{consumed}\r\n"
        )
    }

    /// Returns the answers of a store that follows the rules.
    fn right() -> Vec<String> {
        vec![
            "*2\r\n+OK\r\n:1\r\n".to_owned(),
            granted(700),
            amounts([300, 700, 1000, 0]),
            DENIED.to_owned(),
            OK.to_owned(),
            amounts([700, 0, 1000, 300]),
            granted(700),
            OK.to_owned(),
            amounts([700, 0, 1000, 300]),
            "-ERR it is not there\r\n".to_owned(),
        ]
    }

    /// Returns the probe's verdict on a store that gives these answers, one after the other.
    fn verdict(replies: Vec<String>) -> Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let store = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut received = Vec::new();
            for reply in replies {
                while skip(&received).is_err() {
                    let mut bytes = [0; 512];
                    match stream.read(&mut bytes).unwrap() {
                        // The probe disconnects after it has found a broken rule.
                        0 => return,
                        count => received.extend_from_slice(&bytes[..count]),
                    }
                }
                received.clear();
                stream.write_all(reply.as_bytes()).unwrap();
            }
        });
        let found = probe_two_phase(&mut Client::connect(address).unwrap(), Dialect::Decided);
        store.join().unwrap();
        found
    }

    #[test]
    fn a_store_that_breaks_a_rule_of_two_phases_is_found() {
        verdict(right()).unwrap();
        for (at, answer, rule) in [
            (1, granted(600), "an amount is set aside"),
            (2, amounts([1000, 0, 1000, 0]), "the amounts are not [300, 700, 1000, 0]"),
            (3, granted(400), "what the account does not cover is refused"),
            (5, amounts([300, 0, 1000, 700]), "the amounts are not [700, 0, 1000, 300]"),
            (8, amounts([0, 700, 1000, 300]), "the amounts are not [700, 0, 1000, 300]"),
            (9, OK.to_owned(), "nothing is taken twice"),
        ] {
            let mut replies = right();
            replies[at] = answer;
            let error = verdict(replies).unwrap_err().to_string();
            assert!(error.contains(rule), "{rule}: {error}");
        }
    }
}
