//! Kamailio as client: testing/diameter/kamailio, with calls that sipp makes and answers.

use crate::store::Process;
use crate::ten_minutes::fenced;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// How often a test looks for something, every 10 ms: longer than any pause of the machine.
const LOOKS: u32 = 6_000;
const ACCOUNT: &str = "alice";
const MISSING: &str = "a tool is missing: run scripts/install-tools.sh all";

fn free_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port is free");
    socket.local_addr().expect("it is bound").port()
}

/// Waits until this holds.
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..LOOKS {
        if holds() {
            return;
        }
        thread::sleep(Duration::from_millis(10)); // tidy: allow (others have to get there)
    }
    panic!("this does not happen: {what}");
}

/// A store with a subscriber, and a proxy whose calls it charges.
struct Network {
    store: Process,
    proxy: Child,
    proxy_port: u16,
    callee_port: u16,
}

/// sipp as one side of a call, stopped when dropped.
struct Side(Child);

/// A call as its two sides have logged it.
struct Call {
    caller: String,
    callee: String,
}

impl Network {
    /// Starts both; the account has these seconds, and the proxy asks for so many in each update.
    fn start(credit: i64, grant: u32) -> Network {
        let store = Process::with_settings(&fenced("Settings of Kamailio", "toml").concat());
        store.ask(&format!(
            "SCUR.CREATE {ACCOUNT} IDENTITY sip sip:alice@ims.example BUCKET main second {credit}"
        ));
        let directory = store.files.path().to_owned();
        let cdp = read("cdp.xml").replace("port=\"3868\"", &format!("port=\"{}\"", store.diameter));
        std::fs::write(directory.join("cdp.xml"), cdp).expect("a file");
        let (proxy_port, callee_port) = (free_port(), free_port());
        let log = File::create(directory.join("kamailio.log")).expect("a file");
        let mut command = Command::new("kamailio");
        // It lies where only root looks.
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{path}:/usr/sbin"));
        command.current_dir(&directory).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        command.args(["-DD", "-E", "-T", "-m", "64", "-M", "8", "-w", ".", "-Y", "."]);
        command.arg("-f").arg(Path::new(SETTINGS).join("kamailio.cfg"));
        command.arg("-l").arg(format!("udp:127.0.0.1:{proxy_port}"));
        for define in [
            format!("CDP_FILE=\"{}\"", directory.join("cdp.xml").display()),
            format!("CALLEE=\"sip:127.0.0.1:{callee_port}\""),
            format!("GRANT={grant}"),
        ] {
            command.args(["-A", &define]);
        }
        let proxy = command.spawn().expect(MISSING);
        let mut network = Network { store, proxy, proxy_port, callee_port };
        wait_until("the proxy is connected to the server", || network.is_ready());
        network
    }

    /// Asks the proxy whether it has a charging server.
    fn is_ready(&mut self) -> bool {
        let ended = self.proxy.try_wait().expect("its state");
        assert!(ended.is_none(), "{}", self.proxy_log());
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port is free");
        socket.set_read_timeout(Some(Duration::from_millis(100))).expect("a timeout");
        let address = socket.local_addr().expect("it is bound");
        let request = format!(
            "OPTIONS sip:ims.example SIP/2.0\r\nVia: SIP/2.0/UDP {address};branch=z9hG4bK{0}\r\n\
             From: <sip:test@ims.example>;tag=1\r\nTo: <sip:ims.example>\r\nCall-ID: {0}\r\n\
             CSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n",
            address.port()
        );
        let sent = socket.send_to(request.as_bytes(), ("127.0.0.1", self.proxy_port));
        let mut answer = [0; 2048];
        let received = sent.and_then(|_| socket.recv(&mut answer));
        received.is_ok_and(|len| answer[..len].starts_with(b"SIP/2.0 200 "))
    }

    /// Starts one side of a call; `patience_ms` is how long the caller waits for a BYE before it hangs up.
    fn side(&self, name: &str, port: u16, patience_ms: u32) -> Side {
        let directory = self.store.files.path();
        let script = read(&format!("{name}.xml"));
        let script = script.replace("timeout=\"10000\"", &format!("timeout=\"{patience_ms}\""));
        std::fs::write(directory.join(format!("{name}.xml")), script).expect("a file");
        let mut command = Command::new("sipp");
        command.current_dir(directory).stdin(Stdio::null()).stdout(Stdio::null());
        command.args(["-sf", &format!("{name}.xml"), "-i", "127.0.0.1", "-p", &port.to_string()]);
        // One call. Its watchdog would end a run on a machine that stalls.
        command.args(["-m", "1", "-nostdin", "-watchdog_interval", "0", "-timeout", "300s"]);
        command.args(["-trace_logs", "-log_file", &format!("{name}.log")]);
        command.arg(format!("127.0.0.1:{}", self.proxy_port));
        Side(command.spawn().expect(MISSING))
    }

    /// Returns what a side has logged, after it has ended.
    fn ended(&self, name: &str, mut side: Side) -> String {
        let status = side.0.wait().expect("it ends");
        let log = std::fs::read_to_string(self.store.files.path().join(format!("{name}.log")));
        let log = log.unwrap_or_default();
        assert!(status.success(), "{name}: {log}\n{}", self.proxy_log());
        log
    }

