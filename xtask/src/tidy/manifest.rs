//! What each crate of the workspace depends on, read from its Cargo.toml.

use super::tree::Tree;

/// One crate of the workspace.
pub(crate) struct Manifest {
    /// Directory of the crate.
    pub(crate) dir: String,
    /// Name of the crate as a package.
    pub(crate) name: String,
    /// Everything it depends on, in any way.
    pub(crate) dependencies: Vec<Dependency>,
}

/// One dependency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// Name as a package, whatever the crate calls it.
    pub(crate) package: String,
    /// True when only tests, benches and examples use it.
    pub(crate) dev: bool,
}

impl Manifest {
    /// True when the crate is a part of the product.
    pub(crate) fn in_product(&self) -> bool {
        self.dir.starts_with("crates/")
    }

    /// The path of the crate's Cargo.toml.
    pub(crate) fn path(&self) -> String {
        format!("{}/Cargo.toml", self.dir)
    }
}

/// Every crate of the workspace. A manifest that is not TOML is cargo's to report.
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
    fn every_way_to_depend_is_read() {
        let tree = Tree::of(&[
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
