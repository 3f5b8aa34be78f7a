//! The project's own tasks, so that a gate means the same on every machine: `cargo xtask ci` only reads, `cargo xtask
//! fix` changes files.

mod change;
mod ci;
mod figures;
mod fix;
mod fuzz;
mod gates;
mod host;
mod lab;
mod markdown;
mod mutants;
mod optimized;
mod rdma;
mod record;
mod release;
mod sim;
mod site;
mod stalls;
mod steps;
mod tidy;
mod torture;
mod upgrade;

use anyhow::{Result, bail};
use host::Host;
use std::process::ExitCode;
use steps::Outcome;

const HELP: &str = "\
usage: cargo xtask COMMAND

  check          the quick gate, before each commit: what is quick and often wrong
  ci [STEP]...   the gate: every step, or only the named ones of any gate
  ci --list      the names of all steps
  all            the long gate: everything, all mutants and many seeds; each step is recorded
  all --stale [N]
                 of the recorded steps those that have not passed within the last N commits (200)
  fix            format, apply what clippy can repair, write docs/commands.md anew
  tidy           the project's own rules: code map, purity, edges, documents
  figures [--only PART,...] [--within MINUTES]
                 measure what the documents quote and is not measured at this commit on this machine, and
                 write their tables; `make figures` builds what is measured
  figures --list what is due, and how long it takes
  figures --write
                 write the tables from the results that are there; --check compares them, as tidy does
  fuzz [--seconds N]
                 the properties of testing/fuzz, each target for N seconds
  sim [--seconds N | --seeds N] [--theme NAME] [--seed S]
                 durability on a faulty disk: seeds from S on for N seconds, N of them, or S alone;
                 `--theme group` has three nodes and the network between them
  diameter-sim [--seeds N] [--seed S]
                 Diameter doors, clients and bad links before one store: N seeds, 3,000 unless told otherwise
  rdma-sim [--seeds N] [--seed S]
                 RESP over a simulated RDMA fabric: N seeds, 10,000 unless told otherwise
  replica-sim [--seeds N] [--seed S]
                 replicas on faulty disks and a faulty network: N seeds, 10,000 unless told otherwise
  crash [--rounds N] [--seed S]
                 kills the server under load, 200 times unless told otherwise: testing/crash
  cluster-test [--short] [--rounds N] [--seed S] [--fault NAME]...
                 a Valkey Cluster under load and under faults: testing/cluster
  group-test [--short] [--rounds N] [--seed S] [--kinds NAME,...]
                 a group of three servers under load and under faults: testing/cluster
  diameter-faults [--seconds N] [--rate N] [--seed S]
                 two Diameter doors before such a group, 200 sessions a second, for 600 s unless told otherwise
  nchf-faults [--seconds N] [--rate N] [--seed S]
                 the same with doors of Nchf over HTTP/2, and connections that are cut in the middle of streams
  ship-faults [--rounds N] [--seed S]
                 shippers to files, usage records and streams before a group, each fault 30 times unless told otherwise
  http2-fuzz [--seconds N] [--seed S] [--workers N] [--memory-mib N] [--connection SEED]
                 hostile clients of HTTP/2 at a real server, and good ones beside them: for 900 s unless told otherwise
  torture [--hours H] [--seed S] [--kinds NAME,...]
                 the same on release builds, all faults again and again for H hours (1): docs/torture.md
  soak [--hours H] [--accounts N] [--rate R] [--every SECONDS] [--dir DIR] [--seed S]
                 one group with everything on, under steady load and faults for H hours (1), in pieces: docs/torture.md
  rdma           connections over a software RDMA device, in an emulated guest: docs/rdma.md
  site           docs/ as a site with a search, in target/site
  optimized      scurry, libscurry.so and scurry-lab as packages carry and figures measure them, compiled by what was
                 counted under load, in target/optimized
  release        everything that a page of downloads has, in target/release-page
  release --counts FILE
                 the same, compiled by what was counted for another one
  release --binaries DIR
                 the same, of a scurry and a libscurry.so that are built already
  mutants [NAME]...
                 seed each known bug, or the named ones, and show the test that catches it
  help           this text
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<()> {
    let Some((command, rest)) = args.split_first() else {
        print!("{HELP}");
        return Ok(());
    };
    if !rest.is_empty()
        && !matches!(
            command.as_str(),
            "all"
                | "ci"
                | "cluster-test"
                | "crash"
                | "diameter-faults"
                | "diameter-sim"
                | "figures"
                | "fuzz"
                | "group-test"
                | "http2-fuzz"
                | "mutants"
                | "nchf-faults"
                | "rdma-sim"
                | "release"
                | "replica-sim"
                | "ship-faults"
                | "sim"
                | "soak"
                | "torture"
        )
    {
        bail!("`{command}` takes no arguments: see cargo xtask help");
    }
    match command.as_str() {
        "check" => ci::run(&Host::find()?, &gates::CHECK),
        "ci" => ci::run_named(&Host::find()?, rest),
        "all" => ci::run_all(&Host::find()?, rest),
        "fuzz" => {
            let seconds = fuzz::seconds(rest)?;
            if let Outcome::Skipped(why) = fuzz::run(&Host::find()?, seconds)? {
                println!("fuzz: not fuzzed: {why}");
            }
            Ok(())
        }
        "sim" => sim::run(&Host::find()?, sim::DURABILITY, rest),
        "diameter-sim" => sim::run(&Host::find()?, sim::DIAMETER, rest),
        "rdma-sim" => sim::run(&Host::find()?, sim::RDMA, rest),
        "replica-sim" => sim::run(&Host::find()?, sim::REPLICAS, rest),
        "crash" => {
            let own = ["run", "--release", "--locked", "-p", "scurry-crash", "--"];
            let rest = rest.iter().map(String::as_str);
            Host::find()?.cargo(&own.into_iter().chain(rest).collect::<Vec<_>>())
        }
        "cluster-test" => cluster_test(&Host::find()?, "scurry-cluster-test", rest),
        "group-test" => cluster_test(&Host::find()?, "scurry-group-test", rest),
        "diameter-faults" => door_faults(&Host::find()?, "diameter", rest),
        "nchf-faults" => door_faults(&Host::find()?, "nchf", rest),
        "ship-faults" => cluster_test(&Host::find()?, "scurry-ship-faults", rest),
        "http2-fuzz" => program(&Host::find()?, "scurry-http2-fuzz", "scurry-http2-fuzz", rest),
        "torture" => torture::run(&Host::find()?, &torture::TORTURE, rest),
        "soak" => torture::run(&Host::find()?, &torture::SOAK, rest),
        "rdma" => match rdma::run(&Host::find()?)? {
            Outcome::Passed => Ok(()),
            Outcome::Skipped(why) => bail!("rdma: not tested: {why}"),
        },
        "optimized" => optimized::run(&Host::find()?),
        "release" => release::run(&Host::find()?, rest),
        "site" => site::run(&Host::find()?),
        "figures" => figures::run(&Host::find()?, rest),
        "fix" => fix::run(&Host::find()?),
        "tidy" => tidy::run(&Host::find()?, &gates::recorded()),
        "mutants" => mutants::run(&Host::find()?, rest),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        other => bail!("no command `{other}`: see cargo xtask help"),
    }
}

/// Runs doors of a protocol before a group under faults.
fn door_faults(host: &Host, protocol: &str, args: &[String]) -> Result<()> {
    let args: Vec<String> = std::iter::once(protocol.to_owned()).chain(args.to_vec()).collect();
    cluster_test(host, "scurry-door-faults", &args)
}

fn cluster_test(host: &Host, name: &str, args: &[String]) -> Result<()> {
    program(host, "scurry-cluster-test", name, args)
}

/// Runs a program of a package with these arguments.
fn program(host: &Host, package: &str, name: &str, args: &[String]) -> Result<()> {
    let own = ["run", "-q", "--locked", "-p", package, "--bin", name, "--"];
    let args = args.iter().map(String::as_str);
    host.cargo(&own.into_iter().chain(args).collect::<Vec<_>>())
}
