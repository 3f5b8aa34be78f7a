//! The SMF of free5GC, played over HTTP/2 with prior knowledge as its code of 2026 behaves: every number is 0, charging ids count from
//! 1 after each start, a Create has no rating groups, offline groups have an empty requestedUnit, and of an answer it
//! takes only what its triggers name ([`Smf::take`]).

use crate::charging_nchf::SUPI;
use crate::http2::curl;
use crate::nchf_notices::wait_until;
use crate::node::{Node, keeping};
use crate::stand_in::StandIn;
use crate::support::{Door, record_nchf};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const RESOURCES: &str = "/nchf-convergedcharging/v3/chargingdata";
/// Each UPF has its own entry of the rating group.
const UPFS: [&str; 2] =
    ["0b3c2d3e-0000-4000-8000-000000000001", "0b3c2d3e-0000-4000-8000-000000000002"];
const INT32_MAX: i64 = 2_147_483_647;

/// What the SMF has installed of a grant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Quota {
    granted: i64,
    /// Reports at this use.
    threshold: Option<i64>,
    validity_s: Option<i64>,
}

/// One PDU session at an SMF.
struct Smf<'a> {
    door: &'a Door,
    reference: String,
    /// Second of the clock, which names requests.
    second: u32,
    quotas: BTreeMap<(i64, String), Quota>,
}

