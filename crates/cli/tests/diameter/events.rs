//! Refunds and balance checks that say something and leave out the rest: nothing is made up, and nothing is passed over.

use crate::client::{Ask, Client, used, wants};
use crate::store::Process;
use scurry_diameter::ccr::RequestType::Event;
use scurry_diameter::ccr::{RequestedAction, Service};

const ACCOUNT: &str = "imsi-001010000000001";
/// Rating group 9 is free.
const SETTINGS: &str = "[[services]]\nmeasure = 'volume'\n\
                        [[services]]\nrating_group = 9\nmeasure = 'volume'\nmode = 'free'\n";

/// A store with a subscriber who had 1,000 octets, and whose first event has debited 300 of them.
struct Debited {
    store: Process,
    client: Client,
    number: u32,
}

impl Debited {
    fn new() -> Debited {
        let store = Process::with_settings(SETTINGS);
        store.ask(&format!("SCUR.CREATE {ACCOUNT} BUCKET main octet 1000"));
        let client = Client::connect(store.diameter, "smsc.example");
        let mut debited = Debited { store, client, number: 0 };
        let answer = debited.ask(RequestedAction::DirectDebiting, &[wants(1, 100), wants(2, 200)]);
        assert!(answer.starts_with("2001 ") && answer.contains("Refund-Information=e;1/0"));
        debited
    }

    fn ask(&mut self, action: RequestedAction, services: &[Service<'_>]) -> String {
        let ask = Ask::data("e;1", Event, self.number);
        self.number += 1;
        self.client.ask(ask, |request| {
            request.action(action);
            services.iter().for_each(|service| request.service(service));
        })
    }

    fn refund(&mut self, services: &[Service<'_>]) -> String {
        self.ask(RequestedAction::RefundAccount, services)
    }
}

/// A service of the debit.
fn of_debit(service: Service<'_>) -> Service<'_> {
    Service { refund_information: b"e;1/0", ..service }
}

/// A service that does not say how much.
fn unsaid(group: u32) -> Service<'static> {
    Service { requested: None, ..wants(group, 0) }
}

#[test]
fn use_beside_a_request_is_contradicting_in_every_event() {
    let mut debited = Debited::new();
    let spent = used(5);
    let both = of_debit(Service { used: &spent, ..wants(1, 7) });
    for action in [RequestedAction::RefundAccount, RequestedAction::CheckBalance] {
        let answer = debited.ask(action, &[both]);
        assert!(answer.starts_with("5007 ") && answer.contains("Used-Service-Unit"), "{answer}");
    }
    assert_eq!(debited.store.balance(ACCOUNT), (700, 0));
}

#[test]
fn a_refund_is_of_a_whole_debit_or_of_what_all_its_services_say() {
    let mut debited = Debited::new();
    let answer = debited.refund(&[of_debit(wants(1, 50)), of_debit(unsaid(2))]);
    assert!(answer.starts_with("5005 ") && answer.contains("Requested-Service-Unit"), "{answer}");
    assert_eq!(debited.store.balance(ACCOUNT), (700, 0));
    let both = [of_debit(wants(1, 50)), of_debit(wants(2, 50))];
    assert!(debited.refund(&both).starts_with("2001 "));
    assert_eq!(debited.store.balance(ACCOUNT), (800, 0));
    // What a free service says is no part of it.
    let answer = debited.refund(&[of_debit(unsaid(1)), of_debit(wants(9, 5))]);
    assert_eq!(answer, "2001 MSCC={ RG=1 Result-Code=2001 } MSCC={ RG=9 Result-Code=4011 }");
    assert_eq!(debited.store.balance(ACCOUNT), (1_000, 0));
}
