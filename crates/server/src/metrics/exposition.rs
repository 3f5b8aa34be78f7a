//! The text format of Prometheus: metrics with their help, samples with their labels.
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>

use std::fmt::{Display, Write};

/// Kinds of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// Only grows, until a restart; its name ends in `_total`.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts by upper bound, with a sum.
    Histogram,
}

/// A page of metrics under construction. Each metric begins with [`Exposition::metric`], and its samples follow.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
    name: &'static str,
}

/// Names and values.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

impl Exposition {
    /// The content type of the page.
    pub const CONTENT_TYPE: &'static str = "text/plain; version=0.0.4; charset=utf-8";

    /// Begins a metric. `help` is one sentence without line breaks.
    pub fn metric(&mut self, name: &'static str, kind: MetricKind, help: &str) {
        self.name = name;
        let kind = match kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Adds a value of the metric.
    pub fn sample(&mut self, labels: Labels<'_>, value: impl Display) {
        self.line("", labels, None, value);
    }

    /// Adds a histogram of the metric: each bound with the count of values that are not above it (the last one has no
    /// bound and counts all), and the sum of all.
    pub fn histogram(
        &mut self,
        labels: Labels<'_>,
        cumulative: impl Iterator<Item = (Option<f64>, u64)>,
        sum: f64,
    ) {
        let mut all = 0;
        for (bound, count) in cumulative {
            let bound = bound.map_or("+Inf".to_owned(), |bound| bound.to_string());
            self.line("_bucket", labels, Some(&bound), count);
            all = count;
        }
        self.line("_sum", labels, None, sum);
        self.line("_count", labels, None, all);
    }

    /// Adds a metric with one value and no labels.
    pub fn single(
        &mut self,
        name: &'static str,
        kind: MetricKind,
        help: &str,
        value: impl Display,
    ) {
        self.metric(name, kind, help);
        self.sample(&[], value);
    }

    /// Returns the page.
    pub fn into_text(self) -> String {
        self.text
    }

    fn line(&mut self, suffix: &str, labels: Labels<'_>, bound: Option<&str>, value: impl Display) {
        let _ = write!(self.text, "{}{suffix}", self.name);
        let bound = bound.map(|bound| ("le", bound));
        let mut before = '{';
        for (name, value) in labels.iter().copied().chain(bound) {
            let _ = write!(self.text, "{before}{name}=\"");
            for character in value.chars() {
                match character {
                    '\\' => self.text.push_str("\\\\"),
                    '"' => self.text.push_str("\\\""),
                    '\n' => self.text.push_str("\\n"),
                    other => self.text.push(other),
                }
            }
            self.text.push('"');
            before = ',';
        }
        let end = if before == ',' { "}" } else { "" };
        let _ = writeln!(self.text, "{end} {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_their_labels_and_histograms_their_parts() {
        let mut page = Exposition::default();
        page.single("up", MetricKind::Gauge, "Serves.", 1);
        page.metric("time_seconds", MetricKind::Histogram, "Took.");
        let buckets = [(Some(0.5), 2), (None, 3)];
        page.histogram(&[("core", "0")], buckets.into_iter(), 1.25);
        page.metric("odd_total", MetricKind::Counter, "Odd.");
        page.sample(&[("a", "x\"\\\n"), ("b", "")], 7);
        assert_eq!(
            page.into_text(),
            "# HELP up Serves.\n# TYPE up gauge\nup 1\n\
             # HELP time_seconds Took.\n# TYPE time_seconds histogram\n\
             time_seconds_bucket{core=\"0\",le=\"0.5\"} 2\n\
             time_seconds_bucket{core=\"0\",le=\"+Inf\"} 3\n\
             time_seconds_sum{core=\"0\"} 1.25\ntime_seconds_count{core=\"0\"} 3\n\
             # HELP odd_total Odd.\n# TYPE odd_total counter\n\
             odd_total{a=\"x\\\"\\\\\\n\",b=\"\"} 7\n"
        );
    }
}
