//! Atomic slot migration of Valkey 9.0 and newer: accounts with open sessions, timers and remembered answers, and
//! entities, move while clients write to them, and move back.

use crate::product::{Product, optional};
use crate::support::{Client, Node};

/// Number of accounts that are moved.
const ACCOUNTS: usize = 300;
/// Slots that are moved: half of all.
const SLOTS: &str = "0 8191";

/// Two primaries, the first of which owns all slots, and a replica of the second that writes a file.
struct Cluster {
    nodes: [Node; 3],
    clients: [Client; 3],
    ids: [String; 3],
}

impl Cluster {
    fn start(product: Product) -> Cluster {
        // A primary that loses its last slots stays a primary.
        let settings =
            ["--cluster-allow-replica-migration", "no", "--cluster-node-timeout", "5000"];
        let kept = [&settings[..], &["--appendonly", "yes"]].concat();
        let nodes = [&settings[..], &settings[..], &kept];
        let nodes = nodes.map(|settings| Node::of_cluster(product, settings));
        let mut clients = [0, 1, 2].map(|at: usize| nodes[at].connect());
        clients[0].expect("CLUSTER ADDSLOTSRANGE 0 16383", "OK");
        for at in [1, 2] {
            let (port, bus) = nodes[0].cluster_ports();
            clients[at].expect(&format!("CLUSTER MEET 127.0.0.1 {port} {bus}"), "OK");
        }
        for client in &mut clients {
            client.until("CLUSTER NODES", |nodes| {
                nodes.matches(" connected").count() == 3 && !nodes.contains("handshake")
            });
            client.until("CLUSTER INFO", |info| info.contains("cluster_state:ok"));
        }
        let ids = [0, 1, 2].map(|at: usize| clients[at].ask("CLUSTER MYID"));
        clients[2].expect(&format!("CLUSTER REPLICATE {}", ids[1]), "OK");
        clients[2].until("INFO replication", |info| info.contains("master_link_status:up"));
        Cluster { nodes, clients, ids }
    }

    /// Returns the reply of the node that owns the key, after retries until one does.
    fn ask(&mut self, line: &str) -> String {
        for _ in 0..1_000 {
            for at in [0, 1] {
                let said = self.clients[at].ask(line);
                if !["!MOVED", "!TRYAGAIN", "!CLUSTERDOWN"].iter().any(|no| said.starts_with(no)) {
                    return said;
                }
            }
        }
        panic!("nobody owns what {line} is about");
    }

    /// Starts the migration of the slots.
    fn move_slots(&mut self, from: usize, to: usize) {
        let line = format!("CLUSTER MIGRATESLOTS SLOTSRANGE {SLOTS} NODE {}", self.ids[to]);
        self.clients[from].expect(&line, "OK");
    }

    /// Returns the state of the newest migration.
    fn migration(&mut self, of: usize) -> String {
        let all = self.clients[of].ask("CLUSTER GETSLOTMIGRATIONS");
        let state = all.split("state, ").nth(1).and_then(|rest| rest.split(',').next());
        state.unwrap_or_else(|| panic!("no state in {all}")).to_owned()
    }

    /// Returns sums over both primaries: accounts, open sessions, and the columns of cents.
    fn totals(&mut self) -> Vec<i64> {
        let mut sums = vec![0; 11];
        for client in &mut self.clients[..2] {
            let totals = client.ask("SCUR.TOTALS");
            let mut words = totals.split([' ', ',', '[', ']']);
            let numbers = words.by_ref().filter_map(|word| word.parse::<i64>().ok());
            for (sum, number) in sums.iter_mut().zip(numbers) {
                *sum += number;
            }
        }
        sums
    }

    /// Waits until the sums are these.
    fn settles(&mut self, expected: &[i64]) {
        let mut totals = Vec::new();
        for _ in 0..1_000 {
            totals = self.totals();
            if totals == expected {
                return;
            }
            self.clients[0].ask("DEBUG SLEEP 0.01");
        }
        panic!("the totals are {totals:?} and not {expected:?}");
    }