    fn proxy_log(&self) -> String {
        std::fs::read_to_string(self.store.files.path().join("kamailio.log")).unwrap_or_default()
    }

    /// Makes a call, does this while it lasts, and returns it when it is settled.
    fn call(&self, patience_ms: u32, meanwhile: impl FnOnce()) -> Call {
        let callee = self.side("callee", self.callee_port, 0);
        let caller = self.side("caller", free_port(), patience_ms);
        meanwhile();
        let caller = self.ended("caller", caller);
        let callee = self.ended("callee", callee);
        self.wait_until_settled();
        Call { caller, callee }
    }

    fn wait_until_settled(&self) {
        wait_until("the hold returns", || self.store.balance(ACCOUNT).1 == 0);
    }

    fn check_audit(&self) {
        let audit = format!("{:?}", self.store.ask(&format!("SCUR.AUDIT {ACCOUNT}")));
        assert!(audit.starts_with("array([bulk-string('\"ok\"'), int(1)"), "{audit}");
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // It ends its children. It may have ended already; in both cases it is gone afterwards.
        let pid = i32::try_from(self.proxy.id()).expect("a pid");
        let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        let _ = self.proxy.wait();
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        // It may have ended already; in both cases it is gone afterwards.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Call {
    /// Returns the seconds until the caller hung up.
    fn of_caller(&self) -> f64 {
        at(&self.caller, "hangs up") - at(&self.caller, "answered")
    }

    /// Returns the seconds between the answer and the end, for the callee.
    fn of_callee(&self) -> f64 {
        at(&self.callee, "ended") - at(&self.callee, "answers")
    }
}

const SETTINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testing/diameter/kamailio");

fn read(name: &str) -> String {
    std::fs::read_to_string(Path::new(SETTINGS).join(name)).expect("a file")
}

/// Returns the time of a line: `name SECONDS MICROSECONDS`.
fn at(log: &str, name: &str) -> f64 {
    let line = log.lines().find_map(|line| line.strip_prefix(name));
    let line = line.unwrap_or_else(|| panic!("no line {name} in {log}"));
    let mut parts = line.split_whitespace().map(|part| part.parse::<f64>().expect("a number"));
    let mut next = || parts.next().expect("a number");
    next() + next() / 1e6
}

#[test]
fn a_call_is_charged_by_the_second() {
    let network = Network::start(100, 30);
    let call = network.call(10_000, || {});
    let (left, _) = network.store.balance(ACCOUNT);
    let charged = (100 - left) as f64;
    // The proxy sees a call that is longer than the caller's and shorter than the callee's, and rounds up.
    let (least, most) = (call.of_caller(), call.of_callee());
    assert!(charged >= least - 1.0 && charged <= most + 1.0, "{charged}: {least} to {most}");
    assert!(charged >= 9.0, "{charged}");
    network.check_audit();
}

#[test]
fn a_call_ends_with_the_credit_and_the_next_is_refused() {
    const CREDIT: i64 = 6;
    let network = Network::start(CREDIT, 30);
    // The callee may get no BYE: Kamailio sends a second one only if the first is not yet answered when it comes to that.
    let _callee = network.side("callee", network.callee_port, 0);
    let caller = network.side("caller", free_port(), 120_000);
    let caller = network.ended("caller", caller);
    network.wait_until_settled();
    let least = at(&caller, "ended by the proxy") - at(&caller, "answered");
    let (left, _) = network.store.balance(ACCOUNT);
    // Its timer ticks once a second: the call may be up to a second shorter or longer than what was granted.
    assert!((0..=1).contains(&left), "{left}: {}", network.proxy_log());
    let charged = (CREDIT - left) as f64;
    assert!(charged >= (least - 1.0).min(CREDIT as f64), "{charged}: {least}");
    network.check_audit();
    if left > 0 {
        network.store.ask(&format!("SCUR.DEBIT {ACCOUNT} rest second {left}"));
    }
    let caller = network.side("caller", free_port(), 10_000);
    assert_eq!(network.ended("caller", caller).trim(), "refused");
    assert_eq!(network.store.balance(ACCOUNT), (0, 0));
    network.check_audit();
}

#[test]
fn a_call_goes_on_after_a_top_up() {
    const CREDIT: i64 = 16;
    const MORE: i64 = 30;
    // The last grant of the credit comes after 13 s: so long may it take until the top-up is there.
    let network = Network::start(CREDIT, 6);
    let call = network.call(20_000, || {
        wait_until("the call is charged", || network.store.balance(ACCOUNT).1 > 0);
        network.store.ask(&format!("SCUR.TOPUP {ACCOUNT} voucher-1 main {MORE}"));
    });
    // The caller ends it, not the proxy, and after more seconds than it began with.
    let (least, most) = (call.of_caller(), call.of_callee());
    let charged = CREDIT + MORE - network.store.balance(ACCOUNT).0;
    assert!(charged > CREDIT, "{charged}");
    // It rounds each of its reports: after 3 s, then every 5 s, and at the end.
    let charged = charged as f64;
    assert!(charged >= least - 1.0 && charged <= most + 3.0, "{charged}: {least} to {most}");
    network.check_audit();
}
