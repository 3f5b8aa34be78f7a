//! The servers that tests run on, and the module that they load.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Server product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Product {
    Valkey,
    Redis,
    /// Valkey 9.0 or newer, with atomic slot migration.
    Valkey9,
    /// Redis older than the module needs.
    Redis6,
}

/// Returns the products that each test runs on.
pub(crate) fn products() -> Vec<Product> {
    let mut products = vec![Product::Valkey, Product::Redis];
    products.extend(optional(Product::Valkey9));
    products
}

/// Returns a product that not every machine has. If its binary is not named, prints that the test is skipped.
pub(crate) fn optional(product: Product) -> Option<Product> {
    let variable = product.variable()?;
    if std::env::var_os(variable).is_none() {
        eprintln!("skipped for {product:?}: {variable} names no server");
        return None;
    }
    Some(product)
}

impl Product {
    /// Returns the variable that names the binary of an optional product.
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

    /// Returns settings for tests, which all but the oldest product support.
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

/// Returns the module, after building it separately with its own profile.
pub(crate) fn module() -> &'static Path {
    static MODULE: OnceLock<PathBuf> = OnceLock::new();
    MODULE.get_or_init(|| {
        if let Some(module) = std::env::var_os("SCURRY_MODULE") {
            return PathBuf::from(module);
        }
        // The program is target/debug/deps/NAME-HASH.
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
