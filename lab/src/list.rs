//! `scurry-lab list`: what can be run here, and how to get the rest to run.

use std::fmt::Write;
use std::path::Path;

use anyhow::Result;

use crate::scenario::{Scenario, ScenarioKind};
use crate::target::{Durability, Target};

/// Returns the scenarios and the targets as text.
///
/// # Errors
/// When a shipped scenario is broken, which a test excludes.
pub fn list(scurry: Option<&Path>) -> Result<String> {
    let mut out = String::from("scenarios\n");
    for scenario in Scenario::all()? {
        writeln!(out, "  {:<22}{}", scenario.name, scenario.description)?;
        writeln!(
            out,
            "  {:<22}default {} sessions over {} connections, depth {}, {} s after {} s of warm-up",
            "",
            scenario.sessions,
            scenario.connections,
            scenario.depth,
            scenario.seconds,
            scenario.warmup_seconds
        )?;
    }
    out.push_str("targets\n");
    for target in Target::ALL {
        writeln!(out, "  {:<22}{}", target.name(), target.description())?;
        let words: Vec<&str> = Durability::of(*target).iter().map(|one| one.word()).collect();
        writeln!(out, "  {:<22}durability: {}", "", words.join(", "))?;
        match target.locate(ScenarioKind::Kv, scurry) {
            Ok(program) => writeln!(out, "  {:<22}ready: {}", "", program.display())?,
            Err(missing) => writeln!(out, "  {:<22}not here: {missing}", "")?,
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    #[test]
    fn everything_is_listed() {
        let text = super::list(None).unwrap();
        let all = crate::target::Target::ALL.iter().map(|target| target.name());
        for name in ["moaf-scur", "kv"].into_iter().chain(all) {
            assert!(text.contains(&format!("  {name} ")), "{name}: {text}");
        }
    }
}
