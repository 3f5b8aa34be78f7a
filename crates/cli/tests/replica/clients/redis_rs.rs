//! redis-rs with its asynchronous connections. Its client for Sentinels is not used, because it rejects the ROLE that a
//! node reports.

use redis::RedisError;
use redis::aio::{ConnectionLike, ConnectionManagerConfig};
use redis::cluster::ClusterClient;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Debits before and after the death of the leader.
const DEBITS: u32 = 200;
/// Pause between two attempts, and the timeout of one debit.
const PAUSE: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(120);

/// Makes debits in one mode and returns their number.
pub(super) fn session(mode: &str, addresses: &str, middle: &mut dyn FnMut()) -> u32 {
    let killed = AtomicBool::new(false);
    let (say, half) = mpsc::channel();
    thread::scope(|scope| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let killed = &killed;
        let debits = scope.spawn(move || {
            let mut seen = Seen::new(say, killed);
            let places: Vec<String> =
                addresses.split(',').map(|place| format!("redis://{place}")).collect();
            match mode {
                "cluster" => runtime.block_on(cluster(places, &mut seen)),
                _ => runtime.block_on(plain(&places[0], &mut seen)),
            }
            println!("{} redis-rs {mode}", seen.summary());
            seen.number
        });
        if half.recv().is_ok() {
            middle();
        }
        killed.store(true, Ordering::Release);
        debits.join().expect("every debit is answered")
    })
}

async fn cluster(places: Vec<String>, seen: &mut Seen<'_>) {
    let client = ClusterClient::builder(places).retries(16).build().expect("settings");
    let mut connection = client.get_async_connection().await.expect("the group answers");
    while seen.goes_on() {
        seen.debit("purse-cluster", &mut connection).await;
    }
}

/// A connection manager reconnects by itself but does not repeat a command.
async fn plain(place: &str, seen: &mut Seen<'_>) {
    let client = redis::Client::open(place).expect("an address");
    let config = ConnectionManagerConfig::new()
        .set_number_of_retries(16)
        .set_max_delay(Duration::from_millis(500));
    let manager = client.get_connection_manager_with_config(config).await;
    let mut connection = manager.expect("the node answers");
    while seen.goes_on() {
        seen.debit("purse-plain", &mut connection).await;
    }
}

/// Errors and the longest gap that the application has seen.
struct Seen<'s> {
    number: u32,
    last: u32,
    kinds: BTreeMap<String, u32>,
    gap: Duration,
    answered: Instant,
    say: mpsc::Sender<()>,
    killed: &'s AtomicBool,
}

impl Seen<'_> {
    #[expect(clippy::disallowed_methods, reason = "the gap is printed")]
    fn new(say: mpsc::Sender<()>, killed: &AtomicBool) -> Seen<'_> {
        let (kinds, gap, answered) = (BTreeMap::new(), Duration::ZERO, Instant::now());
        Seen { number: 0, last: DEBITS, kinds, gap, answered, say, killed }
    }

    fn goes_on(&self) -> bool {
        self.number < self.last
    }

    /// Sends the next debit, and repeats it after an error.
    #[expect(clippy::disallowed_methods, reason = "the gap is printed")]
    async fn debit(&mut self, account: &str, connection: &mut impl ConnectionLike) {
        let id = format!("txn-{}", self.number);
        let mut command = redis::cmd("SCUR.DEBIT");
        command.arg(account).arg(id).arg("cent").arg(1);
        let reply = command.query_async::<(String, i64, i64, i64)>(connection).await;
        match reply {
            Ok((code, _, _, amount)) => assert_eq!((code.as_str(), amount), ("OK", 1)),
            Err(error) => {
                self.failed(&error).await;
                return;
            }
        }
        self.gap = self.gap.max(self.answered.elapsed());
        self.answered = Instant::now();
        self.number += 1;
        if self.number == DEBITS {
            self.say.send(()).expect("somebody listens");
        }
        if !self.killed.load(Ordering::Acquire) {
            self.last = self.number + DEBITS;
        }
    }

    async fn failed(&mut self, error: &RedisError) {
        *self.kinds.entry(format!("{:?}", error.kind())).or_default() += 1;
        assert!(self.answered.elapsed() < PATIENCE, "{error}");
        tokio::time::sleep(PAUSE).await;
    }

    fn summary(&self) -> String {
        let kinds: Vec<String> =
            self.kinds.iter().map(|(kind, count)| format!("{kind}:{count}")).collect();
        let kinds = if kinds.is_empty() { "none".to_owned() } else { kinds.join(",") };
        let errors: u32 = self.kinds.values().sum();
        let gap = self.gap.as_millis();
        format!("debits={} errors={errors} kinds={kinds} gap_ms={gap}", self.number)
    }
}
