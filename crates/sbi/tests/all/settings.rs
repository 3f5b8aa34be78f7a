//! `[nchf.oauth2]`, right and wrong.

use scurry_sbi::{AUDIENCES_MAX, ISSUERS_MAX, LEEWAY_S, OauthSettings};
use std::path::Path;

const RIGHT: &str = "keys = ['/etc/scurry/nrf.pem']\nissuers = ['4947a69a']\naudiences = ['CHF']\n";

fn settings(text: &str) -> Result<OauthSettings, String> {
    toml::from_str(text).map_err(|error| error.to_string())
}

/// Returns what is said of the right settings with this change.
fn words(from: &str, to: &str) -> String {
    assert!(RIGHT.contains(from), "{from}");
    let changed = settings(&RIGHT.replace(from, to)).expect("settings");
    changed.rules("nchf-convergedcharging").expect_err("a mistake").to_string()
}

#[test]
fn right_settings_become_rules() {
    let settings = settings(RIGHT).expect("settings");
    assert_eq!(settings.keys, [Path::new("/etc/scurry/nrf.pem")]);
    let rules = settings.rules("nchf-convergedcharging").expect("rules");
    assert_eq!(rules.issuers, ["4947a69a"]);
    assert_eq!(rules.audiences, ["CHF"]);
    assert_eq!((rules.scope.as_str(), rules.leeway_s), ("nchf-convergedcharging", LEEWAY_S));
}

#[test]
fn keys_that_do_not_exist_and_keys_that_are_missing_are_errors() {
    let unknown = settings(&format!("{RIGHT}audience = 'CHF'\n")).expect_err("unknown");
    assert!(unknown.contains("unknown field `audience`, expected one of `keys`"), "{unknown}");
    for key in ["keys", "issuers", "audiences"] {
        let lines = RIGHT.lines().filter(|line| !line.starts_with(&format!("{key} ")));
        let text: Vec<&str> = lines.collect();
        let missing = settings(&text.join("\n")).expect_err("missing");
        assert!(missing.contains(&format!("missing field `{key}`")), "{missing}");
    }
}

#[test]
fn mistakes_are_named_with_the_cure() {
    let or_remove = "or remove [nchf.oauth2] to ask for no tokens";
    let empty = format!(
        "[nchf.oauth2] `keys` is empty: name the file with the public key of the NRF, {or_remove}"
    );
    assert_eq!(words("['/etc/scurry/nrf.pem']", "[]"), empty);
    let empty = format!(
        "[nchf.oauth2] `issuers` is empty: give the NF instance id of the NRF, as `iss` of its \
         tokens has it, {or_remove}"
    );
    assert_eq!(words("['4947a69a']", "[]"), empty);
    let empty = format!(
        "[nchf.oauth2] `audiences` is empty: give the NF type \"CHF\", and the NF instance id of \
         this service, {or_remove}"
    );
    assert_eq!(words("['CHF']", "[]"), empty);
    let spaces = "[nchf.oauth2] `audiences` has \"CHF, SMF\": give 1 to 256 characters of ASCII \
                  without spaces";
    assert_eq!(words("'CHF'", "'CHF, SMF'"), spaces);
    assert!(words("'CHF'", "''").starts_with("[nchf.oauth2] `audiences` has \"\": give 1 to"));
    let long = words("'4947a69a'", &format!("'{}'", "x".repeat(257)));
    assert!(long.ends_with("...: give 1 to 256 characters of ASCII without spaces"), "{long}");
    let twice = "[nchf.oauth2] `audiences` has \"CHF\": it is there twice: remove one";
    assert_eq!(words("'CHF'", "'CHF', 'x', 'CHF'"), twice);
    let many =
        |count: usize| (0..count).map(|index| format!("'{index}'")).collect::<Vec<_>>().join(",");
    let audiences = words("'CHF'", &many(AUDIENCES_MAX + 1));
    assert_eq!(audiences, "[nchf.oauth2] `audiences` has 17 values: at most 16 are allowed");
    let most = settings(&RIGHT.replace("'4947a69a'", &many(ISSUERS_MAX))).expect("settings");
    assert!(most.rules("x").is_ok());
}
