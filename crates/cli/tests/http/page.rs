//! The page of metrics, and the linter of Prometheus.

use std::io::Write;
use std::process::{Command, Stdio};

/// Metrics as text.
pub(crate) struct Page(pub(crate) String);

impl Page {
    /// Returns the sum of all samples of a name with these labels.
    pub(crate) fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let own = |line: &&str| {
            let rest = line.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with([' ', '{']))
                && labels.iter().all(|(key, value)| line.contains(&format!("{key}=\"{value}\"")))
        };
        let value = |line: &str| line.rsplit(' ').next().and_then(|text| text.parse::<f64>().ok());
        self.0.lines().filter(own).map(|line| value(line).expect("a number")).sum()
    }

    /// Reports whether a metric of this name is announced.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.lines().any(|line| {
            line.strip_prefix("# TYPE ").is_some_and(|rest| rest.split(' ').next() == Some(name))
        })
    }

    /// Runs `promtool check metrics`: format and naming conventions.
    #[track_caller]
    pub(crate) fn lint(&self) {
        let mut linter = Command::new("promtool")
            .args(["check", "metrics"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("no promtool: run scripts/install-tools.sh tests");
        linter.stdin.take().expect("stdin").write_all(self.0.as_bytes()).expect("it reads");
        let output = linter.wait_with_output().expect("it ends");
        let said = [&output.stdout[..], &output.stderr].concat();
        assert!(output.status.success() && said.is_empty(), "{}", String::from_utf8_lossy(&said));
    }
}
