//! `scurry-lab costs`: what a command costs the server beside another one: a chain beside its members,
//! an account with limits beside one without, a busy account beside small ones.

use anyhow::{Result, ensure};
use serde::Serialize;

use crate::arguments::CostsArguments;
use crate::client::Client;
use crate::figures::{median, range, rounded};
use crate::host::Host;
use crate::process::ServerProcess;
use crate::report::Grid;
use crate::resp::append;
use crate::sampler::{cpu_seconds, resident_bytes};
use crate::testbed::{Testbed, write_json};

/// Beyond all that is charged here.
const BALANCE: &str = "1000000000000";
/// Commands that follow one another in a session, with the words behind account and session.
const SESSION: [(&str, &str); 3] = [
    ("RESERVE", "0 ITEM 1 cent REQUESTED 100"),
    ("UPDATE", "1 ITEM 1 cent USED 50 REQUESTED 100"),
    ("TERMINATE", "2 ITEM 1 cent USED 60"),
];
/// Accounts of a chain, by what stands behind their hash tag.
const MEMBERS: [&str; 3] = ["", ":team", ":key"];

/// Everything that `--json` writes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CostsReport {
    /// Accounts, or hash slots with three accounts each, that each command goes to in a run.
    pub accounts: u32,
    /// Open sessions of the busy account.
    pub open: u32,
    /// Transactions that it remembers.
    pub remembered: u32,
    /// Further arguments of the server.
    pub server_arguments: Vec<String>,
    /// The machine.
    #[serde(flatten)]
    pub host: Host,
    /// One comparison each.
    pub rows: Vec<CostRow>,
    /// Resident bytes for each open session of the busy account, and for each remembered transaction.
    pub bytes_each: [f64; 2],
}

/// One comparison.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CostRow {
    /// The commands.
    pub command: String,
    /// The side that it is compared with.
    pub base: &'static str,
    /// The side that is looked at.
    pub beside: &'static str,
    /// CPU of the server for each command of either side, us, in the order of the runs.
    pub cpu_us: [Vec<f64>; 2],
    /// The second as a multiple of the first: median over the runs, least, greatest. None where so few
    /// commands took no time that the kernel counts, in steps of 10 ms.
    pub ratio: Option<[f64; 3]>,
}

/// Measures, prints the table and writes it.
///
/// # Errors
/// When the server does not start, or refuses a command: a refused one costs less.
pub fn costs(arguments: &CostsArguments) -> Result<()> {
    arguments.check()?;
    let testbed = Testbed::prepare(&arguments.common)?;
    testbed.bind_loader()?;
    let mut report = CostsReport {
        accounts: arguments.accounts,
        open: arguments.open,
        remembered: arguments.remembered,
        server_arguments: testbed.scurry.arguments.clone(),
        host: testbed.host.clone(),
        ..CostsReport::default()
    };
    let server = testbed.start(&[])?;
    let mut bench = Bench { client: server.client()?, server: &server, testbed: &testbed, id: 0 };
    bench.chains(arguments, &mut report.rows)?;
    bench.limits(arguments, &mut report.rows)?;
    report.bytes_each = bench.busy(arguments, &mut report.rows)?;
    print!("{}", report.render());
    write_json(arguments.common.json.as_deref(), &report)
}

/// A server under test.
struct Bench<'t> {
    client: Client,
    server: &'t ServerProcess,
    testbed: &'t Testbed,
    /// Of the last session or transaction.
    id: u32,
}

