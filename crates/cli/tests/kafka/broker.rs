//! A broker of Kafka as a process, and its own client.

use crate::proxy::Proxy;
use crate::wait::{free_port, wait_until};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const MISSING: &str = "a tool is missing: run scripts/install-tools.sh all";
/// Users of the secure listener: one with every right, and one with none.
pub(crate) const BOSS: &str = "boss";
pub(crate) const GUEST: &str = "guest";
pub(crate) const PASSWORD: &str = "open-sesame";

/// A broker, killed when dropped.
pub(crate) struct Broker {
    child: Option<Child>,
    /// Port of clients that nothing cuts.
    pub(crate) direct: u16,
    /// Port with TLS and credentials.
    pub(crate) secure: u16,
    /// The way to the third port.
    pub(crate) proxy: Proxy,
    files: TempDir,
}

/// A committed message.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) key: String,
    pub(crate) id: String,
    pub(crate) value: String,
}

impl Broker {
    /// Starts a broker without topics.
    pub(crate) fn start() -> Broker {
        let files = TempDir::new().expect("a directory");
        let [direct, secure, behind, controller] = [(); 4].map(|()| free_port());
        let proxy = Proxy::start(behind);
        let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]);
        let certified = certified.expect("a certificate");
        let pem = [certified.signing_key.serialize_pem(), certified.cert.pem()].concat();
        std::fs::write(files.path().join("key.pem"), pem).expect("a file");
        std::fs::write(files.path().join("ca.pem"), certified.cert.pem()).expect("a file");
        let dir = files.path().display();
        let through = proxy.port;
        let settings = format!(
            "process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=DIRECT://127.0.0.1:{direct},CUT://127.0.0.1:{behind},SECURE://127.0.0.1:{secure},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=DIRECT://127.0.0.1:{direct},CUT://127.0.0.1:{through},SECURE://127.0.0.1:{secure}
listener.security.protocol.map=DIRECT:PLAINTEXT,CUT:PLAINTEXT,SECURE:SASL_SSL,CONTROLLER:PLAINTEXT
inter.broker.listener.name=DIRECT
controller.listener.names=CONTROLLER
sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.secure.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
ssl.keystore.type=PEM
ssl.keystore.location={dir}/key.pem
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS;User:{BOSS}
log.dirs={dir}/data
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
"
        );
        std::fs::write(files.path().join("server.properties"), settings).expect("a file");
        let mut broker = Broker { child: None, direct, secure, proxy, files };
        let mut words = vec!["kafka.tools.StorageTool", "format", "-t", "c2N1cnJ5LXRlc3RzLTE2Yg"];
        let users = [BOSS, GUEST]
            .map(|name| format!("SCRAM-SHA-512=[name={name},password={PASSWORD},iterations=4096]"));
        for user in &users {
            words.extend(["--add-scram", user]);
        }
        words.extend(["-c", "server.properties"]);
        let status = broker.java(&words).status().expect(MISSING);
        assert!(status.success(), "no format: {}", broker.log());
        broker.restart();
        broker
    }

    fn java(&self, words: &[&str]) -> Command {
        let jars = Path::new(ROOT).join(".cache/kafka/jars");
        assert!(jars.is_dir(), "{MISSING}");
        let mut command = Command::new("java");
        command.args(["-Xmx512m", "-XX:TieredStopAtLevel=1"]);
        command.args(["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp"]);
        command.arg(format!("{}/*", jars.display())).args(words);
        let log = File::options().append(true).create(true).open(self.files.path().join("log"));
        let log = log.expect("a file");
        command.current_dir(self.files.path()).stdin(Stdio::null());
        command.stdout(log.try_clone().expect("a file")).stderr(log);
        command
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.files.path().join("log")).unwrap_or_default()
    }

    /// Kills it.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts it, and waits until it accepts connections.
    pub(crate) fn restart(&mut self) {
        self.child = Some(self.java(&["kafka.Kafka", "server.properties"]).spawn().expect(MISSING));
        wait_until("the broker listens", || {
            let child = self.child.as_mut().expect("it was started");
            assert!(child.try_wait().expect("a process").is_none(), "it ends: {}", self.log());
            TcpStream::connect(("127.0.0.1", self.direct)).is_ok()
        });
    }

    /// Returns the file with the certificate of the secure port.
    pub(crate) fn ca(&self) -> PathBuf {
        self.files.path().join("ca.pem")
    }

    /// Returns the words of a shipper to a topic, by a port.
    pub(crate) fn words(&self, port: u16, topic: &str, store: &str) -> Vec<String> {
        let address = format!("127.0.0.1:{port}");
        let words = ["kafka", &address, "--topic", topic, "--from", store, "--create-topics"];
        words.map(str::to_owned).to_vec()
    }

    /// Returns how many bytes a topic has, committed or not.
    pub(crate) fn topic_len(&self, topic: &str) -> u64 {
        let mut len = 0;
        for directory in std::fs::read_dir(self.files.path().join("data")).expect("its files") {
            let directory = directory.expect("its files");
            let name = directory.file_name().to_string_lossy().into_owned();
            if name.rsplit_once('-').is_none_or(|(name, _)| name != topic) {
                continue;
            }
            // Segments begin and end meanwhile.
            let Ok(files) = std::fs::read_dir(directory.path()) else { continue };
            let files =
                files.flatten().filter(|file| file.path().extension().is_some_and(|e| e == "log"));
            len += files.filter_map(|file| Some(file.metadata().ok()?.len())).sum::<u64>();
        }
        len
    }

    /// Waits until a topic has so many more bytes.
    pub(crate) fn grows(&self, topic: &str, more: u64) {
        let begun = self.topic_len(topic);
        wait_until("the topic grows", || self.topic_len(topic) >= begun + more);
    }

    /// Runs a tool of Kafka with this input.
    pub(crate) fn tool(&self, words: &[&str], input: &str) {
        let mut command = self.java(words);
        let mut child = command.stdin(Stdio::piped()).spawn().expect(MISSING);
        child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("it reads");
        assert!(child.wait().expect("a process").success(), "{words:?}: {}", self.log());
    }

    /// Returns the committed messages of a topic, in order per partition, as Kafka's own client reads them.
    pub(crate) fn messages(&self, topic: &str) -> Vec<Message> {
        let source = Path::new(ROOT).join("testing/kafka/Events.java");
        let source = source.display().to_string();
        let address = format!("127.0.0.1:{}", self.direct);
        let mut command = self.java(&[&source, &address, topic]);
        let output = command.stdout(Stdio::piped()).output().expect(MISSING);
        assert!(output.status.success(), "no messages: {}", self.log());
        let text = String::from_utf8(output.stdout).expect("text");
        let message = |line: &str| {
            let words: Vec<_> = line.splitn(5, '\t').collect();
            let [_, _, key, id, value] = words[..] else { panic!("{line}") };
            Message { key: key.to_owned(), id: id.to_owned(), value: value.to_owned() }
        };
        text.lines().map(message).collect()
    }

    /// Checks that a topic has each of these events once, and those of an account in order.
    pub(crate) fn has_each_once(&self, topic: &str, events: &BTreeMap<String, Vec<String>>) {
        let messages = self.messages(topic);
        let mut seen = BTreeSet::new();
        let mut by_account = BTreeMap::<String, Vec<String>>::new();
        for Message { key, id, value } in messages {
            assert!(value.starts_with(&format!("{{\"id\":\"{id}\"")), "{id}: {value}");
            assert!(seen.insert(id.clone()), "twice: {id}");
            by_account.entry(key).or_default().push(id);
        }
        for (account, ids) in events {
            let shipped = by_account.get(account).map_or(&[][..], Vec::as_slice);
            let differ = ids.iter().zip(shipped).position(|(event, shipped)| event != shipped);
            let lens = (ids.len(), shipped.len());
            assert_eq!(differ, None, "{account}, {lens:?}: {ids:?} {shipped:?}");
            assert_eq!(lens.0, lens.1, "{account}: {ids:?} {shipped:?}");
        }
        assert_eq!(by_account.len(), events.len());
        eprintln!("{} events, each once", seen.len());
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.kill();
    }
}
