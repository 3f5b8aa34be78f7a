//! Runs the tests of the plugin for LiteLLM's proxy, clients/litellm.

use super::python_client::succeed_in;

const PLUGIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../clients/litellm");
/// Python with redis-py, which `make test` installs.
const WITH_REDIS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.cache/venv/bin/python");
const PROXY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.cache/litellm/bin");
const CHECKERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.cache/python-client/bin");

#[test]
fn rules_hold_on_a_real_server() {
    succeed_in(
        PLUGIN,
        WITH_REDIS,
        &["-m", "unittest", "discover", "-s", "tests", "-p", "test_rules.py"],
    );
}

#[test]
fn its_types_and_style_are_checked() {
    succeed_in(PLUGIN, &format!("{CHECKERS}/mypy"), &["--no-incremental"]);
    succeed_in(PLUGIN, &format!("{CHECKERS}/ruff"), &["check", "--no-cache", "."]);
    succeed_in(PLUGIN, &format!("{CHECKERS}/ruff"), &["format", "--no-cache", "--check", "."]);
}

/// LiteLLM's own proxy with a provider without a model, and the server of this build. The proxy is killed in the middle
/// of 500 calls.
#[test]
fn the_real_proxy_spends_no_more_than_its_budgets() {
    succeed_in(
        PLUGIN,
        &format!("{PROXY}/python"),
        &["-m", "pytest", "-q", "-p", "no:cacheprovider"],
    );
}
