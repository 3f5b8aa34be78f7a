//! Scenario files: a file may extend another, have a short form, and define several steps that differ in a few values.

use anyhow::{Context, Result, bail, ensure};
use toml::{Table, Value};

use super::{Scenario, built_in_text};

/// Most steps of one scenario.
const STEPS_MAX: usize = 1_000;
/// Keys of a file that are not values of the scenario.
const BASE: &str = "base";
const AXIS: &str = "axis";
const SHORT: &str = "short";

/// How much of a scenario is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// All of it.
    Long,
    /// The short form, which may leave out steps.
    Short,
    /// Every step with the values of the short form.
    ShortSteps,
}

/// Scenario file, merged with its base file.
#[derive(Clone, Debug)]
pub(super) struct File {
    values: Table,
    axes: Vec<Vec<Case>>,
    short: Table,
}

/// One value of an axis: its name, and the settings that differ.
#[derive(Clone, Debug)]
struct Case {
    name: String,
    values: Table,
    /// True when the short form includes it.
    in_short: bool,
}

impl File {
    /// Parses a file's text.
    ///
    /// # Errors
    /// When the text is not TOML, extends a scenario that the lab does not ship, or has axes of another shape.
    pub(super) fn read(text: &str) -> Result<File> {
        let mut own: Table = toml::from_str(text).context("reading a scenario file")?;
        let axes = match own.remove(AXIS) {
            None => Vec::new(),
            Some(Value::Array(axes)) => axes.into_iter().map(axis).collect::<Result<_>>()?,
            Some(_) => bail!("{AXIS} is no list: write [[{AXIS}]]"),
        };
        let short = match own.remove(SHORT) {
            None => Table::new(),
            Some(Value::Table(short)) => short,
            Some(_) => bail!("{SHORT} is no table: write [{SHORT}]"),
        };
        let values = match own.remove(BASE) {
            None => own,
            Some(Value::String(name)) => {
                let mut values = File::read(built_in_text(&name)?)?.values;
                merge(&mut values, own);
                values
            }
            Some(_) => bail!("{BASE} is no name of a scenario"),
        };
        Ok(File { values, axes, short })
    }

    /// Returns the scenario without its axes.
    pub(super) fn plain(&self) -> Result<Scenario> {
        scenario(self.values.clone(), None)
    }

    /// Returns one scenario for each step: every combination of the values of all axes.
    pub(super) fn steps(&self, form: Form, set: &[String]) -> Result<Vec<Scenario>> {
        let over = set.iter().map(|one| value(one)).collect::<Result<Vec<_>>>()?;
        let mut steps = vec![(Vec::new(), self.values.clone())];
        for axis in &self.axes {
            let mut next = Vec::new();
            for (names, values) in &steps {
                for case in axis.iter().filter(|case| case.in_short || form != Form::Short) {
                    let (mut names, mut values) = (names.clone(), values.clone());
                    names.push(case.name.as_str());
                    merge(&mut values, case.values.clone());
                    next.push((names, values));
                }
            }
            ensure!(!next.is_empty(), "an axis has no value in the short form");
            ensure!(next.len() <= STEPS_MAX, "a scenario has more than {STEPS_MAX} steps");
            steps = next;
        }
        let step = |(names, mut values): (Vec<&str>, Table)| {
            if form != Form::Long {
                merge(&mut values, self.short.clone());
            }
            over.iter().for_each(|over| merge(&mut values, over.clone()));
            let name = (!names.is_empty()).then(|| names.join(" "));
            scenario(values, name)
        };
        steps.into_iter().map(step).collect()
    }
}

/// Parses one `--set KEY=VALUE`, where KEY may be a path.
fn value(text: &str) -> Result<Table> {
    ensure!(text.contains('='), "--set {text}: say KEY=VALUE");
    toml::from_str(text).with_context(|| format!("--set {text}"))
}