    /// Checks that the replica has the same bytes as its primary.
    fn copy_agrees(&mut self) {
        self.clients[1].expect("WAIT 1 20000", "1");
        let keys = self.clients[1].ask("KEYS *");
        assert_eq!(self.clients[2].ask("DBSIZE"), self.clients[1].ask("DBSIZE"));
        for key in keys.trim_matches(['[', ']']).split(", ").filter(|key| !key.is_empty()) {
            let digest = self.clients[1].digest(key);
            assert_eq!(self.clients[2].digest(key), digest, "{key}");
        }
        assert_eq!(self.clients[2].ask("SCUR.TOTALS"), self.clients[1].ask("SCUR.TOTALS"));
    }

    fn refuses_apply(&mut self) {
        for client in &mut self.clients[..2] {
            for line in ["SCUR.APPLY a1 x", "SCUR.APPLY a1 IMAGE x", "ENTITY.APPLY e1 1 -1 v"] {
                let said = client.ask(line);
                let refused = said.starts_with("!ERR only a primary") || said.starts_with("!MOVED");
                assert!(refused, "{line}: {said}");
            }
        }
    }
}

/// Creates accounts of 1000 with an open session that holds 40, and entities that live, expire and are deleted.
fn fill(cluster: &mut Cluster) {
    for number in 0..ACCOUNTS {
        let name = format!("a{number}");
        for (line, reply) in [
            (format!("SCUR.CREATE {name} BUCKET main cent 1000"), "[OK, 1]"),
            (format!("SCUR.DEBIT {name} first cent 10"), "[OK, 0, 2, 10]"),
            (
                format!("SCUR.RESERVE {name} s 0 TCC 600000 ITEM 1 cent REQUESTED 40"),
                "[OK, 0, 1, [[1, OK, 40, 0, 0]]]",
            ),
        ] {
            assert_eq!(cluster.ask(&line), reply, "{line}");
        }
    }
    for number in 0..50 {
        let name = format!("e{number}");
        let line = format!("ENTITY.PUT {name} value VERSION 10 PXAT 4102444800123");
        assert_eq!(cluster.ask(&line), "[1, 10]");
        assert_eq!(cluster.ask(&format!("ENTITY.PUT d{name} value VERSION 10")), "[1, 10]");
        assert_eq!(cluster.ask(&format!("ENTITY.DEL d{name} VERSION 20")), "[1, 20]");
    }
}

fn held(debits: i64) -> Vec<i64> {
    let accounts = i64::try_from(ACCOUNTS).expect("a number");
    let used = 10 * accounts + debits;
    let (balance, credited) = (960 * accounts - used, 1000 * accounts);
    vec![accounts, accounts, balance, 40 * accounts, credited, 0, used, 0, 0, 0, 0]
}

