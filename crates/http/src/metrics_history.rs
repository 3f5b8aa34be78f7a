//! `/v1/console/past`: the last hour of a door's metrics, so that the console shows history as soon as it opens. A few
//! metrics are summed every ten seconds and kept in memory; Prometheus is for longer history.

use crate::clock;
use crate::gate::Gate;
use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use scurry_ledger::Time;
use scurry_resp::table::Role;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{MissedTickBehavior, interval};

/// Interval between two samples.
const EVERY: Duration = Duration::from_secs(10);
/// Maximum number of samples: an hour.
const SAMPLES_MAX: usize = 360;

/// Metrics that are kept, each with the label by which it is summed.
const KEPT: [(&str, Option<&str>); 5] = [
    ("scurry_commands_total", None),
    ("scurry_request_duration_seconds_bucket", Some("le")),
    ("scurry_sessions_open", None),
    ("scurry_expiries_total", Some("kind")),
    ("scurry_denials_total", Some("cause")),
];
/// Metrics that are kept of a door without an engine in its process.
const KEPT_OF_DOOR: [(&str, Option<&str>); 2] = [
    ("scurry_http_requests_total", None),
    ("scurry_http_request_duration_seconds_bucket", Some("le")),
];

/// Sums of metrics at one moment, by metric name and label.
struct Sample {
    at: Time,
    sums: BTreeMap<String, u64>,
}

/// Samples of the last hour.
#[derive(Default)]
struct MetricsHistory(Mutex<VecDeque<Sample>>);

/// Starts sampling the page of metrics. Returns the route that shows the samples.
pub fn keep<P>(gate: &Arc<Gate>, runtime: &Handle, page: impl Fn() -> P + Send + 'static) -> Router
where
    P: Future<Output = Option<String>> + Send + 'static,
{
    let past = Arc::new(MetricsHistory::default());
    runtime.spawn(Arc::clone(&past).fill(page));
    let route = Router::new().route("/v1/console/past", get(show)).with_state(past);
    gate.guard(Role::Read, route)
}

impl MetricsHistory {
    /// Takes a sample at each interval, as long as the door is open.
    async fn fill<P>(self: Arc<MetricsHistory>, page: impl Fn() -> P)
    where
        P: Future<Output = Option<String>>,
    {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Some(page) = page().await {
                self.add(clock::now(), &page);
            }
        }
    }

    fn add(&self, at: Time, page: &str) {
        let mut samples = self.samples();
        if samples.len() == SAMPLES_MAX {
            samples.pop_front();
        }
        samples.push_back(Sample { at, sums: sums(page) });
    }

    /// Returns the names, and for each sample its time and the value of each name; 0 for a value that the sample does
    /// not have.
    fn show(&self) -> Value {
        let samples = self.samples();
        let names: BTreeSet<&String> = samples.iter().flat_map(|one| one.sums.keys()).collect();
        let row = |Sample { at, sums }: &Sample| {
            let value = |name: &&String| json!(sums.get(*name).copied().unwrap_or(0));
            std::iter::once(json!(at.0)).chain(names.iter().map(value)).collect::<Value>()
        };
        json!({ "names": names, "samples": samples.iter().map(row).collect::<Value>() })
    }

    fn samples(&self) -> MutexGuard<'_, VecDeque<Sample>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers 200 with the samples.
async fn show(State(past): State<Arc<MetricsHistory>>) -> Json<Value> {
    Json(past.show())
}

/// Returns the sums of a page's metrics over all labels except the kept one.
fn sums(page: &str) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    let is_engine = page.contains("\nscurry_info{");
    let kept: &[(&str, Option<&str>)] = if is_engine { &KEPT } else { &KEPT_OF_DOOR };
    for line in page.lines() {
        let Some((sample, value)) = line.rsplit_once(' ') else { continue };
        let (name, labels) = sample.split_once('{').unwrap_or((sample, ""));
        let Some((_, by)) = kept.iter().find(|(kept, _)| *kept == name) else { continue };
        let Ok(value) = value.parse::<u64>() else { continue };
        let key = by
            .and_then(|by| label(labels, by))
            .map_or_else(|| name.to_owned(), |(by, of)| format!("{name}{{{by}=\"{of}\"}}"));
        *sums.entry(key).or_default() += value;
    }
    sums
}

/// Returns the label of this name and its value. The value must contain no comma and no quotation mark.
fn label<'l>(labels: &'l str, name: &'l str) -> Option<(&'l str, &'l str)> {
    labels.split(',').find_map(|label| {
        let (found, value) = label.trim_end_matches('}').split_once('=')?;
        (found == name).then(|| (name, value.trim_matches('"')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# HELP scurry_info x\nscurry_info{version=\"1\"} 1\n\
        scurry_commands_total{core=\"0\",command=\"get\"} 5\nscurry_commands_total{core=\"1\",command=\"set\"} 7\n\
        scurry_request_duration_seconds_bucket{core=\"0\",le=\"0.001\"} 3\n\
        scurry_request_duration_seconds_bucket{core=\"1\",le=\"0.001\"} 4\n\
        scurry_request_duration_seconds_bucket{core=\"1\",le=\"+Inf\"} 9\n\
        scurry_denials_total{cause=\"balance\",code=\"A\"} 2\nscurry_denials_total{cause=\"balance\",code=\"B\"} 3\n\
        scurry_http_requests_total{route=\"/\"} 4\nscurry_sessions_open 6\nscurry_other 8\n";

    #[test]
    fn metrics_are_summed_by_the_label_that_counts() {
        let expected = [
            ("scurry_commands_total", 12),
            ("scurry_denials_total{cause=\"balance\"}", 5),
            ("scurry_request_duration_seconds_bucket{le=\"+Inf\"}", 9),
            ("scurry_request_duration_seconds_bucket{le=\"0.001\"}", 7),
            ("scurry_sessions_open", 6),
        ];
        let expected: Vec<(String, u64)> =
            expected.iter().map(|(name, sum)| ((*name).to_owned(), *sum)).collect();
        assert_eq!(sums(PAGE).into_iter().collect::<Vec<_>>(), expected);
        let door =
            "scurry_http_requests_total{route=\"/\",status=\"200\"} 4\nscurry_sessions_open 6\n";
        let door: Vec<String> = sums(door).into_keys().collect();
        assert_eq!(door, ["scurry_http_requests_total"]);
    }

    #[test]
    fn an_hour_is_kept_and_what_was_not_there_was_0() {
        let past = MetricsHistory::default();
        for number in 0..=360 {
            let page = format!("\nscurry_info{{}} 1\nscurry_commands_total {number}\n");
            past.add(Time(number), &page);
        }
        past.add(Time(9_999), PAGE);
        let shown = past.show();
        let samples = shown["samples"].as_array().expect("samples");
        assert_eq!(samples.len(), SAMPLES_MAX);
        assert_eq!(samples[0], json!([2, 2, 0, 0, 0, 0]));
        assert_eq!(samples[SAMPLES_MAX - 1], json!([9_999, 12, 5, 9, 7, 6]));
        assert_eq!(shown["names"][0], "scurry_commands_total");
    }
}