impl Bench<'_> {
    /// A chain of three beside its members as commands of their own.
    fn chains(&mut self, arguments: &CostsArguments, rows: &mut Vec<CostRow>) -> Result<()> {
        let slots = arguments.accounts;
        let account = |slot: u32, member: usize| format!("{{slot-{slot}}}{}", MEMBERS[member]);
        self.run(3 * slots, |at| create(&account(at / 3, at as usize % 3)))?;
        for session in [false, true] {
            let mut cpu_us = [vec![], vec![]];
            for run in 0..arguments.runs {
                for side in sides(run) {
                    let id = self.next_id();
                    let (mut us, mut commands) = (0.0, 0.0);
                    for (name, words) in steps(session) {
                        let own = |account: &str| format!("{account} {}", tail(name, id, words));
                        us += if side == 0 {
                            self.run(3 * slots, |at| {
                                format!("SCUR.{name} {}", own(&account(at / 3, at as usize % 3)))
                            })?
                        } else {
                            self.run(slots, |slot| chain(name, id, words, |at| account(slot, at)))?
                        };
                        commands += f64::from(3 * slots);
                    }
                    cpu_us[side].push(us / commands);
                }
            }
            rows.push(row(session, "a command of its own", "one of three in a chain", cpu_us));
        }
        Ok(())
    }

    /// Accounts with limits beside accounts without.
    fn limits(&mut self, arguments: &CostsArguments, rows: &mut Vec<CostRow>) -> Result<()> {
        let accounts = arguments.accounts;
        for kind in ["none", "one", "three"] {
            self.run(accounts, |at| create(&format!("{kind}-{at}")))?;
        }
        let limits = [
            ("one", "day UNIT cent AMOUNT 1000000000 PERIOD day"),
            ("three", "day UNIT cent AMOUNT 1000000000 PERIOD day"),
            ("three", "month UNIT cent AMOUNT 1000000000 PERIOD month"),
            ("three", "open SESSIONS AMOUNT 3"),
        ];
        for (number, (kind, limit)) in limits.into_iter().enumerate() {
            self.run(accounts, |at| format!("SCUR.LIMIT {kind}-{at} limit-{number} {limit}"))?;
        }
        for (kind, words) in [("one", "one limit"), ("three", "three limits")] {
            for session in [false, true] {
                let both = self.both(arguments, session, |side, at| match side {
                    0 => format!("none-{at}"),
                    _ => format!("{kind}-{at}"),
                })?;
                rows.push(row(session, "no limit", words, both));
            }
        }
        Ok(())
    }

    /// One account with very many sessions and transactions beside small ones. Returns the bytes of
    /// each.
    fn busy(&mut self, arguments: &CostsArguments, rows: &mut Vec<CostRow>) -> Result<[f64; 2]> {
        self.run(arguments.accounts, |at| create(&format!("small-{at}")))?;
        self.run(1, |_| create("busy"))?;
        let empty = resident_bytes(self.server.pid())?;
        self.run(arguments.remembered, |at| format!("SCUR.DEBIT busy transaction-{at:08} cent 1"))?;
        let remembering = resident_bytes(self.server.pid())?;
        let (name, words) = SESSION[0];
        self.run(arguments.open, |at| {
            format!("SCUR.{name} busy open-{at:08} {words}").replace("0 ITEM", "0 TCC 3600000 ITEM")
        })?;
        let full = resident_bytes(self.server.pid())?;
        for session in [false, true] {
            let both = self.both(arguments, session, |side, at| match side {
                0 => format!("small-{at}"),
                _ => "busy".to_owned(),
            })?;
            rows.push(row(session, "a small account", "a busy account", both));
        }
        let each = |bytes: u64, count: u32| rounded(bytes as f64 / f64::from(count), 1);
        Ok([
            each(full.saturating_sub(remembering), arguments.open),
            each(remembering.saturating_sub(empty), arguments.remembered),
        ])
    }

    /// The same commands on the accounts of either side, in turn.
    fn both(
        &mut self,
        arguments: &CostsArguments,
        session: bool,
        account: impl Fn(usize, u32) -> String,
    ) -> Result<[Vec<f64>; 2]> {
        let mut cpu_us = [vec![], vec![]];
        for run in 0..arguments.runs {
            for side in sides(run) {
                let id = self.next_id();
                let (mut us, mut commands) = (0.0, 0.0);
                for (name, words) in steps(session) {
                    us += self.run(arguments.accounts, |at| {
                        // The busy account has all of the ids.
                        let tail = tail(name, id, words).replacen(' ', &format!("-{at} "), 1);
                        format!("SCUR.{name} {} {tail}", account(side, at))
                    })?;
                    commands += f64::from(arguments.accounts);
                }
                cpu_us[side].push(us / commands);
            }
        }
        Ok(cpu_us)
    }

    fn next_id(&mut self) -> u32 {
        self.id += 1;
        self.id
    }

    /// Sends commands, pipelined. Returns the CPU of the server meanwhile, us.
    fn run(&mut self, count: u32, command: impl Fn(u32) -> String) -> Result<f64> {
        self.testbed.go_on()?;
        let mut requests = Vec::new();
        let mut ends = vec![0];
        for at in 0..count {
            let command = command(at);
            append(&command.split(' ').collect::<Vec<_>>(), &mut requests);
            ends.push(requests.len());
        }
        let before = cpu_seconds(&[self.server.pid()])?;
        self.client.pipeline(
            count as usize,
            |at, out| out.extend_from_slice(&requests[ends[at]..ends[at + 1]]),
            |at, reply| {
                let is_done = reply.starts_with(b"*") && reply[4..].starts_with(b"+OK\r\n");
                let asked = || requests[ends[at]..ends[at + 1]].escape_ascii();
                ensure!(is_done, "{} was answered {}", asked(), reply.escape_ascii());
                Ok(())
            },
        )?;
        Ok(1e6 * (cpu_seconds(&[self.server.pid()])? - before))
    }
}

