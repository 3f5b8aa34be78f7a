//! Formats the facts of a Change. Text and JSON come from one definition.

use scurry_ledger::{
    Allowance, Answers, BucketTerms, Change, Cycle, Id, ItemAnswer, ItemAt, ItemKey, Limit,
    LimitSubject, Name, Op, PackedAnswer, Posting, SessionAt, Time, Tombstone, TombstoneKind,
    Transaction, Window, WindowEntry, Zone,
};
use serde_json::{Map, Value, json};

/// One fact: its name and its fields.
#[derive(Clone, Debug)]
pub(crate) struct Fact {
    name: &'static str,
    fields: Vec<(&'static str, Value)>,
}

type Fields = Vec<(&'static str, Value)>;

/// Returns the facts of a Change in their order.
pub(crate) fn facts(change: &Change) -> Vec<Fact> {
    change.ops.iter().map(fact).collect()
}

impl Fact {
    /// Formats it as text: `credit bucket=0 amount=500`.
    pub(crate) fn text(&self) -> String {
        let mut text = self.name.to_owned();
        for (name, value) in &self.fields {
            match value {
                Value::Null => {}
                Value::String(value) => text.push_str(&format!(" {name}={value}")),
                value => text.push_str(&format!(" {name}={value}")),
            }
        }
        text
    }

    /// Formats it as JSON: `{"fact": "credit", "bucket": 0, "amount": 500}`.
    pub(crate) fn json(&self) -> Value {
        let fields = self.fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
        let mut object: Map<String, Value> = fields.collect();
        object.insert("fact".to_owned(), json!(self.name));
        Value::Object(object)
    }
}

fn fact(op: &Op) -> Fact {
    let (name, fields) = match op {
        Op::Create(status) => ("create", vec![("status", json!(status.name()))]),
        Op::Delete => ("delete", vec![]),
        Op::SetStatus(status) => ("set-status", vec![("status", json!(status.name()))]),
        Op::SetIdentity { kind, value } => {
            ("set-identity", vec![("kind", name(kind)), ("value", id(value))])
        }
        Op::AddBucket { id, unit, terms: of } => {
            let named = vec![("id", name(id)), ("unit", name(unit))];
            ("add-bucket", [named, terms(of)].concat())
        }
        Op::SetBucket { bucket, terms: of } => {
            ("set-bucket", [vec![("bucket", json!(bucket.0))], terms(of)].concat())
        }
        Op::RemoveBucket { bucket, named } => {
            let number = ("bucket", json!(bucket.0));
            let named =
                named.iter().flat_map(|(id, unit)| [("id", name(id)), ("unit", name(unit))]);
            ("remove-bucket", std::iter::once(number).chain(named).collect())
        }
        Op::Credit(of) => ("credit", posting(of)),
        Op::Void(of) => ("void", posting(of)),
        Op::Refund(of) => ("refund", posting(of)),
        Op::RefundExpired(of) => ("refund-expired", posting(of)),
        Op::Debit(of) => ("debit", posting(of)),
        Op::Overdraw(of) => ("overdraw", posting(of)),
        Op::Expire(of) => ("expire", posting(of)),
        Op::SetAllowance(of) => ("set-allowance", allowance(of)),
        Op::EndAllowance(bucket) => ("end-allowance", vec![("bucket", json!(bucket.0))]),
        Op::SetBucketKeys(of) => {
            let keys: Vec<String> = of.keys.iter().map(ToString::to_string).collect();
            ("set-bucket-items", vec![("bucket", json!(of.bucket.0)), ("items", json!(keys))])
        }
        Op::BeginPeriod { bucket, period_start, carried } => {
            let start = ("period_start_ms", time(*period_start));
            let carried = ("carried", json!(carried));
            ("begin-period", vec![("bucket", json!(bucket.0)), start, carried])
        }
        Op::SetCounter { id, unit, cycle, period_start, value } => (
            "set-counter",
            [
                vec![
                    ("id", name(id)),
                    ("unit", name(unit)),
                    ("period", json!(cycle.period.to_string())),
                ],
                if cycle.zone == Zone::UTC { Vec::new() } else { clock(*cycle, "offset_minutes") },
                vec![("period_start_ms", time(*period_start)), ("value", json!(value))],
            ]
            .concat(),
        ),
        Op::NameSession(of) => ("name-session", vec![("id", id(of))]),
        Op::OpenSession { id: of, terms } => {
            let kind = if terms.transfer { "transfer" } else { "charging" };
            let terms = [("kind", json!(kind)), ("overrun", json!(terms.overrun.name()))];
            ("open-session", [vec![("id", id(of))], terms.to_vec()].concat())
        }
        Op::AddItem { session: at, key, unit } => {
            ("add-item", vec![session(*at), ("key", item_key(*key)), ("unit", name(unit))])
        }
        Op::Hold(at, of) => ("hold", on_item(*at, of)),
        Op::Grant { at, amount, request } => {
            let grant = vec![("amount", json!(amount)), ("request", json!(request))];
            ("grant", [item(*at), grant].concat())
        }
        Op::FallShort(at, standing) => {
            ("fall-short", [item(*at), vec![("standing", json!(standing.name()))]].concat())
        }
        Op::Settle(at, of) => ("settle", on_item(*at, of)),
        Op::Release(at, of) => ("release", on_item(*at, of)),
        Op::ReleaseExpired(at, of) => ("release-expired", on_item(*at, of)),
        Op::Use { at, used, direct, uncollected } => {
            let used = [("used", used), ("direct", direct), ("uncollected", uncollected)];
            let used = used.map(|(name, amount)| (name, json!(amount)));
            ("use", [item(*at), used.to_vec()].concat())
        }
        Op::Supervise { session: at, validity_ms, tcc_ms, deadline } => (
            "supervise",
            vec![
                session(*at),
                ("validity_ms", json!(validity_ms)),
                ("tcc_ms", json!(tcc_ms)),
                ("deadline_ms", time(*deadline)),
            ],
        ),
        Op::SetBlob(at, blob) => {
            ("set-blob", vec![session(*at), ("blob", json!(blob.escape_ascii().to_string()))])
        }
        Op::StoreAnswer { session: at, answer: of, answers_max: _ } => {
            ("store-answer", [vec![session(*at)], answer(of)].concat())
        }
        Op::CloseSession(at) => ("close-session", vec![session(*at)]),
        Op::StoreTombstone(of) => ("bury", tombstone(of)),
        Op::Remember(of) => ("remember", transaction(of)),
        Op::NoteRefund { debit, item, posting: of } => {
            let named = vec![("debit", id(debit)), ("item", json!(item))];
            ("note-refund", [named, posting(of)].concat())
        }
        Op::Forget => ("forget", vec![]),
        Op::SetLimit(of) => ("set-limit", limit(of)),
        Op::RemoveLimit(of) => ("remove-limit", vec![("id", name(of))]),
        Op::BeginLimitPeriod { limit: at, start } => {
            ("begin-limit-period", vec![("limit", json!(at.0)), ("start_ms", time(*start))])
        }
        Op::CountUse { limit: at, used, overrun } => (
            "count-use",
            vec![("limit", json!(at.0)), ("used", json!(used)), ("overrun", json!(overrun))],
        ),
        Op::UncountUse { limit: at, part, amount } => (
            "uncount-use",
            vec![("limit", json!(at.0)), ("part", json!(part)), ("amount", json!(amount))],
        ),
        Op::ReachThreshold { limit: of, percent, used, amount } => (
            "reach-threshold",
            vec![
                ("limit", name(of)),
                ("percent", json!(percent)),
                ("used", json!(used)),
                ("amount", json!(amount)),
            ],
        ),
        Op::CrossMark { bucket, mark, is_below } => (
            if *is_below { "below-mark" } else { "above-mark" },
            vec![("bucket", json!(bucket.0)), ("mark", json!(mark))],
        ),
        Op::LateUse { key, unit, used, uncollected } => (
            "late-use",
            vec![
                ("key", item_key(*key)),
                ("unit", name(unit)),
                ("used", json!(used)),
                ("uncollected", json!(uncollected)),
            ],
        ),
        Op::NoteLate(late) => {
            let of = vec![("id", id(&late.session)), ("forget_at_ms", time(late.forget_at))];
            ("note-late", [of, answer(&late.answer)].concat())
        }
        Op::Transit(change) => {
            ("transit", vec![("unit", name(&change.unit)), ("amount", json!(change.amount))])
        }
        Op::KeepIdentity { kind, value, forget_at } => (
            "keep-identity",
            vec![("kind", name(kind)), ("value", id(value)), ("forget_at_ms", time(*forget_at))],
        ),
        Op::ForgetIdentity { kind, value } => {
            ("forget-identity", vec![("kind", name(kind)), ("value", id(value))])
        }
        Op::ForgetReceipt(of) => ("forget-receipt", vec![("id", id(of))]),
        Op::NameItem { at, key, unit } => {
            ("name-item", [item(*at), vec![("key", item_key(*key)), ("unit", name(unit))]].concat())
        }
        Op::NameKey(key) => ("name-key", vec![("key", item_key(*key))]),
        Op::NameBlob(at, blob) => {
            ("name-blob", vec![session(*at), ("blob", json!(blob.escape_ascii().to_string()))])
        }
        Op::NameIdentities(all) => {
            let each = all.iter().map(|of| json!({"kind": name(&of.kind), "value": id(&of.value)}));
            ("name-identities", vec![("identities", each.collect())])
        }
        Op::Deny(denial) => (
            "deny",
            vec![
                ("key", denial.item.map_or(Value::Null, item_key)),
                ("unit", name(&denial.unit)),
                ("requested", json!(denial.requested)),
                ("code", json!(denial.code.name())),
                ("cause", json!(scurry_resp::cause_text(denial.cause))),
                ("left_out", json!(denial.left_out)),
            ],
        ),
    };
    Fact { name, fields }
}

fn name(name: &Name) -> Value {
    json!(name.as_str())
}

fn id(id: &Id) -> Value {
    json!(id.as_bytes().escape_ascii().to_string())
}

fn time(time: Time) -> Value {
    json!(time.0)
}

fn session(at: SessionAt) -> (&'static str, Value) {
    ("session", json!(at.0))
}

fn item_key(key: ItemKey) -> Value {
    match key {
        ItemKey::Number(key) => json!(key),
        ItemKey::Id(id) => json!(id.as_str()),
    }
}

fn item(at: ItemAt) -> Fields {
    vec![session(at.session), ("item", json!(at.item))]
}

fn posting(posting: &Posting) -> Fields {
    vec![("bucket", json!(posting.bucket.0)), ("amount", json!(posting.amount))]
}

fn on_item(at: ItemAt, of: &Posting) -> Fields {
    [item(at), posting(of)].concat()
}

fn terms(terms: &BucketTerms) -> Fields {
    vec![
        ("priority", json!(terms.priority)),
        ("valid_from_ms", time(terms.valid_from)),
        ("valid_to_ms", json!(terms.valid_to.map(|time| time.0))),
        ("floor", json!(terms.floor)),
        ("mark", json!(terms.mark)),
    ]
}

fn allowance(of: &Allowance) -> Fields {
    let head = vec![("bucket", json!(of.bucket.0)), ("period", json!(of.cycle.period.to_string()))];
    let amount = vec![("amount", json!(of.amount)), ("period_start_ms", time(of.period_start))];
    let debt = json!(of.debt.word());
    let terms = vec![("rollover", json!(of.rollover)), ("debt", debt), ("owed", json!(of.owed))];
    let terms = if of.has_terms() { terms } else { Vec::new() };
    [head, clock(of.cycle, "offset_minutes"), amount, terms].concat()
}

fn limit(limit: &Limit) -> Fields {
    let (unit, item) = match limit.counted {
        LimitSubject::Sessions => (Value::Null, Value::Null),
        LimitSubject::Units { unit, item } => (name(&unit), item.map_or(Value::Null, item_key)),
    };
    let head = vec![
        ("id", name(&limit.id)),
        ("unit", unit),
        ("item", item),
        ("amount", json!(limit.amount)),
        ("period", json!(limit.window.to_string())),
    ];
    let rest = vec![
        ("period_start_ms", time(limit.period_start)),
        ("since", json!(limit.since)),
        ("used", json!(limit.used)),
        ("overrun", json!(limit.overrun)),
        ("held", json!(limit.held)),
        ("told", json!(limit.told)),
    ];
    let of_window = match limit.window {
        Window::Period(cycle) => clock(cycle, "offset"),
        Window::Rolling(_) => Vec::new(),
        Window::Rate { .. } => {
            vec![("burst", json!(limit.most())), ("drained", json!(limit.drained))]
        }
    };
    [head, of_window, rest].concat()
}

/// Returns the zone of a cycle, minutes under this name or a zone's name, and its begin if that is not the usual one.
fn clock(cycle: Cycle, minutes: &'static str) -> Fields {
    let zone = match cycle.zone {
        Zone::Fixed(offset) => (minutes, json!(offset)),
        Zone::Named(zone) => ("zone", json!(zone.name())),
    };
    let begin = cycle.given_begin().map(|begin| match begin {
        Cycle::FIRST_USE => ("begin", json!(Cycle::FIRST_USE_WORD)),
        begin => ("begin", json!(begin)),
    });
    std::iter::once(zone).chain(begin).collect()
}

fn answer(packed: &PackedAnswer) -> Fields {
    let mut answers = Answers::default();
    answers.load(packed.as_bytes());
    let Some(request) = answers.last() else { return Vec::new() };
    let WindowEntry::Stored(stored) = answers.look_up(request, 1, 1) else { return Vec::new() };
    vec![
        ("request", json!(stored.request.number)),
        ("kind", json!(stored.request.kind.name())),
        ("code", json!(stored.code.name())),
        ("version", json!(stored.version)),
        ("granted", granted(&stored.items)),
    ]
}

/// Returns the granted units of each item of a request.
fn granted(items: &[ItemAnswer]) -> Value {
    items.iter().map(|item| json!(item.granted)).collect()
}

fn tombstone(tombstone: &Tombstone) -> Fields {
    let how = match &tombstone.kind {
        TombstoneKind::Expired => vec![("ended", json!("expired"))],
        TombstoneKind::Released => vec![("ended", json!("released"))],
        TombstoneKind::Answered { request, digest: _, code, items } => vec![
            ("ended", json!("answered")),
            ("request", json!(request.number)),
            ("kind", json!(request.kind.name())),
            ("code", json!(code.name())),
            ("granted", granted(items)),
        ],
        TombstoneKind::Unknown => vec![("ended", json!("unknown"))],
        TombstoneKind::Returned { digest: _, refusal } => {
            vec![("ended", json!("returned")), ("refusal", json!(refusal.name()))]
        }
    };
    [vec![("id", id(&tombstone.id)), ("forget_at_ms", time(tombstone.forget_at))], how].concat()
}

fn transaction(transaction: &Transaction) -> Fields {
    vec![
        ("id", id(&transaction.id)),
        ("forget_at_ms", time(transaction.forget_at)),
        ("code", json!(transaction.code.name())),
        ("version", json!(transaction.version)),
        ("amount", json!(transaction.amount)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_ledger::{BucketNo, Cause, Code, Final, RequestKind, RequestName, StoredAnswer};

    #[test]
    fn a_fact_reads_the_same_for_people_and_machines() {
        let stored = StoredAnswer {
            request: RequestName { number: 7, kind: RequestKind::Update },
            digest: 1,
            code: Code::Ok,
            version: 3,
            items: [ItemAnswer {
                code: Code::Ok,
                granted: 40,
                last: Final::No,
                uncollected: 0,
                cause: Cause::None,
            }]
            .into(),
        };
        let at = ItemAt { session: SessionAt(2), item: 1 };
        let ops = vec![
            Op::Hold(at, Posting { bucket: BucketNo(5), amount: 40 }),
            Op::StoreAnswer {
                session: SessionAt(2),
                answer: PackedAnswer::new(&stored),
                answers_max: 8,
            },
            Op::SetBlob(SessionAt(2), b"a\nb".to_vec()),
        ];
        let facts = facts(&Change { at: Time(0), ops });
        let texts: Vec<String> = facts.iter().map(Fact::text).collect();
        assert_eq!(
            texts,
            [
                "hold session=2 item=1 bucket=5 amount=40",
                "store-answer session=2 request=7 kind=update code=OK version=3 granted=[40]",
                "set-blob session=2 blob=a\\nb",
            ]
        );
        let object = json!({"fact": "hold", "session": 2, "item": 1, "bucket": 5, "amount": 40});
        assert_eq!(facts[0].json(), object);
    }
}
