//! Regenerates the binary seeds: the images of the accounts that the seeds of the commands leave, and Changes, frames
//! and chunks of a short life.

use scurry_codec::{
    ChunkWriter, FrameWriter, Positions, Seal, SnapshotEntry, encode_account, encode_change,
};
use scurry_diameter::ccr::{
    Money, RequestHead, RequestType, RequestWriter, RequestedAction, Service, SubscriptionId,
    SubscriptionKind, Units, UsedUnits,
};
use scurry_diameter::{Attribute, MessageIds, Origin, ServerAction, ServerRequest};
use scurry_fuzz::frame::LOG_ID;
use scurry_ledger::{
    Account, Change, Command, Create, Decision, ItemRequest, Limits, Name, NewBucket,
    SessionRequest, Time, decide_in_place,
};
use std::path::Path;

const BEGIN: i64 = 1_700_000_000_000;

fn main() -> std::io::Result<()> {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    for entry in seeds.join("commands").read_dir()? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let images = scurry_fuzz::commands::images(&std::fs::read(&path)?);
        for (number, image) in images.iter().enumerate() {
            std::fs::write(seeds.join("image").join(format!("{name}-{number}.bin")), image)?;
        }
    }
    let life = life();
    for (name, change, _) in &life {
        let mut bytes = Vec::new();
        encode_change(change, &mut bytes);
        std::fs::write(seeds.join("change").join(format!("{name}.bin")), bytes)?;
    }
    for (name, bytes) in frames(&life) {
        std::fs::write(seeds.join("frame").join(format!("{name}.bin")), bytes)?;
    }
    for (name, bytes) in chunks(&life) {
        std::fs::write(seeds.join("chunk").join(format!("{name}.bin")), bytes)?;
    }
    for (name, bytes) in diameter_messages() {
        std::fs::write(seeds.join("diameter-message").join(format!("{name}.bin")), bytes)?;
    }
    Ok(())
}

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).expect("a name")
}

/// Returns the Changes of one account, and the account after each.
fn life() -> Vec<(&'static str, Change, Option<Account>)> {
    let unit = name("octets");
    let bucket =
        |id, amount| NewBucket { bucket: name(id), unit, amount, attributes: Default::default() };
    let (buckets, identities) =
        ([bucket("main", 900), bucket("gift", 90)], [(name("sip"), &b"a@b"[..])]);
    let item = ItemRequest { key: 1.into(), unit, used: None, requested: Some(100), min: None };
    let (asked, used) = ([item], [ItemRequest { used: Some(70), ..item }]);
    let last = [ItemRequest { requested: None, ..used[0] }];
    let request = |request, items| SessionRequest {
        session: b"s-1",
        request,
        blob: Some(b"blob"),
        items,
        ..SessionRequest::default()
    };
    let create = Create { identities: &identities, ..Create::active(&buckets) };
    let commands = [
        ("create", Command::Create(create)),
        ("reserve", Command::Reserve(request(0, &asked))),
        ("update", Command::Update(request(1, &used))),
        ("debit", Command::Debit { txn: b"t1", unit, amount: 100 }),
        ("refund", Command::Refund { txn: b"t2", debit: b"t1", amount: Some(5), carry: true }),
        ("terminate", Command::Terminate(SessionRequest { blob: None, ..request(2, &last) })),
    ];
    let (mut account, mut life, mut now) = (None, Vec::new(), BEGIN);
    for (name, command) in commands {
        now += 1_000;
        match decide_in_place(&mut account, &command, Time(now), &Limits::default()) {
            Decision::Commit(change, _) => life.push((name, change, account.clone())),
            other => panic!("{name}: {other:?}"),
        }
    }
    life
}

fn frames(life: &[(&str, Change, Option<Account>)]) -> Vec<(&'static str, Vec<u8>)> {
    let mut writer = FrameWriter::new(Seal::new(crc32c::crc32c_append, LOG_ID), 1);
    let (mut frames, at) = (Vec::new(), Time(BEGIN));
    let mut sealed = |writer: &mut FrameWriter, name| {
        writer.seal(0, at);
        let mut bytes = Vec::new();
        writer.take_sealed(&mut bytes);
        frames.push((name, bytes));
    };
    for (_, change, account) in life {
        writer.account(b"15550100", change, account.as_ref());
    }
    sealed(&mut writer, "accounts");
    writer.value(b"key", Some(at), b"value");
    writer.append(b"key", b"tail");
    writer.expiry(b"key", None);
    writer.remove(b"key");
    writer.entity(b"entity", 3, Some(at), b"value");
    writer.tombstone(b"entity", 4, at);
    writer.clear();
    sealed(&mut writer, "plain");
    sealed(&mut writer, "mark");
    frames
}

