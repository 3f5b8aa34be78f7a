//! The parts of the measurement that the documents quote: each can be made alone, and knows its files.

/// One part.
pub(crate) struct Part {
    pub(crate) name: &'static str,
    /// About how long it takes, measured on two cores; the record knows better once it has run.
    pub(crate) minutes: u32,
    pub(crate) files: &'static [Output],
}

/// A file below docs/results, and what makes it.
pub(crate) struct Output {
    pub(crate) file: &'static str,
    pub(crate) steps: &'static [Step],
    /// On the page of the laboratory, and in its comparisons.
    pub(crate) is_shown: bool,
}

/// A program that makes a file, or a piece of one: rows of several steps are put together.
pub(crate) enum Step {
    /// Words of scurry-lab, with `{accounts}`, `{seconds}`, `{warmup}` and `{runs}`.
    Lab(&'static str),
    /// A benchmark of a package, and what it is told; its lines are kept.
    Bench(&'static str, &'static str, &'static str),
    /// Charging over HTTP beside charging over RESP.
    Doors,
    /// A test of the server over RDMA that prints counts, in the emulated guest.
    Guest(&'static str),
}

use Step::{Bench, Doors, Guest, Lab};

/// The size of everything.
pub(crate) struct Scale {
    accounts: &'static str,
    /// For what is filled until it is large.
    many: &'static str,
    /// As many as a machine of 24 GB holds.
    most: &'static str,
    /// Of one account: open sessions and remembered transactions.
    busy: &'static str,
    seconds: &'static str,
    warmup: &'static str,
    runs: &'static str,
    /// Many requests in flight on few connections.
    pipelined: &'static str,
    /// The same on three nodes, which get as many connections each.
    clustered: &'static str,
    /// As many in flight in all, fewer on each of more connections.
    shallow: &'static str,
    /// The same with one on each.
    single: &'static str,
    /// Behind a scenario that grows.
    growth: &'static str,
    /// Behind the words of a comparison.
    comparison: &'static str,
}

/// As the documents quote it.
pub(crate) const FULL: Scale = Scale {
    accounts: "1000000",
    many: "20000000",
    most: "100000000",
    busy: "--open 100000 --remembered 1000000",
    seconds: "4",
    warmup: "1",
    runs: "5",
    pipelined: "--sessions 3200 --connections 50 --depth 64",
    clustered: "--sessions 3200 --connections 51 --depth 64",
    shallow: "--sessions 3200 --connections 400 --depth 8",
    single: "--sessions 3200 --connections 3200 --depth 1",
    growth: "--runs 3",
    // Four runs are the fewest that can differ by more than chance.
    comparison: "--runs 4 --within 15",
};

/// For a test of the way from the programs to the documents: the figures mean nothing.
pub(crate) const TINY: Scale = Scale {
    accounts: "1000",
    many: "2000",
    most: "3000",
    busy: "--open 100 --remembered 1000",
    seconds: "1",
    warmup: "0.1",
    runs: "2",
    pipelined: "--sessions 16 --connections 4 --depth 4",
    clustered: "--sessions 18 --connections 6 --depth 4",
    shallow: "--sessions 16 --connections 8 --depth 2",
    single: "--sessions 16 --connections 16 --depth 1",
    growth: "--runs 2 --short --accounts 1000",
    comparison: "--runs 2 --target scurry --target valkey --target redis -- --sessions 8 --connections 4 --depth 2 \
                 --seconds 1 --warmup 0.1 --accounts 1000",
};

impl Scale {
    /// The words of a step at this size.
    pub(crate) fn words(&self, step: &str) -> Vec<String> {
        let filled = step
            .replace("{accounts}", self.accounts)
            .replace("{many}", self.many)
            .replace("{most}", self.most)
            .replace("{busy}", self.busy)
            .replace("{seconds}", self.seconds)
            .replace("{warmup}", self.warmup)
            .replace("{runs}", self.runs)
            .replace("{pipelined}", self.pipelined)
            .replace("{clustered}", self.clustered)
            .replace("{shallow}", self.shallow)
            .replace("{single}", self.single)
            .replace("{growth}", self.growth)
            .replace("{comparison}", self.comparison);
        filled.split_whitespace().map(str::to_owned).collect()
    }
}

macro_rules! run {
    ($words:literal) => {
        Lab(concat!(
            "run ",
            $words,
            " --accounts {accounts} --seconds {seconds} --warmup {warmup} --runs {runs}"
        ))
    };
}

const fn rows(file: &'static str, steps: &'static [Step]) -> Output {
    Output { file, steps, is_shown: true }
}

const fn own(file: &'static str, steps: &'static [Step]) -> Output {
    Output { file, steps, is_shown: false }
}

const fn part(name: &'static str, minutes: u32, files: &'static [Output]) -> Part {
    Part { name, minutes, files }
}

/// All of them, in the order in which they run: what is quoted first comes first.
pub(crate) const PARTS: &[Part] = &[
    part(
        "pipelined",
        20,
        &[rows(
            "moaf-scur-pipelined.json",
            &[run!(
                "moaf-scur --target scurry --target valkey+module --target valkey+hset --target valkey+lua --target echo \
         {pipelined}"
            )],
        )],
    ),
    part(
        "published",
        16,
        &[rows(
            "moaf-scur-published.json",
            &[run!(
                "moaf-scur --target scurry --target valkey+lua --target echo --sessions 600 --connections 600 --depth 1"
            )],
        )],
    ),
    part(
        "kv-pipelined",
        4,
        &[rows(
            "kv-pipelined.json",
            &[run!("kv --target scurry --target valkey --target redis --target echo {pipelined}")],
        )],
    ),
    part(
        "kv-published",
        5,
        &[rows(
            "kv-published.json",
            &[run!(
                "kv --target scurry --target valkey --target redis --target echo --sessions 600 --connections 600 --depth 1"
            )],
        )],
    ),
    part(
        "durable",
        3,
        &[rows(
            "durable.json",
            &[run!(
                "moaf-scur --target scurry:none --target scurry:write --target scurry:fsync {pipelined}"
            )],
        )],
    ),
    part(
        "durable-peers",
        16,
        &[rows(
            "durable-peers.json",
            &[run!(
                "moaf-scur --target scurry:fsync --target valkey+lua:always --target scurry:write \
         --target valkey+lua:everysec {pipelined}"
            )],
        )],
    ),
    part(
        "hot",
        12,
        &[rows(
            "charging-hot.json",
            &[Lab("run charging-hot --seconds {seconds} --warmup {warmup} --runs {runs}")],
        )],
    ),
    part(
        "lab-moaf-scur",
        15,
        &[rows("lab/moaf-scur.json", &[Lab("compare moaf-scur {comparison}")])],
    ),
    part(
        "lab-moaf-scur-pipelined",
        15,
        &[rows("lab/moaf-scur-pipelined.json", &[Lab("compare moaf-scur-pipelined {comparison}")])],
    ),
    part("lab-kv", 10, &[rows("lab/kv.json", &[Lab("compare kv {comparison}")])]),
    part(
        "lab-kts-persistence",
        15,
        &[rows("lab/kts-persistence.json", &[Lab("compare kts-persistence {comparison}")])],
    ),
    part(
        "lab-kts-index",
        10,
        &[rows("lab/kts-index.json", &[Lab("compare kts-index {comparison}")])],
    ),
    part(
        "lab-kts-replication",
        12,
        &[rows("lab/kts-replication.json", &[Lab("compare kts-replication {comparison}")])],
    ),
    part(
        "lab-kts-batches",
        15,
        &[rows("lab/kts-batches.json", &[Lab("compare kts-batches {comparison}")])],
    ),
    part(
        "lab-ncache-80-20",
        15,
        &[rows("lab/ncache-80-20.json", &[Lab("compare ncache-80-20 {comparison}")])],
    ),
    part(
        "lab-ndb-30-records",
        10,
        &[rows("lab/ndb-30-records.json", &[Lab("compare ndb-30-records {comparison}")])],
    ),
    part("lab-charglt", 15, &[rows("lab/charglt.json", &[Lab("compare charglt {comparison}")])]),
    part(
        "lab-charging-live",
        15,
        &[rows("lab/charging-live.json", &[Lab("compare charging-live {comparison}")])],
    ),
    part(
        "entities",
        15,
        &[rows(
            "lab/entity-quorum.json",
            &[Lab("run entity-quorum --runs 3 --seconds 1 --warmup 0.3")],
        )],
    ),
    part(
        "replicas",
        10,
        &[rows(
            "valkey-replicas.json",
            &[
                run!("moaf-scur --target valkey+module {pipelined}"),
                run!("moaf-scur --target valkey+module --replicas 1 {pipelined}"),
                run!("moaf-scur --target valkey-cluster+module {clustered}"),
                run!("moaf-scur --target valkey-cluster+module --replicas 1 {clustered}"),
                run!(
                    "moaf-scur --target valkey-cluster+module --replicas 1 --acknowledged-copies 2 {clustered}"
                ),
            ],
        )],
    ),
    part(
        "failover",
        18,
        &[rows(
            "failover.json",
            &[Lab(
                "run charging-failover --target scurry+replicas --runs 100 --seconds 4 --warmup 0.5 --accounts 6000",
            )],
        )],
    ),
    part(
        "failover-peers",
        6,
        &[rows(
            "failover-peers.json",
            &[Lab(
                "run charging-failover --target scurry+replicas --target valkey-cluster+module:always --runs {runs} \
         --seconds 12 --accounts 18000",
            )],
        )],
    ),
    part(
        "transfer",
        2,
        &[rows(
            "transfer.json",
            &[Lab(
                "run charging-transfer --target scurry+replicas --runs 10 --seconds 4 --warmup 0.5 --accounts 6000",
            )],
        )],
    ),
    part(
        "replace",
        5,
        &[rows(
            "replace.json",
            &[Lab("run charging-replace --target scurry+replicas --accounts 3000000 --runs 3")],
        )],
    ),
    part("doors", 2, &[own("charging-http.json", &[Doors])]),
    part(
        "ladder",
        4,
        &[rows(
            "ladder.json",
            &[Lab("ladder --accounts {accounts} --seconds {seconds} --runs {runs}")],
        )],
    ),
    part("costs", 6, &[own("costs.json", &[Lab("costs --accounts 200000 --runs 7")])]),
    part(
        "cross-core",
        2,
        &[rows(
            "cross-core.json",
            &[run!("moaf-scur --target scurry {pipelined} --threads 2 --door main --door cores")],
        )],
    ),
    part(
        "growth-accounts",
        4,
        &[rows(
            "growth-accounts.json",
            &[Lab(
                "run growth-accounts --step 10,000 --step 100,000 --step 1,000,000 --step 10,000,000 {growth}",
            )],
        )],
    ),
    part(
        "growth-most",
        10,
        &[rows("growth-most.json", &[Lab("run growth-accounts --step 100,000,000 {growth}")])],
    ),
    part(
        "growth-sessions",
        3,
        &[rows("growth-sessions.json", &[Lab("run growth-sessions {growth}")])],
    ),
    part(
        "growth-connections",
        3,
        &[rows("growth-connections.json", &[Lab("run growth-connections {growth}")])],
    ),
    part(
        "growth-threads",
        5,
        &[rows(
            "growth-threads.json",
            &[
                run!("moaf-scur --target scurry {pipelined} --threads 1"),
                run!("moaf-scur --target scurry {pipelined} --threads 2 --door main --door cores"),
                run!("moaf-scur --target scurry {shallow} --threads 1"),
                run!("moaf-scur --target scurry {shallow} --threads 2 --door main --door cores"),
                run!("moaf-scur --target scurry {single} --threads 1"),
                run!("moaf-scur --target scurry {single} --threads 2 --door main --door cores"),
            ],
        )],
    ),
    part(
        "commit",
        3,
        &[own(
            "commit.json",
            &[Lab("commit --accounts {accounts} --seconds {seconds} --runs {runs}")],
        )],
    ),
    part(
        "snapshots",
        4,
        &[
            own(
                "snapshots.json",
                &[Lab("snapshots --accounts {accounts} --seconds {seconds} --runs {runs}")],
            ),
            own("snapshot-steps.txt", &[Bench("scurry-engine", "snapshot", "")]),
        ],
    ),
    part(
        "slow-disk",
        3,
        &[own("slow-disk.json", &[Lab("slow-disk --runs {runs} --seconds {seconds}")])],
    ),
    part("recovery", 6, &[own("recovery.json", &[Lab("recovery --runs {runs}")])]),
    part("fill", 3, &[own("fill.json", &[Lab("fill --accounts {many} --compare {accounts}")])]),
    part(
        "fill-durable",
        14,
        &[own("fill-durable.json", &[Lab("fill --recovery --accounts {most}")])],
    ),
    part(
        "busy-account",
        2,
        &[own("busy-account.json", &[Lab("busy-account {busy} --runs {runs}")])],
    ),
    part("neighbours", 2, &[own("neighbours.json", &[Lab("neighbours")])]),
    part(
        "expiry",
        4,
        &[
            own("expiry.json", &[Lab("expiry")]),
            own("expiry-at-once.json", &[Lab("expiry --spread 0")]),
        ],
    ),
    part(
        "ledger",
        5,
        &[own(
            "ledger.txt",
            &[
                Bench("scurry-ledger", "update", "--discard-baseline"),
                Bench("scurry-ledger", "instructions", ""),
                Bench("scurry-engine", "memory", ""),
            ],
        )],
    ),
    part("pauses", 3, &[own("pauses.txt", &[Bench("scurry-engine", "pauses", "")])]),
    part(
        "rdma",
        5,
        &[
            own("rdma-techniques.txt", &[Guest("techniques::each_technique_saves_what_it_is_for")]),
            own("rdma-calls.txt", &[Guest("syscalls::system_calls_are_few_and_known")]),
        ],
    ),
];

/// The files of all parts that the page of the laboratory shows.
pub(crate) fn shown() -> impl Iterator<Item = &'static str> {
    let files = PARTS.iter().flat_map(|part| part.files);
    files.filter(|output| output.is_shown).map(|output| output.file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_parts_have_a_name_or_a_file_in_common() {
        let mut names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
        names.extend(PARTS.iter().flat_map(|part| part.files).map(|output| output.file));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn no_word_of_a_step_is_left_open() {
        for step in PARTS.iter().flat_map(|part| part.files).flat_map(|output| output.steps) {
            if let Lab(words) = step {
                for scale in [&FULL, &TINY] {
                    assert!(scale.words(words).iter().all(|word| !word.contains('{')), "{words}");
                }
            }
        }
    }
}