/// Each side is first as often as the other.
fn sides(run: u32) -> [usize; 2] {
    if run.is_multiple_of(2) { [0, 1] } else { [1, 0] }
}

fn steps(session: bool) -> &'static [(&'static str, &'static str)] {
    if session { &SESSION } else { &[("DEBIT", "cent 1")] }
}

fn create(account: &str) -> String {
    format!("SCUR.CREATE {account} BUCKET main cent {BALANCE}")
}

/// The words behind the account.
fn tail(name: &str, id: u32, words: &str) -> String {
    format!("{}-{id} {words}", if name == "DEBIT" { "debit" } else { "session" })
}

fn chain(name: &str, id: u32, words: &str, account: impl Fn(usize) -> String) -> String {
    let own = format!("{name} {}", tail(name, id, words));
    let count = own.split(' ').count();
    let members = (0..MEMBERS.len()).map(|at| format!("{} {count} {own}", account(at)));
    format!("SCUR.CHAIN {}", members.collect::<Vec<_>>().join(" "))
}

fn row(session: bool, base: &'static str, beside: &'static str, cpu_us: [Vec<f64>; 2]) -> CostRow {
    let ratios: Vec<f64> = cpu_us[1].iter().zip(&cpu_us[0]).map(|(own, of)| own / of).collect();
    let (min, max) = range(&ratios);
    let command = if session { "RESERVE, UPDATE, TERMINATE" } else { "DEBIT" }.to_owned();
    let is_counted = cpu_us.iter().flatten().all(|us| *us > 0.0);
    let ratio = median(&ratios).filter(|_| is_counted);
    let ratio = ratio.map(|ratio| [ratio, min, max].map(|ratio| rounded(ratio, 2)));
    CostRow { command, base, beside, cpu_us, ratio }
}

impl CostsReport {
    /// As text.
    pub fn render(&self) -> String {
        let mut grid = Grid::new(&["<commands", "<of", "CPU us", "<beside", "CPU us", "ratio"]);
        for row in &self.rows {
            let us = |side: usize| {
                median(&row.cpu_us[side]).map_or("-".to_owned(), |us| format!("{us:.2}"))
            };
            let ratio =
                row.ratio.map_or("too few accounts to tell".to_owned(), |[ratio, min, max]| {
                    format!("{ratio:.2} ({min:.2} to {max:.2})")
                });
            grid.push(vec![
                row.command.clone(),
                row.base.to_owned(),
                us(0),
                row.beside.to_owned(),
                us(1),
                ratio,
            ]);
        }
        let runs = self.rows.first().map_or(0, |row| row.cpu_us[0].len());
        format!(
            "\n{}medians of {runs} runs in turn, ratios with the least and the greatest run; {} \
             accounts, pipelined, one core\nbusy: {} open sessions of {} bytes each, {} remembered \
             transactions of {} bytes each\n{}, {} cores, Linux {}\n",
            grid.render(),
            self.accounts,
            self.open,
            self.bytes_each[0],
            self.remembered,
            self.bytes_each[1],
            self.host.cpu,
            self.host.cores,
            self.host.kernel
        )
    }
}
