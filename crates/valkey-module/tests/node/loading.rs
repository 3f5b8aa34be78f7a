//! The servers and settings with which the module loads, and its messages where it does not.

use crate::product::{Product, module, optional, products};
use crate::support::Node;

#[test]
fn a_server_that_may_evict_accounts_is_refused() {
    for product in products() {
        let path = module().display().to_string();
        let settings = ["--maxmemory-policy", "allkeys-lru", "--loadmodule", &path];
        let said = Node::refusal(product, &settings);
        assert!(said.contains("maxmemory-policy is allkeys-lru"), "{said}");
        assert!(said.contains("set it to noeviction"), "{said}");
    }
}

#[test]
fn a_policy_that_evicts_is_told_when_it_is_set_afterwards() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        let evicts = |said: &str| {
            let said = said.split(&['\r', '\n', ' ', '"'][..]);
            said.filter_map(|word| word.strip_prefix("scurry_evicts_accounts:")).collect::<String>()
        };
        assert_eq!(evicts(&client.ask("INFO scurry")), "0");
        client.expect("CONFIG SET maxmemory-policy allkeys-lru", "OK");
        node.logs("maxmemory-policy is allkeys-lru now: at maxmemory accounts are evicted");
        assert_eq!(evicts(&client.ask("INFO scurry")), "1");
        client.expect("CONFIG SET maxmemory-policy noeviction", "OK");
        node.logs("maxmemory-policy is noeviction again");
        assert_eq!(evicts(&client.ask("INFO scurry")), "0");
    }
}

#[test]
fn info_shows_the_version_of_the_time_zones() {
    for product in products() {
        let said = Node::start(product).connect().ask("INFO scurry");
        let expected = format!("scurry_tzdata_version:{}", scurry_ledger::TZDATA_VERSION);
        assert!(said.contains(&expected), "{said}");
    }
}

#[test]
fn options_are_checked() {
    for product in products() {
        let path = module().display().to_string();
        for (options, why) in [
            (&["sessions", "3"][..], "sessions is not a limit"),
            (&["items_max", "65"], "items_max must be 1 to 64"),
            (&["node", "512"], "node must be 0 to 511"),
            (&["tcc_ms_max"], "tcc_ms_max has no value"),
            (&["tcc_ms_max", "5"], "validity_ms_default must not be above tcc_ms_max"),
        ] {
            let settings = [&["--loadmodule", path.as_str()][..], options].concat();
            let said = Node::refusal(product, &settings);
            assert!(said.contains(why), "{said}");
        }
        let node = Node::with_options(product, &[], &["answers_max", "2", "node", "7"]);
        let mut client = node.connect();
        client.expect("SCUR.CREATE alice BUCKET main cent 100", "[OK, 1]");
        for request in 0..3 {
            let verb = if request == 0 { "RESERVE" } else { "UPDATE" };
            client.ask(&format!("SCUR.{verb} alice s {request} ITEM 1 cent REQUESTED 1"));
        }
        let gone = client.ask("SCUR.UPDATE alice s 0 ITEM 1 cent REQUESTED 1");
        assert!(gone.starts_with("!OUT_OF_WINDOW"), "{gone}");
        let version: u64 =
            client.ask("ENTITY.PUT e x")[4..].trim_end_matches(']').parse().expect("a version");
        assert_eq!(version % 512, 7, "the node's number is in its versions");
    }
}

#[test]
fn it_is_loaded_once() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        client.expect("SCUR.CREATE alice BUCKET main cent 100", "[OK, 1]");
        let other = node.directory().join("other.so");
        std::fs::copy(module(), &other).expect("a copy");
        for path in [module(), &other] {
            let said = client.ask(&format!("MODULE LOAD {}", path.display()));
            assert!(said.starts_with("!ERR Error loading the extension"), "{said}");
        }
        node.logs("scurry is loaded already");
        let said = client.ask("MODULE UNLOAD scurry");
        assert!(said.starts_with('!'), "{said}");
        client.expect("SCUR.CHECK alice cent 100", "[OK, 100]");
    }
}

#[test]
fn the_server_knows_the_keys_of_every_command() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        let all = scurry_resp::table::SCUR.iter().chain(scurry_resp::table::ENTITY);
        for spec in all.filter(|spec| spec.keys.0 == 1) {
            let words: Vec<&str> = spec.example.split_whitespace().collect();
            let mut requests = scurry_resp::Requests::default();
            requests.push(words.iter().map(|word| word.as_bytes()));
            let wanted: Vec<&str> =
                spec.key_positions(requests.get(0)).map(|at| words[at]).collect();
            let keys = client.ask(&format!("COMMAND GETKEYS {}", words.join(" ")));
            assert_eq!(keys, format!("[{}]", wanted.join(", ")), "{}", spec.name);
        }
    }
}

#[test]
fn a_server_that_is_too_old_is_told_what_it_lacks() {
    let Some(product) = optional(Product::Redis6) else { return };
    let said = Node::refusal(product, &["--loadmodule", &module().display().to_string()]);
    let why = ": Valkey, or Redis 7.0 or newer, is needed";
    assert!(said.contains("this server has no RedisModule_") && said.contains(why), "{said}");
    assert!(said.contains("Can't load module from"), "{said}");
}

#[test]
fn two_copies_keep_the_server_from_starting() {
    for product in products() {
        let path = module().display().to_string();
        let directory = tempfile::TempDir::new().expect("a directory");
        let other = directory.path().join("other.so");
        std::fs::copy(module(), &other).expect("a copy");
        let other = other.display().to_string();
        for second in [&path, &other] {
            let said = Node::refusal(product, &["--loadmodule", &path, "--loadmodule", second]);
            assert!(said.contains("scurry is loaded already: load it once"), "{said}");
        }
    }
}
