//! The servers that tests run on, and the module that they load.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The server that keeps the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Product {
    Valkey,
    Redis,
    /// Valkey 9.0 or newer, which moves slots by itself.
    Valkey9,
    /// Older than what the module needs.
    Redis6,
}

/// Each test runs on all of these.
pub(crate) fn products() -> Vec<Product> {
    let mut products = vec![Product::Valkey, Product::Redis];
    products.extend(optional(Product::Valkey9));
    products
}

/// A server that not every machine has; where it is not named, the test says that it is left out.
pub(crate) fn optional(product: Product) -> Option<Product> {
    let variable = product.variable()?;
    if std::env::var_os(variable).is_none() {
        eprintln!("skipped for {product:?}: {variable} names no server");
        return None;
    }
    Some(product)
}

impl Product {
    /// The variable that names the binary of a server that is looked for nowhere else.
    fn variable(self) -> Option<&'static str> {
        match self {
            Product::Valkey | Product::Redis => None,
            Product::Valkey9 => Some("SCURRY_VALKEY9"),
            Product::Redis6 => Some("SCURRY_REDIS6"),
        }
    }

    pub(crate) fn binary(self) -> PathBuf {
        match self.variable() {
            Some(variable) => std::env::var_os(variable).expect("it is asked for first").into(),
            None if self == Product::Redis => "redis-server".into(),
            None => "valkey-server".into(),
        }
    }

    /// Settings for tests that all but the oldest have.
    pub(crate) fn settings(self) -> &'static [&'static str] {
        match self {
            Product::Redis6 => &[],
            _ => &[
                "--enable-debug-command",
                "local",
                "--enable-module-command",
                "local",
                "--shutdown-timeout",
                "1",
            ],
        }
    }
}

/// The module, brought up to date first: built alone, with a profile of its own.
pub(crate) fn module() -> &'static Path {
    static MODULE: OnceLock<PathBuf> = OnceLock::new();
    MODULE.get_or_init(|| {
        if let Some(module) = std::env::var_os("SCURRY_MODULE") {
            return PathBuf::from(module);
        }
        // target/debug/deps/this-test
        let test = std::env::current_exe().expect("the path of this test");
        let target = test.ancestors().nth(3).expect("the test is in target/*/deps").to_owned();
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        cargo.args(["build", "--quiet", "--package", "scurry-valkey-module", "--lib"]);
        cargo.args(["--profile", "module", "--target-dir"]).arg(&target);
        cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
        assert!(cargo.status().expect("cargo runs").success(), "libscurry.so does not build");
        target.join("module/libscurry.so")
    })
}