impl<'a> Smf<'a> {
    /// Opens the session with a charging id.
    fn attach(door: &'a Door, charging_id: u32, second: u32, notify: u16) -> Smf<'a> {
        let mut smf = Smf { door, reference: String::new(), second, quotas: BTreeMap::new() };
        let mut body = smf.body(json!([]));
        body["chargingId"] = json!(charging_id);
        body["notifyUri"] = json!(format!("http://127.0.0.1:{notify}/smf/{second}"));
        body.as_object_mut().expect("an object").remove("multipleUnitUsage");
        let (status, headers, _) = smf.post(RESOURCES, &body);
        assert_eq!(status, "201", "{headers:?}");
        let location = headers.iter().find_map(|line| line.strip_prefix("location: "));
        smf.reference = location.expect("a location").to_owned();
        smf
    }

    fn body(&self, usage: Value) -> Value {
        json!({
            "subscriberIdentifier": SUPI,
            "nfConsumerIdentification": {"nFName": "SMF", "nodeFunctionality": "SMF"},
            "invocationTimeStamp": format!("2026-11-30T12:{:02}:{:02}.123456789Z", self.second / 60, self.second % 60),
            "invocationSequenceNumber": 0,
            "multipleUnitUsage": usage,
            "pDUSessionChargingInformation": {"chargingId": 1, "pduSessionInformation": {"pduSessionID": 1, "dnnId": "internet"}},
        })
    }

    /// Returns the status, the headers and the body of an answer.
    fn post(&self, path: &str, body: &Value) -> (String, Vec<String>, Value) {
        let sent = &body.to_string();
        let more = ["--header", "Content-Type: application/json", "--data-binary", sent];
        let (first, headers, body) = curl("--http2-prior-knowledge", &self.door.url(path), &more);
        let status = first.strip_prefix("http/2 ").expect("HTTP/2").to_owned();
        let answer = serde_json::from_str(&body).unwrap_or_default();
        record_nchf(path, sent, status.parse().expect("a status"), &answer);
        (status, headers, answer)
    }

    /// Reports use of each UPF, twice, and takes the answer.
    fn update(&mut self, usage: &Value) -> Value {
        self.second += 1;
        let path = format!("{}/update", self.reference);
        let (status, _, body) = self.post(&path, &self.body(usage.clone()));
        assert_eq!(status, "200", "{body}");
        let (_, headers, again) = self.post(&path, &self.body(usage.clone()));
        assert!(headers.contains(&"idempotency-replayed: true".to_owned()), "{headers:?}");
        assert_eq!(again["multipleUnitInformation"], body["multipleUnitInformation"]);
        self.take(&body, usage);
        body
    }

    fn release(mut self, usage: Value) {
        self.second += 1;
        let path = format!("{}/release", self.reference);
        for _ in 0..2 {
            assert_eq!(self.post(&path, &self.body(usage.clone())).0, "204");
        }
    }

    /// Takes an answer as the SMF does: an entry belongs to the UPF whose id it gives back; a grant counts with the trigger
    /// QUOTA_EXHAUSTED alone, a threshold with QUOTA_THRESHOLD, a validity with VALIDITY_TIME; all numbers have 31 bits.
    fn take(&mut self, answer: &Value, usage: &Value) {
        let asked = usage.as_array().expect("a list");
        let told = answer["multipleUnitInformation"].as_array().expect("a list");
        assert_eq!(told.len(), asked.len(), "{answer}");
        for (told, asked) in told.iter().zip(asked) {
            assert_eq!(told.get("uPFID"), asked.get("uPFID"), "{told}");
            assert_eq!(told["ratingGroup"], asked["ratingGroup"], "{told}");
            let group = told["ratingGroup"].as_i64().expect("a number");
            let has = |name: &str| {
                let triggers = told["triggers"].as_array();
                triggers.is_some_and(|all| all.iter().any(|one| one["triggerType"] == name))
            };
            let number = |value: &Value| {
                let number = value.as_i64();
                assert!(number.is_none_or(|number| (0..=INT32_MAX).contains(&number)), "{told}");
                number
            };
            let upf = told["uPFID"].as_str().unwrap_or_default().to_owned();
            let granted = number(&told["grantedUnit"]["totalVolume"]);
            assert_eq!(granted.is_some(), has("QUOTA_EXHAUSTED"), "{told}");
            assert_eq!(
                told.get("volumeQuotaThreshold").is_some(),
                has("QUOTA_THRESHOLD"),
                "{told}"
            );
            assert_eq!(told.get("validityTime").is_some(), has("VALIDITY_TIME"), "{told}");
            let quota = Quota {
                granted: granted.unwrap_or(0),
                threshold: number(&told["volumeQuotaThreshold"]),
                validity_s: number(&told["validityTime"]),
            };
            self.quotas.insert((group, upf), quota);
        }
    }

    fn granted(&self, group: i64, upf: usize) -> i64 {
        self.quotas.get(&(group, UPFS[upf].to_owned())).map_or(0, |quota| quota.granted)
    }
}

/// Returns an entry of a rating group at a UPF, with what was used since the last report.
fn entry(group: u32, upf: usize, used: i64, trigger: &str) -> Value {
    json!({"ratingGroup": group, "uPFID": UPFS[upf], "requestedUnit": {"totalVolume": 1_000, "uplinkVolume": 0, "downlinkVolume": 0},
        "usedUnitContainer": [{"localSequenceNumber": 0, "quotaManagementIndicator": "ONLINE_CHARGING",
            "triggers": [{"triggerType": trigger, "triggerCategory": "IMMEDIATE_REPORT"}],
            "totalVolume": used, "uplinkVolume": used / 2, "downlinkVolume": used - used / 2}]})
}

fn bucket(door: &Door, member: &str) -> i64 {
    let audit = door.ask(&format!("GET /v1/accounts/{SUPI}/audit"), &[], "").body;
    assert_eq!(audit["ok"], true, "{audit}");
    audit["buckets"][0][member].as_i64().expect("an amount")
}

fn open(consumer: &StandIn) -> (Vec<Node>, tempfile::TempDir, Door) {
    let nodes = keeping(1);
    let files = tempfile::tempdir().expect("a directory");
    let config = files.path().join("scurry.toml");
    let settings = format!(
        "[nchf]\nint32_consumers = ['SMF']\n[nchf.notify]\nallowed = ['127.0.0.1:{}']\n\
         [[services]]\ncontext = '32255@'\nmeasure = 'volume'\nthreshold = '20%'\n",
        consumer.port
    );
    std::fs::write(&config, settings).expect("it is written");
    let config = config.to_str().expect("text");
    let door = Door::charging(&nodes[0].address(), &["--config", config]);
    wait_until("it follows events", || door.whole_log().contains("(Nchf notifications)"));
    let body = r#"{"buckets":[{"bucket":"data","unit":"octet","amount":5000}]}"#;
    assert_eq!(door.ask(&format!("PUT /v1/accounts/{SUPI}"), &[], body).status, 201);
    (nodes, files, door)
}

#[test]
fn an_smf_of_free5gc_is_charged_what_it_reports() {
    let consumer = StandIn::start(&[]);
    let (_nodes, _files, door) = open(&consumer);
    let mut smf = Smf::attach(&door, 1, 0, consumer.port);
    // Two UPFs share the rating group.
    let first = json!([
        entry(1, 0, 0, "START_OF_SERVICE_DATA_FLOW"),
        entry(1, 1, 0, "START_OF_SERVICE_DATA_FLOW")
    ]);
    smf.update(&first);
    assert_eq!((smf.granted(1, 0), smf.granted(1, 1)), (1_000, 1_000));
    assert_eq!(bucket(&door, "held"), 2_000);
    // The threshold of one; an offline group stands beside it.
    let mut offline = entry(9, 0, 7_777, "QUOTA_THRESHOLD");
    offline["requestedUnit"] = json!({});
    offline["usedUnitContainer"][0]["quotaManagementIndicator"] = json!("OFFLINE_CHARGING");
    let answer = smf.update(&json!([
        entry(1, 0, 800, "QUOTA_THRESHOLD"),
        entry(1, 1, 100, "QUOTA_THRESHOLD"),
        offline
    ]));
    assert_eq!(
        answer["multipleUnitInformation"][2]["resultCode"],
        "QUOTA_MANAGEMENT_NOT_APPLICABLE"
    );
    assert_eq!((bucket(&door, "consumed"), bucket(&door, "held")), (900, 2_000));
    // Both report until 4,900 are used, and 100 are left.
    smf.update(&json!([
        entry(1, 0, 1_000, "QUOTA_EXHAUSTED"),
        entry(1, 1, 1_000, "QUOTA_EXHAUSTED")
    ]));
    let last = smf.update(&json!([
        entry(1, 0, 1_000, "QUOTA_EXHAUSTED"),
        entry(1, 1, 1_000, "QUOTA_EXHAUSTED")
    ]));
    assert_eq!((smf.granted(1, 0), smf.granted(1, 1)), (100, 0));
    assert_eq!(
        last["multipleUnitInformation"][0]["finalUnitIndication"]["finalUnitAction"],
        "TERMINATE"
    );
    assert_eq!(last["multipleUnitInformation"][1]["resultCode"], "QUOTA_LIMIT_REACHED");
    assert_eq!((bucket(&door, "consumed"), bucket(&door, "held")), (4_900, 100));
    let denied = smf.update(&json!([entry(1, 0, 100, "FINAL"), entry(1, 1, 0, "QUOTA_EXHAUSTED")]));
    for at in 0..2 {
        assert_eq!(denied["multipleUnitInformation"][at]["resultCode"], "QUOTA_LIMIT_REACHED");
    }
    assert_eq!((bucket(&door, "consumed"), bucket(&door, "held")), (5_000, 0));
    // A top-up: the SMF is notified, and asks again.
    let top_up = r#"{"bucket":"data","amount":3000000000}"#;
    assert_eq!(
        door.ask_once(&format!("POST /v1/accounts/{SUPI}/top-ups"), "t1", top_up).status,
        200
    );
    let told = consumer.next();
    assert_eq!(told.request, "POST /smf/0");
    assert_eq!(
        told.body,
        json!({"notificationType": "REAUTHORIZATION", "reauthorizationDetails": [{"ratingGroup": 1}]})
    );
    smf.update(&json!([
        entry(1, 0, 0, "MANAGEMENT_INTERVENTION"),
        entry(1, 1, 0, "MANAGEMENT_INTERVENTION")
    ]));
    assert_eq!((smf.granted(1, 0), smf.granted(1, 1)), (1_000, 1_000));
    // Beyond 2 GB its volumes are negative: they are left out, and the others are charged.
    let wrapped = smf.update(&json!([
        entry(1, 0, -1_294_967_296, "QUOTA_EXHAUSTED"),
        entry(1, 1, 300, "QUOTA_EXHAUSTED")
    ]));
    let params = wrapped["invocationResult"]["error"]["invalidParams"].as_array().expect("a list");
    assert_eq!(params.len(), 1, "{wrapped}");
    smf.release(json!([entry(1, 0, 200, "FINAL"), entry(1, 1, 50, "FINAL")]));
    assert_eq!((bucket(&door, "consumed"), bucket(&door, "held")), (5_550, 0));

    // The SMF has restarted, counts charging ids from 1 again, and the subscriber attaches within four minutes.
    let mut smf = Smf::attach(&door, 1, 90, consumer.port);
    smf.update(&json!([entry(1, 0, 0, "START_OF_SERVICE_DATA_FLOW")]));
    assert_eq!(smf.granted(1, 0), 1_000);
    // Once more, without a release of the session before: both are open.
    let mut other = Smf::attach(&door, 1, 150, consumer.port);
    assert_ne!(other.reference, smf.reference);
    other.update(&json!([entry(1, 0, 0, "START_OF_SERVICE_DATA_FLOW")]));
    assert_eq!((bucket(&door, "consumed"), bucket(&door, "held")), (5_550, 2_000));
    smf.release(json!([entry(1, 0, 10, "FINAL")]));
    other.release(json!([entry(1, 0, 20, "FINAL")]));
    assert_eq!((bucket(&door, "consumed"), bucket(&door, "held")), (5_580, 0));
    // Where events are read late, the credit of the account's creation makes one too.
    while let Ok(more) = consumer.received.try_recv() {
        assert_eq!((more.request, more.body), (told.request.clone(), told.body.clone()));
    }
}

#[test]
fn no_grant_is_beyond_the_numbers_of_a_consumer() {
    let consumer = StandIn::start(&[]);
    let (_nodes, _files, door) = open(&consumer);
    let top_up = r#"{"bucket":"data","amount":9000000000}"#;
    assert_eq!(
        door.ask_once(&format!("POST /v1/accounts/{SUPI}/top-ups"), "t1", top_up).status,
        200
    );
    let mut smf = Smf::attach(&door, 1, 0, consumer.port);
    let mut entry = entry(1, 0, 0, "START_OF_SERVICE_DATA_FLOW");
    entry["requestedUnit"] = json!({"totalVolume": 5_000_000_000_u64});
    smf.update(&json!([entry]));
    assert_eq!(smf.granted(1, 0), INT32_MAX);
}
