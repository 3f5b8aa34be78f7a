//! What a command says of each step: a line for people, or an object of JSON.

use super::answer::Server;
use crate::diameter::result_words;
use crate::terminal_escape::escaped;
use serde::Serialize;
use std::time::Duration;

/// How a step has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Ok,
    Failed,
    LeftOut,
}

/// One step.
#[derive(Debug, Serialize)]
pub(crate) struct Step {
    /// `connect`, `CER`, `DWR`, `CCR-E` or `DPR`.
    pub(crate) step: &'static str,
    pub(crate) verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ms: Option<f64>,
    /// Result-Code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<u32>,
    pub(crate) text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cure: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<Server>,
}

impl Step {
    pub(crate) fn new(step: &'static str, verdict: Verdict, text: impl Into<String>) -> Step {
        let text = text.into();
        Step { step, verdict, ms: None, code: None, text, cure: None, server: None }
    }

    pub(crate) fn took(self, took: Duration) -> Step {
        Step { ms: Some((took.as_secs_f64() * 1e6).round() / 1e3), ..self }
    }

    /// Adds what a Result-Code means: in our words if the server is ours.
    pub(crate) fn with_code(mut self, code: u32, is_scurry: bool, error: Option<&str>) -> Step {
        self.code = Some(code);
        let ours = result_words::of_scurry(code).filter(|_| is_scurry && code != 2001);
        let meaning = ours.map_or_else(
            || result_words::name(code).to_owned(),
            |words| words.when.replace('`', ""),
        );
        let said = error.map_or_else(String::new, |error| format!(" (it says: {error})"));
        let rest = if self.text.is_empty() { String::new() } else { format!("; {}", self.text) };
        self.text = format!("{code} {meaning}{said}{rest}");
        self.cure = ours.map(|words| words.cure.replace('`', "")).filter(|cure| !cure.is_empty());
        self
    }

    /// Prints it.
    pub(crate) fn print(&self, is_json: bool) {
        if is_json {
            let line = serde_json::to_string(self).unwrap_or_default();
            return println!("{line}");
        }
        let verdict = match self.verdict {
            Verdict::Ok => "ok",
            Verdict::Failed => "failed",
            Verdict::LeftOut => "left out",
        };
        let took = self.ms.map_or_else(String::new, |ms| format!("{ms:.3} ms"));
        println!("{:<8} {verdict:<9} {took:>12}  {}", self.step, escaped(&self.text));
        if let Some(cure) = &self.cure {
            println!("{:<32} cure: {}", "", escaped(cure));
        }
    }
}
