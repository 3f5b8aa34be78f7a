//! Errors in words, after which nothing is lost.

use crate::broker::{BOSS, Broker, GUEST, PASSWORD};
use crate::shipper::Shipper;
use crate::store::Store;
use std::io::Write;
use std::net::TcpListener;
use std::thread;

/// Ships, and checks that it fails with these words.
fn refused(words: &[String], expected: &str) {
    let (has_ended, log) = Shipper::once(words);
    assert!(!has_ended && log.contains(expected), "{expected}: {log}");
}

fn shipped(words: &[String]) {
    let (has_ended, log) = Shipper::once(words);
    assert!(has_ended, "{log}");
}

#[test]
fn what_brokers_refuse_is_said_in_words_and_nothing_is_lost() {
    let (broker, store) = (Broker::start(), Store::start());
    store.ask("SCUR.CREATE alice BUCKET main cent 100");
    let address = store.address();
    let words = broker.words(broker.direct, "charging", &address);
    let uncreated: Vec<_> =
        words.iter().filter(|word| *word != "--create-topics").cloned().collect();
    refused(&uncreated, "topic charging or charging.positions does not exist on 127.0.0.1");
    shipped(&words);
    store.ask("SCUR.DEBIT alice t1 cent 5");

    // TLS and credentials.
    let ca = broker.ca().display().to_string();
    let secure = |name: &str, password: &str| {
        let more = ["--tls", "--tls-ca", &ca, "--kafka-user", name, "--kafka-password", password];
        let words = broker.words(broker.secure, "charging", &address);
        [words, more.map(str::to_owned).to_vec()].concat()
    };
    refused(&secure(BOSS, "guess"), "refuse the credentials");
    refused(&secure(GUEST, PASSWORD), "not authorized");
    let mut unknown = secure(BOSS, PASSWORD);
    unknown.retain(|word| *word != "--tls-ca" && *word != ca);
    refused(&unknown, "refuse the credentials or the certificate");
    shipped(&secure(BOSS, PASSWORD));
    broker.has_each_once("charging", &store.events());

    // Positions of another store, and what is none.
    let other = Store::start();
    other.ask("SCUR.CREATE bob BUCKET main cent 100");
    let words_of_other = broker.words(broker.direct, "charging", &other.address());
    refused(&words_of_other, "has events of store");
    shipped(&[&words_of_other[..], &["--shared".to_owned()]].concat());
    let both = store.events().into_iter().chain(other.events()).collect::<Vec<_>>();
    assert_eq!(broker.messages("charging").len(), both.iter().map(|(_, ids)| ids.len()).sum());
    let direct = format!("127.0.0.1:{}", broker.direct);
    let producer = "org.apache.kafka.tools.ConsoleProducer";
    let produce = [producer, "--bootstrap-server", &direct, "--topic", "charging.positions"];
    // A compacted topic takes no message without a key.
    broker
        .tool(&[&produce[..], &["--reader-property", "parse.key=true"]].concat(), "a\tnonsense\n");
    refused(&[&words[..], &["--shared".to_owned()]].concat(), "is not of positions");

    // An event that is too large for the topic, and then is not.
    let small = broker.words(broker.direct, "small", &address);
    let topics = "org.apache.kafka.tools.TopicCommand";
    let create = [topics, "--bootstrap-server", &direct, "--create", "--topic", "small"];
    broker.tool(&[&create[..], &["--config", "max.message.bytes=150"]].concat(), "");
    refused(&small, "raise max.message.bytes");
    let configs = "kafka.admin.ConfigCommand";
    let alter = [configs, "--bootstrap-server", &direct, "--alter", "--topic", "small"];
    broker.tool(&[&alter[..], &["--delete-config", "max.message.bytes"]].concat(), "");
    shipped(&small);
    broker.has_each_once("small", &store.events());
}

#[test]
fn a_broker_that_answers_nonsense_is_an_error_in_words() {
    let store = Store::start();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound").to_string();
    thread::spawn(move || {
        for mut socket in listener.incoming().map_while(Result::ok) {
            // The client may have gone.
            let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let from = store.address();
    let words = ["kafka", &address, "--topic", "charging", "--from", &from].map(str::to_owned);
    refused(&words, &format!("Kafka on {address}"));
}
