//! Errors in words, after which nothing is lost.

use crate::broker::{Broker, EXCHANGE, QUEUE};
use crate::shipper::Shipper;
use crate::store::Store;
use std::io::Write;
use std::net::TcpListener;
use std::thread;

/// Ships, and checks that it fails with these words.
fn refused(words: &[String], expected: &str) {
    let (has_ended, log) = Shipper::once(words);
    assert!(!has_ended && log.contains(expected), "{expected}: {log}");
    assert!(!log.contains("guess"), "the password is told: {log}");
}

fn shipped(words: &[String]) -> String {
    let (has_ended, log) = Shipper::once(words);
    assert!(has_ended, "{log}");
    log
}

fn with(words: &[String], more: &[&str]) -> Vec<String> {
    words.iter().cloned().chain(more.iter().map(|word| (*word).to_owned())).collect()
}

#[test]
fn what_a_broker_refuses_is_said_in_words_and_nothing_is_lost() {
    let (broker, store) = (Broker::start(), Store::start());
    store.ask("SCUR.CREATE alice BUCKET main cent 100");
    let words = broker.words(broker.direct, &store.address());
    refused(&words, "exchange charging does not exist on 127.0.0.1");
    let mut wrong = words.clone();
    wrong[1] = format!("amqp://guest:guess@127.0.0.1:{}", broker.direct);
    refused(&wrong, "check user and password");
    wrong[1] = format!("amqp://127.0.0.1:{}/nowhere", broker.direct);
    refused(&wrong, "check that the virtual host exists");
    wrong[1] = "http://guess".to_owned();
    refused(&wrong, "write it as amqp://USER:PASSWORD@HOST:PORT/VHOST");

    // Events without a queue.
    let create = with(&words, &["--create-exchange"]);
    refused(&create, "no queue is bound to exchange charging for the event created");
    broker.client(&["bind", EXCHANGE, "credits", "credited"]);
    refused(&words, "no queue is bound to exchange charging for the event created");
    broker.client(&["bind", EXCHANGE, QUEUE]);
    shipped(&words);
    broker.has_each(&store.events());
    store.ask("SCUR.DEBIT alice t1 cent 5");
    broker.client(&["delete", QUEUE]);
    let log = shipped(&with(&words, &["--drop-unroutable"]));
    assert!(log.lines().any(|line| line.starts_with("1 events ")), "{log}");
    // The first attempts brought it to this queue too.
    let credits = broker.messages("credits");
    assert!(credits.len() > 1 && credits.iter().all(|message| message.event == "credited"));

    // Positions of another store, and what is none.
    let other = Store::start();
    other.ask("SCUR.CREATE bob BUCKET main cent 100");
    let (_, id) = credits[0].payload.split_once("\"store\":\"").expect("a store");
    let positions = format!("charging.positions.{}", &id[..16]);
    broker.client(&["put", &positions, "00c0ffee00c0ffee 1.0:1"]);
    refused(&words, "has positions of store 00c0ffee00c0ffee");
    broker.client(&["delete", &positions]);
    shipped(&with(&words, &["--drop-unroutable"]));
    broker.client(&["put", &positions, "nonsense"]);
    refused(&words, "is not of positions");
    // Another store has positions of its own.
    shipped(&with(&broker.words(broker.direct, &other.address()), &["--drop-unroutable"]));
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
    let url = format!("amqp://{address}");
    let words = ["amqp", &url, "--exchange", EXCHANGE, "--from", &store.address()];
    refused(&words.map(str::to_owned), &format!("AMQP on {address}"));
}
