//! Joins the replies of a store's servers to a read, where each server answers for its own accounts.

use redis::Value;
use scurry_cluster_client::decode_store;
use scurry_resp::FIND_MAX;
use scurry_service::{CallError, FoundAccounts, StoreRead, StoreReply};

/// Returns the reply of the whole store. A server that refuses makes it a refusal.
pub(crate) fn join(read: &StoreRead, replies: &[Value]) -> Result<StoreReply, CallError> {
    let refusal = replies.iter().find(|reply| matches!(reply, Value::ServerError(_)));
    let replies = refusal.map_or(replies, std::slice::from_ref).iter();
    let mut parts = replies.map(|reply| decode_store(read, reply));
    let mut all = parts.next().ok_or(CallError::WrongShape)??;
    for part in parts {
        match (&mut all, part?) {
            (StoreReply::Totals(all), StoreReply::Totals(part)) => all.add(&part),
            (StoreReply::Found(all), StoreReply::Found(part))
                if matches!(read, StoreRead::Find { session: Some(_), .. }) =>
            {
                closest(all, part);
            }
            (StoreReply::Found(all), StoreReply::Found(part)) => {
                all.accounts.extend(part.accounts);
                all.more |= part.more;
            }
            _ => return Err(CallError::WrongShape),
        }
    }
    if let StoreReply::Found(found) = &mut all {
        // Each server returns FIND_MAX accounts at most, but together they may return more.
        found.more |= found.accounts.len() > FIND_MAX;
        found.accounts.truncate(FIND_MAX);
    }
    Ok(all)
}

/// Keeps of the accounts that two servers found for a session the one to which it belongs.
fn closest(all: &mut FoundAccounts, part: FoundAccounts) {
    let known = all.holder.zip(all.accounts.first());
    let other = part.holder.zip(part.accounts.first());
    if other.is_some_and(|other| known.is_none_or(|known| other < known)) {
        *all = part;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_ledger::{Id, Name};

    fn text(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    fn totals(unit: &str, sums: [i128; 10]) -> Value {
        let number = |sum: i128| match i64::try_from(sum) {
            Ok(number) => Value::Int(number),
            Err(_) => text(&sum.to_string()),
        };
        let row = std::iter::once(text(unit)).chain(sums.map(number)).collect();
        Value::Array(vec![
            text("accounts"),
            Value::Int(2),
            text("sessions"),
            Value::Int(1),
            text("units"),
            Value::Array(vec![Value::Array(row)]),
        ])
    }

    fn found(more: bool, ids: std::ops::Range<usize>) -> Value {
        let ids = ids.map(|number| text(&format!("a{number}"))).collect();
        Value::Array(vec![Value::Int(more.into()), Value::Array(ids)])
    }

    #[test]
    fn totals_of_servers_are_added_up_beyond_64_bits() {
        let most = i128::from(i64::MAX);
        let sums = [most, 0, 2 * most, 5, 20, 10, 5, 1, 2, 0];
        let replies = [totals("cent", sums), totals("octet", sums), totals("cent", sums)];
        let StoreReply::Totals(all) = join(&StoreRead::Totals, &replies).expect("totals") else {
            panic!("it has another shape");
        };
        assert_eq!((all.accounts, all.sessions, all.units.len()), (6, 3, 2));
        assert_eq!((all.units[0].available, all.units[0].credited), (2 * most, 4 * most));
        assert_eq!((all.units[0].uncollected, all.units[1].uncollected), (4, 2));
    }

    #[test]
    fn accounts_of_servers_are_found_together_up_to_the_bound() {
        let kind = Name::new(b"k").expect("a name");
        let value = Id::new(b"v").expect("an id");
        let read = StoreRead::Find { kind, value, session: None };
        let joined = |replies: &[Value]| match join(&read, replies).expect("accounts") {
            StoreReply::Found(found) => (found.accounts.len(), found.more),
            other => panic!("{other:?}"),
        };
        assert_eq!(joined(&[found(false, 0..1), found(false, 1..3)]), (3, false));
        assert_eq!(joined(&[found(false, 0..9), found(false, 9..FIND_MAX)]), (FIND_MAX, false));
        assert_eq!(joined(&[found(false, 0..9), found(false, 9..20)]), (FIND_MAX, true));
        assert_eq!(joined(&[found(true, 0..1), found(false, 1..2)]), (2, true));
    }

    #[test]
    fn the_account_of_a_session_is_the_closest_of_those_that_servers_found() {
        let value = Id::new(b"v").expect("an id");
        let kind = Name::new(b"k").expect("a name");
        let read = StoreRead::Find { kind, session: Some(value.clone()), value };
        let holder = |id, standing: &str, given_up_at: Option<i64>| {
            let time = given_up_at.map_or(Value::Nil, Value::Int);
            let one = Value::Array(vec![text(id)]);
            Value::Array(vec![Value::Int(0), one, Value::SimpleString(standing.to_string()), time])
        };
        let closest = |replies: &[Value]| match join(&read, replies).expect("accounts") {
            StoreReply::Found(found) => {
                assert!(found.accounts.len() <= 1 && !found.more, "{found:?}");
                String::from_utf8(found.accounts.concat()).expect("ASCII")
            }
            other => panic!("{other:?}"),
        };
        let (none, present) = (found(false, 0..0), holder("b", "present", None));
        let (former, later) = (holder("c", "former", Some(5)), holder("d", "former", Some(6)));
        let open = holder("e", "open", Some(4));
        assert_eq!(closest(&[none.clone(), none.clone()]), "");
        assert_eq!(closest(&[none.clone(), present.clone()]), "b");
        assert_eq!(closest(&[present.clone(), former.clone(), none.clone()]), "c");
        assert_eq!(closest(&[later.clone(), former, present.clone()]), "d");
        assert_eq!(closest(&[later, open, present, none]), "e");
    }

    #[test]
    fn one_refusal_and_one_foreign_reply_are_errors() {
        let refusal = redis::parse_redis_value(b"-NOPERM no\r\n").expect("an error");
        let whole = totals("cent", [0; 10]);
        let refused = join(&StoreRead::Totals, &[whole.clone(), Value::Nil, refusal]);
        assert!(matches!(refused, Err(CallError::Refused(_))), "{refused:?}");
        for replies in [&[whole, Value::Nil][..], &[]] {
            assert_eq!(join(&StoreRead::Totals, replies), Err(CallError::WrongShape));
        }
    }
}
