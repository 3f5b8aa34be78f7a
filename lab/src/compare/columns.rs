//! Measured rows in the columns of a published table, so that both read alike. A column that has no
//! figure here shows a dash.

use anyhow::Result;

use crate::latency::LatencySummary;
use crate::loader::OperationResult;
use crate::report::{Grid, grouped, published_tables};
use crate::rivals::is_measured;
use crate::row::{Row, Run};

/// The measured rows once for each set of columns that is published for this scenario; nothing
/// where nothing is.
pub(super) fn render(scenario: &str, rows: &[Row]) -> Result<String> {
    let mut out = String::new();
    let mut seen: Vec<Vec<String>> = Vec::new();
    for table in published_tables(scenario)? {
        if seen.contains(&table.columns) {
            continue;
        }
        out.push_str("measured here, in the columns of the published table\n");
        let headings = table.columns.iter().map(|name| match is_text(name) {
            true => format!("<{name}"),
            false => name.clone(),
        });
        let headings: Vec<String> =
            ["<target".to_owned()].into_iter().chain(headings).chain(["<audit".into()]).collect();
        let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
        let mut grid = Grid::new(&headings);
        for row in rows.iter().filter(|row| row.not_measured.is_none()) {
            for operation in operations(row, &table.columns) {
                let figure = |name: &String| cell(name, row, operation);
                let cells = table.columns.iter().map(figure);
                let audit = row.audit.lines().next().unwrap_or_default().chars().take(60).collect();
                grid.push([row.target.clone()].into_iter().chain(cells).chain([audit]).collect());
            }
        }
        out.push_str(&grid.render());
        seen.push(table.columns);
    }
    Ok(out)
}

fn is_text(column: &str) -> bool {
    ["system", "logic", "replication", "persistence", "operation", "method"].contains(&column)
}

/// One line per operation where the table has such a column.
fn operations<'a>(row: &'a Row, columns: &[String]) -> Vec<Option<&'a OperationResult>> {
    let by_operation = columns.iter().any(|name| name == "operation" || name == "method");
    match median_run(row) {
        Some(run) if by_operation && is_measured(row) => {
            run.by_operation.iter().filter(|one| one.count > 0).map(Some).collect()
        }
        _ => vec![None],
    }
}

fn median_run(row: &Row) -> Option<&Run> {
    let rate = row.figures.business_ops_per_s;
    row.runs.iter().find(|run| run.figures.business_ops_per_s == rate)
}

fn cell(column: &str, row: &Row, operation: Option<&OperationResult>) -> String {
    let figures = &row.figures;
    let text = match column {
        "system" => Some(row.version.clone()).filter(|version| !version.is_empty()),
        "logic" => Some(logic(&row.target).to_owned()),
        "replication" => Some(if row.replicas > 0 { "yes" } else { "no" }.to_owned()),
        "persistence" => Some(row.durability.clone()),
        "operation" => operation.map(|one| one.operation.to_lowercase()),
        "method" => operation.map(|one| one.operation.clone()),
        _ => None,
    };
    if let Some(text) = text {
        return text;
    }
    let rate = match operation {
        None => figures.business_ops_per_s,
        Some(one) => figures.business_ops_per_s.and_then(|rate| {
            let all = figures.operations.filter(|all| *all > 0)?;
            Some(rate * one.count as f64 / all as f64)
        }),
    };
    let latency = operation.map(|one| &one.latency_us).or(figures.latency_us.as_ref());
    let ms = |of: fn(&LatencySummary) -> f64| {
        latency.map_or("-".to_owned(), |latency| format!("{:.3}", of(latency) / 1_000.0))
    };
    let number = |value: Option<f64>| value.map_or("-".to_owned(), grouped);
    match column {
        "business_ops_per_s" | "requests_per_s" => number(rate),
        "latency_avg_ms" | "avg_ms" => ms(|latency| latency.avg),
        "median_ms" => ms(|latency| latency.p50),
        "p90_ms" => ms(|latency| latency.p90),
        "p95_ms" => ms(|latency| latency.p95),
        "p99_ms" => ms(|latency| latency.p99),
        "max_ms" => ms(|latency| latency.max),
        "latency_us" => latency.map_or("-".to_owned(), |latency| format!("{:.1}", latency.avg)),
        "cpu_percent_all_hosts" => {
            figures.cpu_percent.map_or("-".to_owned(), |percent| format!("{percent:.1}"))
        }
        "rx_packets_per_s" => number(figures.rx_packets_per_s),
        "tx_packets_per_s" => number(figures.tx_packets_per_s),
        "rx_kb_per_s" => number(figures.rx_kb_per_s),
        "tx_kb_per_s" => number(figures.tx_kb_per_s),
        "requested_tx_per_s" => number(row.load.rate),
        "tx_per_s_per_core" => {
            number(rate.map(|rate| rate / row.load.target_cores.len().max(1) as f64))
        }
        _ => "-".to_owned(),
    }
}

/// Where the rules run, in the words of the published tables.
fn logic(target: &str) -> &'static str {
    let system = target.split([':', ' ']).next().unwrap_or_default();
    match system.split_once('+').map(|(_, logic)| logic) {
        Some("lua") => "server (Lua)",
        Some("java") => "server (Java)",
        Some("module") => "server (module)",
        Some("client") => "client",
        _ if system == "scurry" => "server",
        _ => "none",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{AUDIT_OK, Figures};

    fn row(target: &str) -> Row {
        let latency = |us: f64| LatencySummary { avg: us, p90: 2.0 * us, ..Default::default() };
        let figures = Figures {
            business_ops_per_s: Some(4_000.0),
            operations: Some(8_000),
            latency_us: Some(latency(1_500.0)),
            cpu_percent: Some(99.0),
            ..Figures::default()
        };
        let operation = |operation: &str, count| OperationResult {
            operation: operation.to_owned(),
            count,
            latency_us: latency(500.0),
        };
        let by_operation = vec![operation("GET", 6_000), operation("SET", 2_000)];
        let run = Run { figures: figures.clone(), by_operation, ..Run::default() };
        Row {
            target: target.to_owned(),
            version: "valkey 8.0.1".into(),
            durability: "always".into(),
            audit: AUDIT_OK.to_owned(),
            figures,
            runs: vec![run],
            ..Row::default()
        }
    }

    #[test]
    fn a_row_has_the_published_columns() {
        let text = render("moaf-scur", &[row("valkey+lua:always")]).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with("target             system"), "{text}");
        let words: Vec<&str> = lines[2].split("  ").filter(|word| !word.is_empty()).collect();
        let words: Vec<&str> = words.into_iter().map(str::trim).collect();
        assert_eq!(
            words[..6],
            ["valkey+lua:always", "valkey 8.0.1", "server (Lua)", "no", "4 000", "1.500"]
        );
        assert_eq!(lines.len(), 3, "both tables have the same columns: {text}");
        assert_eq!(render("no such", &[row("a")]).unwrap(), "");
    }

    #[test]
    fn an_operation_has_its_share_of_the_rate() {
        let row = row("valkey");
        let columns = ["operation".to_owned(), "requests_per_s".to_owned()];
        let found: Vec<String> = operations(&row, &columns)
            .into_iter()
            .flat_map(|one| columns.each_ref().map(|name| cell(name, &row, one)))
            .collect();
        assert_eq!(found, ["get", "3 000", "set", "1 000"]);
        assert_eq!(cell("p90_ms", &row, operations(&row, &columns)[0]), "1.000");
        assert_eq!(cell("persistence", &row, None), "always");
        assert_eq!(cell("connections_1_rps", &row, None), "-");
    }
}