fn axis(value: Value) -> Result<Vec<Case>> {
    let Some(Value::Array(cases)) = value.get("value") else {
        bail!("an axis has no values: write [[{AXIS}.value]]")
    };
    let case = |case: &Value| -> Result<Case> {
        let mut values = case.as_table().context("a value of an axis is no table")?.clone();
        let Some(Value::String(name)) = values.remove("name") else {
            bail!("a value of an axis has no name")
        };
        let in_short = match values.remove(SHORT) {
            None => true,
            Some(Value::Boolean(is)) => is,
            Some(_) => bail!("{SHORT} of a value of an axis is neither true nor false"),
        };
        Ok(Case { name, values, in_short })
    };
    cases.iter().map(case).collect()
}

/// Replaces values by the values in `over`; tables are merged.
fn merge(values: &mut Table, over: Table) {
    for (name, value) in over {
        match (values.get_mut(&name), value) {
            (Some(Value::Table(inner)), Value::Table(over)) => merge(inner, over),
            (_, value) => {
                values.insert(name, value);
            }
        }
    }
}

fn scenario(values: Table, step: Option<String>) -> Result<Scenario> {
    let mut scenario: Scenario =
        Value::Table(values).try_into().context("reading a scenario file")?;
    scenario.step = step;
    scenario.check()?;
    Ok(scenario)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_AXES: &str = r#"
        base = "kv"
        name = "two"
        [short]
        seconds = 0.5
        kv = { keys = 10 }
        [[axis]]
        [[axis.value]]
        name = "get"
        kv = { get_share = 1, set_share = 0 }
        [[axis.value]]
        name = "set"
        kv = { get_share = 0, set_share = 1 }
        [[axis]]
        [[axis.value]]
        name = "one"
        sessions = 1
        connections = 1
        [[axis.value]]
        name = "two"
        sessions = 2
        connections = 2
    "#;

    #[test]
    fn steps_are_the_product_of_the_axes() {
        let file = File::read(TWO_AXES).unwrap();
        let steps = file.steps(Form::Long, &[]).unwrap();
        let names: Vec<&str> = steps.iter().map(|step| step.step.as_deref().unwrap()).collect();
        assert_eq!(names, ["get one", "get two", "set one", "set two"]);
        let set_one = &steps[2];
        let kv = set_one.kv.as_ref().unwrap();
        assert_eq!((set_one.sessions, kv.get_share, kv.set_share), (1, 0, 1));
        // Values that neither file sets come from the base.
        assert_eq!((kv.keys, set_one.seconds), (1_000_000, 10.0));
        assert_eq!(file.plain().unwrap().step, None);
    }

    #[test]
    fn the_short_form_has_the_last_word() {
        let steps = File::read(TWO_AXES).unwrap().steps(Form::Short, &[]).unwrap();
        let short = &steps[3];
        assert_eq!((short.seconds, short.kv.as_ref().unwrap().keys, short.sessions), (0.5, 10, 2));
    }

    #[test]
    fn the_short_form_leaves_out_what_says_so() {
        let text = TWO_AXES.replace("name = \"one\"", "name = \"one\"\nshort = false");
        let file = File::read(&text).unwrap();
        let names = |form| -> Vec<String> {
            file.steps(form, &[]).unwrap().into_iter().filter_map(|step| step.step).collect()
        };
        assert_eq!(names(Form::Short), ["get two", "set two"]);
        assert_eq!(names(Form::Long).len(), 4);
        assert_eq!(names(Form::ShortSteps).len(), 4);
        let none = text.replace("name = \"two\"\n        s", "name = \"two\"\nshort = false\ns");
        let error = File::read(&none).unwrap().steps(Form::Short, &[]).unwrap_err().to_string();
        assert!(error.contains("no value in the short form"), "{error}");
    }

    #[test]
    fn files_of_another_shape_are_refused() {
        for (text, expected) in [
            ("base = \"mongo\"", "no scenario `mongo`"),
            ("base = 7", "no name of a scenario"),
            ("base = \"kv\"\n[[axis]]\nname = \"x\"", "write [[axis.value]]"),
            ("base = \"kv\"\n[[axis]]\n[[axis.value]]\nsessions = 1", "has no name"),
            ("short = 1", "write [short]"),
            ("[[axis]]\n[[axis.value]]\nname = \"x\"\nshort = 1", "neither true nor false"),
            ("axis = 1", "write [[axis]]"),
        ] {
            let error = File::read(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
