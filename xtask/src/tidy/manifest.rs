//! The dependencies of each crate of the workspace, read from its Cargo.toml.

use super::Finding;
use super::tree::Tree;

const LAB: &str = "lab/Cargo.toml";

/// Crate of the workspace.
pub(crate) struct Manifest {
    /// Directory of the crate.
    pub(crate) dir: String,
    /// Package name of the crate.
    pub(crate) name: String,
    /// All dependencies, of any kind.
    pub(crate) dependencies: Vec<Dependency>,
}

/// One dependency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// Package name, whatever the crate calls it.
    pub(crate) package: String,
    /// True when only tests, benches and examples use it.
    pub(crate) dev: bool,
}

impl Manifest {
    /// Reports whether the crate is part of the product.
    pub(crate) fn in_product(&self) -> bool {
        Tree::in_product(&self.dir)
    }

    /// Returns the path of the crate's Cargo.toml.
    pub(crate) fn path(&self) -> String {
        format!("{}/Cargo.toml", self.dir)
    }
}

/// Reads every crate of the workspace. A manifest that is not TOML is skipped, because cargo reports it.
pub(crate) fn read_all(tree: &Tree) -> Vec<Manifest> {
    let root = table(tree, "Cargo.toml");
    let shared = root.get("workspace").and_then(|value| value.get("dependencies"));
    tree.crate_dirs()
        .map(|dir| {
            let manifest = table(tree, &format!("{dir}/Cargo.toml"));
            let name = manifest.get("package").and_then(|value| value.get("name"));
            Manifest {
                dir: dir.to_owned(),
                name: name.and_then(toml::Value::as_str).unwrap_or(dir).to_owned(),
                dependencies: dependencies(&manifest, shared),
            }
        })
        .collect()
}

/// Checks that the lab, a separate workspace, has the same settings as the root.
pub(crate) fn lab_settings(tree: &Tree) -> Vec<Finding> {
    let (root, lab) = (table(tree, "Cargo.toml"), table(tree, LAB));
    let at = |table: &toml::Table, keys: &[&str]| {
        let value = keys
            .iter()
            .try_fold(toml::Value::Table(table.clone()), |value, key| value.get(key).cloned());
        value.unwrap_or(toml::Value::Boolean(false))
    };
    let package = ["edition", "rust-version", "license", "version"]
        .map(|key| (at(&root, &["workspace", "package", key]), at(&lab, &["package", key]), key));
    let lints = (at(&root, &["workspace", "lints"]), at(&lab, &["lints"]), "lints");
    let release = ["profile", "release"];
    let release = (at(&root, &release), at(&lab, &release), "profile.release");
    package
        .into_iter()
        .chain([lints, release])
        .filter(|(root, lab, _)| root != lab)
        .map(|(.., key)| {
            Finding::in_file(LAB, format!("`{key}` is not as in the root's Cargo.toml"))
        })
        .collect()
}

fn table(tree: &Tree, path: &str) -> toml::Table {
    tree.text(path).and_then(|text| text.parse().ok()).unwrap_or_default()
}

fn dependencies(manifest: &toml::Table, shared: Option<&toml::Value>) -> Vec<Dependency> {
    let mut found = Vec::new();
    let per_target = manifest.get("target").and_then(toml::Value::as_table);
    let tables = per_target.into_iter().flat_map(|targets| targets.values());
    for table in tables.filter_map(toml::Value::as_table).chain([manifest]) {
        for (section, dev) in
            [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)]
        {
            let entries = table.get(section).and_then(toml::Value::as_table);
            for (name, value) in entries.into_iter().flatten() {
                let inherited = value.get("workspace").is_some();
                let source =
                    if inherited { shared.and_then(|all| all.get(name)) } else { Some(value) };
                let package = source.and_then(|value| value.get("package"));
                let package = package.and_then(toml::Value::as_str).unwrap_or(name).to_owned();
                found.push(Dependency { package, dev });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_lints_of_the_lab_are_found() {
        let root =
            "[workspace.lints.rust]\nunsafe_code = \"deny\"\n[profile.release]\nlto = \"fat\"\n";
        let lab = "[lints.rust]\nunsafe_code = \"warn\"\n[profile.release]\nlto = \"fat\"\n";
        let found = |lab: &str| -> Vec<String> {
            let tree = Tree::from_files(&[("Cargo.toml", root), (LAB, lab)]);
            lab_settings(&tree).into_iter().map(|finding| finding.what).collect()
        };
        assert_eq!(found(lab), ["`lints` is not as in the root's Cargo.toml"]);
        assert!(found(&lab.replace("warn", "deny")).is_empty());
    }

    #[test]
    fn every_way_to_depend_is_read() {
        let tree = Tree::from_files(&[
            (
                "Cargo.toml",
                "[workspace.dependencies]\nshared = { package = \"real\", version = \"1\" }",
            ),
            (
                "crates/a/Cargo.toml",
                "[package]\nname = \"scurry-a\"\n\
                 [dependencies]\nshared.workspace = true\nplain = \"1\"\n\
                 [build-dependencies]\ncc = \"1\"\n\
                 [dev-dependencies]\nother = { package = \"renamed\", version = \"1\" }\n\
                 [target.'cfg(unix)'.dependencies]\nunix = \"1\"\n",
            ),
        ]);
        let all = read_all(&tree);
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].name.as_str(), all[0].in_product()), ("scurry-a", true));
        let named: Vec<(&str, bool)> =
            all[0].dependencies.iter().map(|d| (d.package.as_str(), d.dev)).collect();
        assert_eq!(
            named,
            [("unix", false), ("plain", false), ("real", false), ("cc", false), ("renamed", true)]
        );
    }
}