fn chunks(life: &[(&str, Change, Option<Account>)]) -> Vec<(&'static str, Vec<u8>)> {
    let mut writer = ChunkWriter::new(Seal::new(crc32c::crc32c_append, LOG_ID));
    let (mut chunks, at) = (Vec::new(), Time(BEGIN));
    let mut sealed = |writer: &mut ChunkWriter, name| {
        writer.seal(Positions { from: 0, to: 0 }, 9);
        let mut bytes = Vec::new();
        writer.take_sealed(&mut bytes);
        chunks.push((name, bytes));
    };
    for account in life.iter().filter_map(|(_, _, account)| account.as_ref()).skip(3).take(2) {
        let mut image = Vec::new();
        encode_account(account, &mut image);
        writer.entry(&SnapshotEntry::Account { id: b"15550100", image: &image });
    }
    sealed(&mut writer, "accounts");
    writer.entry(&SnapshotEntry::Value { key: b"key", expires: Some(at), value: b"value" });
    writer.entry(&SnapshotEntry::Entity {
        key: b"entity",
        version: 3,
        expires: None,
        value: b"value",
    });
    writer.entry(&SnapshotEntry::Tombstone { key: b"gone", version: 4, forget_at: at });
    sealed(&mut writer, "plain");
    sealed(&mut writer, "empty");
    chunks
}

/// Returns a Diameter request of each kind.
fn diameter_messages() -> Vec<(&'static str, Vec<u8>)> {
    let ids = MessageIds { hop_by_hop: 1, end_to_end: 2 };
    let request = |request_type, write: fn(&mut RequestWriter<'_>)| {
        let head = RequestHead {
            session_id: "gw;1;2",
            origin_host: "gw.example",
            origin_realm: "example",
            destination_realm: "example",
            service_context_id: "32251@3gpp.org",
            request_type,
            request_number: 3,
        };
        let mut out = Vec::new();
        let mut writer = RequestWriter::begin(&mut out, ids, &head);
        write(&mut writer);
        writer.finish();
        out
    };
    let initial = request(RequestType::Initial, |request| {
        request.subscription(&SubscriptionId { kind: SubscriptionKind::E164, data: "15550100" });
        request.event_time(BEGIN / 1_000);
        request.service(&Service { requested: Some(Units::default()), ..Service::default() });
    });
    let update = request(RequestType::Update, |request| {
        let money = Money { digits: -7, exponent: -2, currency: Some(978) };
        let units = Units { total_octets: Some(9), money: Some(money), ..Units::default() };
        let used = UsedUnits { units, tariff_change_usage: Some(1), reporting_reason: Some(2) };
        let mut service = Service {
            used: &[used, used],
            identifiers: &[4, 5],
            rating_group: Some(6),
            refund_information: b"ref",
            ..Service::default()
        };
        service.triggers.add(3);
        request.service(&service);
        request.service(&Service { rating_group: Some(7), ..Service::default() });
        for code in [284, 282, 284, 260, 659] {
            request
                .writer()
                .bytes(Attribute::base(code), &[0, 0, 1, 2, 0x40, 0, 0, 12, 0, 0, 0, 4]);
        }
        request.writer().bytes(Attribute::tgpp(873), b"");
    });
    let event = request(RequestType::Event, |request| {
        request.action(RequestedAction::DirectDebiting);
        let units = Units { service_specific: Some(1), ..Units::default() };
        request.outside(&Service { requested: Some(units), ..Service::default() });
    });
    let mut re_auth = Vec::new();
    let action = ServerAction::ReAuth { rating_group: Some(6), identifier: None };
    let session = ServerRequest {
        session_id: "gw;1;2",
        destination_host: "gw.example",
        destination_realm: "example",
        action,
    };
    session.write(&mut re_auth, ids, &Origin::new("ocs.example", "example", Some(1)));
    vec![("initial", initial), ("update", update), ("event", event), ("re-auth", re_auth)]
}
