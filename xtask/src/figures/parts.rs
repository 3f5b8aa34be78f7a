//! The files below docs/results that the pages quote, and how each is measured.

/// Result file and the steps that produce it. The rows of several steps are joined.
pub(crate) struct FigurePart {
    pub(crate) file: &'static str,
    pub(crate) steps: &'static [Step],
}

/// Program that measures.
pub(crate) enum Step {
    /// Arguments of scurry-lab; `{size}` and `{pipelined}` are replaced from the scale.
    Lab(&'static str),
    /// Charging over HTTP compared with charging over RESP.
    Doors,
}

use Step::{Doors, Lab};

/// Size of all measurements, as arguments of scurry-lab.
pub(crate) struct Scale {
    /// Accounts, time and runs.
    size: &'static str,
    /// Many requests in flight on few connections.
    pipelined: &'static str,
    /// The same for three nodes, which get equally many connections each.
    clustered: &'static str,
    /// Extra arguments of a comparison.
    comparison: &'static str,
    pub(crate) seconds: &'static str,
    pub(crate) runs: &'static str,
}

/// Size for the documents. Four runs are the fewest that can show a difference beyond chance.
pub(crate) const FULL: Scale = Scale {
    size: "--accounts 1000000 --seconds 4 --warmup 1 --runs 5",
    pipelined: "--sessions 3200 --connections 50 --depth 64",
    clustered: "--sessions 3200 --connections 51 --depth 64",
    comparison: "--runs 4 --within 15",
    seconds: "4",
    runs: "5",
};

/// Size for a test of the path from the programs to the documents; its figures mean nothing.
pub(crate) const TINY: Scale = Scale {
    size: "--accounts 1000 --seconds 1 --warmup 0.1 --runs 2",
    pipelined: "--sessions 16 --connections 4 --depth 4",
    clustered: "--sessions 18 --connections 6 --depth 4",
    comparison: "--runs 2 --target scurry --target valkey --target redis -- --sessions 8 --connections 4 --depth 2 \
                 --seconds 1 --warmup 0.1 --accounts 1000",
    seconds: "1",
    runs: "2",
};

impl Scale {
    /// Returns the arguments of a step at this size.
    pub(crate) fn words(&self, step: &str) -> Vec<String> {
        let filled = step
            .replace("{size}", self.size)
            .replace("{pipelined}", self.pipelined)
            .replace("{clustered}", self.clustered)
            .replace("{comparison}", self.comparison);
        filled.split_whitespace().map(str::to_owned).collect()
    }
}

impl FigurePart {
    /// Reports whether the laboratory compares its rows.
    pub(crate) fn is_compared(&self) -> bool {
        matches!(self.steps, [Lab(words), ..] if !words.starts_with("fill"))
    }
}

macro_rules! part {
    ($file:literal, $($words:literal),+) => {
        FigurePart { file: $file, steps: &[$(Lab($words)),+] }
    };
}

/// All parts, in the order in which they are measured.
#[rustfmt::skip]
pub(crate) const PARTS: &[FigurePart] = &[
    part!("moaf-scur-pipelined.json", "run moaf-scur --target scurry --target valkey+module --target valkey+hset \
        --target valkey+lua --target echo {pipelined} {size}"),
    part!("moaf-scur-published.json", "run moaf-scur --target scurry --target valkey+lua --target echo --sessions 600 \
        --connections 600 --depth 1 {size}"),
    part!("kv-pipelined.json", "run kv --target scurry --target valkey --target redis --target echo {pipelined} {size}"),
    part!("kv-published.json", "run kv --target scurry --target valkey --target redis --target echo --sessions 600 \
        --connections 600 --depth 1 {size}"),
    part!("durable.json", "run moaf-scur --target scurry:none --target scurry:write --target scurry:fsync {pipelined} {size}"),
    part!("durable-peers.json", "run moaf-scur --target scurry:fsync --target valkey+lua:always --target scurry:write \
        --target valkey+lua:everysec {pipelined} {size}"),
    part!("charging-hot.json", "run charging-hot --seconds 4 --warmup 1 --runs 5"),
    part!("lab/moaf-scur.json", "compare moaf-scur {comparison}"),
    part!("lab/moaf-scur-pipelined.json", "compare moaf-scur-pipelined {comparison}"),
    part!("lab/kv.json", "compare kv {comparison}"),
    part!("lab/kts-persistence.json", "compare kts-persistence {comparison}"),
    part!("lab/kts-index.json", "compare kts-index {comparison}"),
    part!("lab/kts-replication.json", "compare kts-replication {comparison}"),
    part!("lab/kts-batches.json", "compare kts-batches {comparison}"),
    part!("lab/ncache-80-20.json", "compare ncache-80-20 {comparison}"),
    part!("lab/ndb-30-records.json", "compare ndb-30-records {comparison}"),
    part!("lab/charglt.json", "compare charglt {comparison}"),
    part!("lab/charging-live.json", "compare charging-live {comparison}"),
    part!("lab/entity-quorum.json", "run entity-quorum --runs 3 --seconds 1 --warmup 0.3"),
    part!("valkey-replicas.json", "run moaf-scur --target valkey+module {pipelined} {size}",
        "run moaf-scur --target valkey+module --replicas 1 {pipelined} {size}",
        "run moaf-scur --target valkey-cluster+module {clustered} {size}",
        "run moaf-scur --target valkey-cluster+module --replicas 1 {clustered} {size}",
        "run moaf-scur --target valkey-cluster+module --replicas 1 --acknowledged-copies 2 {clustered} {size}"),
    part!("failover.json",
        "faults charging-failover --target scurry+replicas --runs 100 --seconds 4 --warmup 0.5 --accounts 6000"),
    part!("failover-peers.json", "faults charging-failover --target scurry+replicas \
        --target valkey-cluster+module:always --runs 5 --seconds 12 --accounts 18000"),
    part!("transfer.json",
        "faults charging-transfer --target scurry+replicas --runs 10 --seconds 4 --warmup 0.5 --accounts 6000"),
    part!("replace.json", "faults charging-replace --target scurry+replicas --accounts 3000000 --runs 3"),
    FigurePart { file: "charging-http.json", steps: &[Doors] },
    part!("fill-durable.json", "fill --recovery --accounts 100000000"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_of_a_step_is_left_open_and_no_file_is_measured_twice() {
        for step in PARTS.iter().flat_map(|part| part.steps) {
            if let Lab(words) = step {
                for scale in [&FULL, &TINY] {
                    assert!(scale.words(words).iter().all(|word| !word.contains('{')), "{words}");
                }
            }
        }
        let files: std::collections::BTreeSet<&str> = PARTS.iter().map(|part| part.file).collect();
        assert_eq!(files.len(), PARTS.len());
    }
}
