//! The ladder: what each layer costs, as a share of the one below.

use maud::{Markup, html};

use super::chart::{Bar, bars};
use crate::ladder::{Ladder, RungRow};
use crate::report::grouped;

pub(super) fn render(file: &str, ladder: &Ladder) -> Markup {
    let bar = |rung: &RungRow| {
        let share = match (&rung.below, rung.percent_of_below) {
            (Some(below), Some(percent)) => format!(", {percent:.1} % of {below}"),
            _ => String::new(),
        };
        Bar {
            name: rung.rung.clone(),
            value: rung.operations_per_s,
            label: format!("{}{share}", grouped(rung.operations_per_s)),
            spread: rung.spread.map(|spread| (spread.min, spread.max)),
            class: if rung.rung.starts_with("echo") { "limit" } else { "ours" },
        }
    };
    let throughput: Vec<Bar> = ladder.rungs.iter().map(bar).collect();
    let cpu = |rung: &RungRow| Bar {
        value: rung.cpu_ns_per_op / 1_000.0,
        label: format!("{:.3}", rung.cpu_ns_per_op / 1_000.0),
        spread: None,
        ..bar(rung)
    };
    let cpu: Vec<Bar> = ladder.rungs.iter().map(cpu).collect();
    let host = &ladder.host;
    html! {
        section {
            h2 { "The ladder: what each layer costs" }
            p.conditions {
                "The session loop of moaf-scur through one layer more at a time, "
                (grouped(f64::from(ladder.accounts))) " accounts, one core; " (host.cpu) ", Linux "
                (host.kernel) ", commit " (host.git_commit) ". From " (file) "."
            }
            div.charts {
                (bars("Throughput of one core", "operations/s; line: least to greatest run", &throughput))
                (bars("CPU", "microseconds/operation", &cpu))
            }
        }
    }
}