#[test]
fn accounts_move_while_they_are_charged_and_come_back() {
    let Some(product) = optional(Product::Valkey9) else { return };
    let mut cluster = Cluster::start(product);
    fill(&mut cluster);
    cluster.settles(&held(0));
    let mut debits = 0;
    for (from, to) in [(0, 1), (1, 0), (0, 1)] {
        cluster.move_slots(from, to);
        cluster.refuses_apply();
        // Debits during the migration. Each is sent twice and counts once.
        let mut writes = 0;
        while cluster.migration(from) != "success" {
            let state = cluster.migration(from);
            assert!(!["failed", "canceled"].contains(&state.as_str()), "{state}");
            let line = format!("SCUR.DEBIT a{} d{debits} cent 1", writes % ACCOUNTS);
            let first = cluster.ask(&line);
            assert!(first.starts_with("[OK, 0, "), "{line}: {first}");
            let again = cluster.ask(&line);
            assert_eq!(again, first.replacen("[OK, 0", "[OK, 1", 1), "{line}");
            (debits, writes) = (debits + 1, writes + 1);
        }
        println!("{from} to {to}: {writes} debits while the slots moved");
        cluster.settles(&held(debits));
        cluster.refuses_apply();
        cluster.copy_agrees();
        for number in 0..50 {
            let entity = cluster.ask(&format!("ENTITY.GET e{number} WITHVERSION"));
            assert_eq!(entity, "[10, value, 4102444800123]");
            let deleted = cluster.ask(&format!("ENTITY.GET de{number} WITHVERSION"));
            assert_eq!(deleted, "[20, nil, -1]");
            // The deletion is still remembered, with its remaining time.
            assert_eq!(cluster.ask(&format!("ENTITY.PUT de{number} v VERSION 19")), "[0, 20]");
            let left: i64 = cluster.ask(&format!("PTTL de{number}")).parse().expect("a number");
            assert!((1..=86_400_000).contains(&left), "{left}");
        }
        let mut owners = [0, 0];
        for (owner, client) in owners.iter_mut().zip(&mut cluster.clients) {
            *owner = client.ask("DBSIZE").parse().expect("a number");
        }
        let moved = if to == 1 { owners[1] } else { ACCOUNTS + 100 - owners[0] };
        assert!(if to == 1 { moved > 100 } else { moved == 0 }, "{owners:?}");
    }
    for number in 0..ACCOUNTS {
        let (again, line) = ("[OK, 1, 2, 10]", format!("SCUR.DEBIT a{number} first cent 10"));
        assert_eq!(cluster.ask(&line), again, "what was remembered came along");
        let ended = cluster.ask(&format!("SCUR.TERMINATE a{number} s 1 ITEM 1 cent USED 0"));
        assert_eq!(ended, "[OK, 0, 0, [[1, OK, 0, 0, 0]]]");
    }
    cluster.copy_agrees();
    // The replica's file has everything that arrived by slot migration: it is restarted without a primary to copy from.
    let totals = cluster.clients[1].ask("SCUR.TOTALS");
    let Cluster { nodes: [_first, second, copy], .. } = cluster;
    drop(second);
    let copy = copy.crash_and_restart();
    assert_eq!(copy.connect().ask("SCUR.TOTALS"), totals);
}

#[test]
fn what_comes_due_while_it_moves_comes_due_once() {
    let Some(product) = optional(Product::Valkey9) else { return };
    let mut cluster = Cluster::start(product);
    let accounts = i64::try_from(ACCOUNTS).expect("a number");
    // Enough data that some expiries come between the copy and the change of owner.
    for number in 0..200 {
        let value = vec![b'x'; 256 * 1024];
        let said = cluster.clients[0].send(&[b"SET", format!("f{number}").as_bytes(), &value]);
        assert_eq!(said, "OK");
    }
    for round in 0..4 {
        let (from, to) = if round % 2 == 0 { (0, 1) } else { (1, 0) };
        for number in 0..ACCOUNTS {
            cluster.ask(&format!("SCUR.CREATE a{number} BUCKET main cent 100"));
            let tcc_ms = 100 + number * 4;
            let line = format!("SCUR.RESERVE a{number} s{round} 0 TCC {tcc_ms}ms");
            let said = cluster.ask(&format!("{line} ITEM 1 cent REQUESTED 40"));
            assert_eq!(said, "[OK, 0, 1, [[1, OK, 40, 0, 0]]]");
        }
        cluster.move_slots(from, to);
        if round == 3 {
            // Whether the cancellation is in time or not, nothing is lost or duplicated.
            cluster.clients[from].ask("CLUSTER CANCELSLOTMIGRATIONS");
        }
        let mut state = cluster.migration(from);
        while !["success", "failed", "cancelled", "canceled"].contains(&state.as_str()) {
            state = cluster.migration(from);
        }
        assert!(state == "success" || round == 3, "{state}");
        cluster.settles(&[accounts, 0, 100 * accounts, 0, 100 * accounts, 0, 0, 0, 0, 0, 0]);
        cluster.copy_agrees();
        for number in 0..ACCOUNTS {
            // Created, and in each round reserved and released.
            let audit = cluster.ask(&format!("SCUR.AUDIT a{number}"));
            let version = 1 + 2 * (round + 1);
            assert!(audit.starts_with(&format!("[ok, 1, version, {version},")), "{audit}");
        }
    }
}
