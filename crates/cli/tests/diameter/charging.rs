//! Sessions and events as they are charged.

use crate::client::{Ask, Client, octets, used, wants};
use crate::store::Process;
use scurry_diameter::ccr::RequestType::{Event, Initial, Termination, Update};
use scurry_diameter::ccr::{Money, RequestedAction, Service, Units, UsedUnits};

/// A store with a subscriber who has 1,000 octets.
fn store(settings: &str) -> Process {
    let store = Process::with_settings(settings);
    store.ask("SCUR.CREATE imsi-001010000000001 BUCKET main octet 1000");
    store
}

const ACCOUNT: &str = "imsi-001010000000001";

#[test]
fn a_data_session_reserves_settles_and_ends() {
    let store = store("");
    let mut client = Client::connect(store.diameter, "pgw.example");
    let first = client.services(Ask::data("s;1", Initial, 0), &[wants(100, 400)]);
    assert_eq!(
        first,
        "2001 MSCC={ GSU={ CC-Total-Octets=400 } RG=100 Validity-Time=600 Result-Code=2001 \
         Volume-Quota-Threshold=80 }"
    );
    assert_eq!(store.balance(ACCOUNT), (600, 400));
    let next = Service { used: &used(300), ..wants(100, 500) };
    let second = client.services(Ask::data("s;1", Update, 1), &[next]);
    assert!(second.starts_with("2001 MSCC={ GSU={ CC-Total-Octets=500 } RG=100"), "{second}");
    assert_eq!(store.balance(ACCOUNT), (200, 500));
    let end = Service { used: &used(450), rating_group: Some(100), ..Service::default() };
    // The number of the last update, as SigScale's client has it: it is another request.
    let third = client.services(Ask::data("s;1", Termination, 1), &[end]);
    assert_eq!(third, "2001 MSCC={ RG=100 Result-Code=2001 }");
    assert_eq!(store.balance(ACCOUNT), (250, 0));
}

#[test]
fn a_copy_is_answered_the_same_and_charges_nothing() {
    let store = store("");
    let mut client = Client::connect(store.diameter, "pgw.example");
    let ask = Ask::data("s;1", Initial, 0);
    let first = client.services(ask, &[wants(100, 400)]);
    let copy = Ask { is_copy: true, ..ask };
    assert_eq!(client.services(copy, &[wants(100, 400)]), first);
    let next = [Service { used: &used(400), ..wants(100, 400) }];
    let ask = Ask::data("s;1", Update, 1);
    let second = client.services(ask, &next);
    // The copy comes over another connection, after a failover; and a third one to another door.
    let mut other = Client::connect(store.diameter, "pgw2.example");
    assert_eq!(other.services(Ask { is_copy: true, ..ask }, &next), second);
    let door = Process::door_before(&store, "");
    let mut third = Client::connect(door.diameter, "pgw.example");
    assert_eq!(third.services(Ask { is_copy: true, ..ask }, &next), second);
    assert_eq!(store.balance(ACCOUNT), (200, 400));
}

#[test]
fn the_last_units_are_final_and_then_credit_is_denied() {
    let store = store("");
    let mut client = Client::connect(store.diameter, "pgw.example");
    let last = client.services(Ask::data("s;1", Initial, 0), &[wants(100, 5_000)]);
    assert_eq!(
        last,
        "2001 MSCC={ GSU={ CC-Total-Octets=1000 } RG=100 Validity-Time=600 Result-Code=2001 \
         FUI={ Final-Unit-Action=0 } }"
    );
    // The other session holds all that is left: a new one is denied, without units.
    let none = client.services(Ask::data("s;2", Initial, 0), &[wants(100, 10)]);
    assert_eq!(none, "4012 MSCC={ RG=100 Result-Code=4012 }");
    let next = [Service { used: &used(1_000), ..wants(100, 10) }];
    let denied = client.services(Ask::data("s;1", Update, 1), &next);
    assert_eq!(denied, "2001 MSCC={ RG=100 Result-Code=4012 }");
}

#[test]
fn services_are_answered_in_their_order_each_with_its_result() {
    let store = store("");
    let mut client = Client::connect(store.diameter, "pgw.example");
    let answer = client.services(
        Ask::data("s;1", Initial, 0),
        &[
            wants(7, 900),
            wants(3, 200),
            wants(5, 10),
            Service { rating_group: Some(4), ..Service::default() },
        ],
    );
    let results: Vec<&str> = answer.split("MSCC={ ").skip(1).collect();
    assert!(answer.starts_with("2001 "), "{answer}");
    for (result, words) in results.iter().zip([
        ["CC-Total-Octets=900", "RG=7"],
        ["CC-Total-Octets=100", "RG=3"],
        ["RG=5", "Result-Code=4012"],
        ["RG=4", "Result-Code=2001"],
    ]) {
        assert!(words.iter().all(|word| result.contains(word)), "{result}");
    }
}

#[test]
fn input_and_output_or_the_total_are_used_but_never_both() {
    let store = store("");
    let mut client = Client::connect(store.diameter, "pgw.example");
    client.services(Ask::data("s;1", Initial, 0), &[wants(1, 100)]);
    let units = Units {
        total_octets: Some(30),
        input_octets: Some(10),
        output_octets: Some(20),
        time_s: Some(7),
        ..Units::default()
    };
    let parts = Units { input_octets: Some(3), output_octets: Some(4), ..Units::default() };
    let both = [
        UsedUnits { units, ..UsedUnits::default() },
        UsedUnits { units: parts, ..UsedUnits::default() },
    ];
    // Open5GS: no Rating-Group, several units, and Multiple-Services-Indicator 0.
    let answer = client.services(
        Ask::data("s;1", Termination, 1),
        &[Service { used: &both, rating_group: Some(1), ..Service::default() }],
    );
    assert_eq!(answer, "2001 MSCC={ RG=1 Result-Code=2001 }");
    assert_eq!(store.balance(ACCOUNT), (963, 0));
}

#[test]
fn units_outside_of_any_service_are_one_service() {
    let store = store("");
    let mut client = Client::connect(store.diameter, "pgw.example");
    let ask = Ask::data("s;1", Initial, 0);
    let wanted = Service { requested: Some(octets(50)), ..Service::default() };
    let answer = client.ask(ask, |request| request.outside(&wanted));
    assert_eq!(answer, "2001 GSU={ CC-Total-Octets=50 } Validity-Time=600");
    let spent = Service { used: &used(20), requested: Some(octets(5_000)), ..Service::default() };
    let answer = client.ask(Ask::data("s;1", Update, 1), |request| request.outside(&spent));
    assert_eq!(
        answer,
        "2001 GSU={ CC-Total-Octets=980 } Validity-Time=600 FUI={ Final-Unit-Action=0 }"
    );
    let spent = Service { used: &used(980), requested: Some(octets(1)), ..Service::default() };
    let answer = client.ask(Ask::data("s;1", Update, 2), |request| request.outside(&spent));
    assert_eq!(answer, "4012");
}

#[test]
fn a_session_may_begin_without_units() {
    let store = store("");
    let mut client = Client::connect(store.diameter, "pgw.example");
    assert_eq!(client.services(Ask::data("s;1", Initial, 0), &[]), "2001");
    let empty = Service { requested: Some(Units::default()), ..wants(9, 0) };
    let answer = client.services(Ask::data("s;1", Update, 1), &[empty]);
    assert!(answer.contains("CC-Total-Octets=1000"), "{answer}");
}

#[test]
fn use_of_a_session_that_is_not_open_is_debited_once() {
    let store = store("");
    let mut client = Client::connect(store.diameter, "pgw.example");
    let late = [Service { used: &used(70), ..wants(1, 10) }];
    let answer = client.services(Ask::data("lost;1", Update, 4), &late);
    assert!(answer.starts_with("5002 Error-Message=the session has ended"), "{answer}");
    client.services(Ask::data("lost;1", Update, 4), &late);
    assert_eq!(store.balance(ACCOUNT), (930, 0));
    let end = [Service { used: &used(30), rating_group: Some(1), ..Service::default() }];
    let answer = client.services(Ask::data("lost;1", Termination, 5), &end);
    assert_eq!(answer, "2001 MSCC={ RG=1 Result-Code=2001 }");
    assert_eq!(store.balance(ACCOUNT), (900, 0));
}

#[test]
fn a_subscriber_without_an_account_is_unknown() {
    let store = store("");
    let mut client = Client::connect(store.diameter, "pgw.example");
    let ask = Ask { imsi: "999", ..Ask::data("s;1", Initial, 0) };
    let answer = client.services(ask, &[wants(1, 10)]);
    assert_eq!(answer, "5030 Error-Message=no account is known for this subscriber");
}

#[test]
fn a_suspended_subscriber_is_denied() {
    let store = store("");
    let mut client = Client::connect(store.diameter, "pgw.example");
    client.services(Ask::data("s;1", Initial, 0), &[wants(1, 10)]);
    store.ask(&format!("SCUR.STATUS {ACCOUNT} suspended"));
    let answer = client.services(Ask::data("s;1", Update, 1), &[wants(1, 10)]);
    assert!(answer.starts_with("4010 "), "{answer}");
    assert!(client.services(Ask::data("s;2", Initial, 0), &[wants(1, 10)]).starts_with("4010 "));
    assert_eq!(store.balance(ACCOUNT), (1_000, 0));
}

#[test]
fn events_debit_check_and_refund() {
    let store = store("");
    let mut client = Client::connect(store.diameter, "smsc.example");
    let action = |action, number| (Ask::data("e;1", Event, number), action);
    let (ask, debit) = action(RequestedAction::DirectDebiting, 0);
    let bought = |request: &mut scurry_diameter::ccr::RequestWriter<'_>| {
        request.action(debit);
        request.service(&wants(1, 250));
    };
    let answer = client.ask(ask, bought);
    assert_eq!(
        answer,
        "2001 MSCC={ GSU={ CC-Total-Octets=250 } RG=1 Result-Code=2001 \
         Refund-Information=e;1/0 }"
    );
    assert_eq!(client.ask(Ask { is_copy: true, ..ask }, bought), answer, "a copy");
    assert_eq!(store.balance(ACCOUNT), (750, 0));
    let (ask, check) = action(RequestedAction::CheckBalance, 1);
    for (octets, answer) in
        [(750, "2001 Check-Balance-Result=0"), (751, "2001 Check-Balance-Result=1")]
    {
        let said = client.ask(ask, |request| {
            request.action(check);
            request.service(&wants(1, octets));
        });
        assert_eq!(said, answer);
    }
    let (ask, refund) = action(RequestedAction::RefundAccount, 2);
    let answer = client.ask(ask, |request| {
        request.action(refund);
        let part = Service { refund_information: b"e;1/0", ..wants(1, 50) };
        request.service(&part);
    });
    assert!(answer.starts_with("2001 "), "{answer}");
    assert_eq!(store.balance(ACCOUNT), (800, 0));
    let (ask, debit) = action(RequestedAction::DirectDebiting, 3);
    let answer = client.ask(ask, |request| {
        request.action(debit);
        request.service(&wants(1, 801));
    });
    assert_eq!(answer, "4012 MSCC={ RG=1 Result-Code=4012 }");
    let (ask, price) = action(RequestedAction::PriceEnquiry, 4);
    let answer = client.ask(ask, |request| request.action(price));
    assert!(
        answer.starts_with("5031 ") && answer.contains("Failed-AVP={ Requested-Action="),
        "{answer}"
    );
    // Use that has happened already.
    let (ask, debit) = action(RequestedAction::DirectDebiting, 5);
    let answer = client.ask(ask, |request| {
        request.action(debit);
        request.service(&Service { used: &used(100), rating_group: Some(1), ..Service::default() });
    });
    assert!(answer.starts_with("2001 "), "{answer}");
    assert_eq!(store.balance(ACCOUNT), (700, 0));
}

#[test]
fn a_session_stays_with_its_account_when_the_number_moves() {
    let settings = "[[subscribers]]\ntype = 'imsi'\nidentity = 'imsi'\n";
    let store = Process::with_settings(settings);
    store.ask("SCUR.CREATE a IDENTITY imsi 001010000000001 BUCKET main octet 1000");
    store.ask("SCUR.CREATE b BUCKET main octet 1000");
    let door = Process::door_before(&store, settings);
    let mut client = Client::connect(door.diameter, "pgw.example");
    client.services(Ask::data("s;1", Initial, 0), &[wants(1, 400)]);
    store.ask("SCUR.STATUS a active IDENTITY imsi \"\"");
    store.ask("SCUR.STATUS b active IDENTITY imsi 001010000000001");
    // Requests of the session that is open, its end, and late use reach the account that opened it.
    let spent = Service { used: &used(300), ..wants(1, 100) };
    let answer = client.services(Ask::data("s;1", Update, 1), &[spent]);
    assert!(answer.contains("CC-Total-Octets=100"), "{answer}");
    let rest = Service { used: &used(50), rating_group: Some(1), ..Service::default() };
    client.services(Ask::data("s;1", Termination, 2), &[rest]);
    client.services(Ask::data("s;1", Update, 3), &[rest]);
    assert_eq!((store.balance("a"), store.balance("b")), ((600, 0), (1_000, 0)));
    // New sessions belong to the account that has the number now.
    client.services(Ask::data("s;2", Initial, 0), &[wants(1, 10)]);
    assert_eq!((store.balance("a"), store.balance("b")), ((600, 0), (990, 10)));
}

#[test]
fn money_is_counted_in_minor_units_with_any_exponent() {
    let settings = "[[services]]\nmeasure = 'money'\nunit = 'cent'\ncurrency = 978\ngrant = 50\n";
    let store = Process::with_settings(settings);
    store.ask("SCUR.CREATE imsi-001010000000001 BUCKET main cent 1000");
    let mut client = Client::connect(store.diameter, "as.example");
    let money = |digits, exponent, currency| Units {
        money: Some(Money { digits, exponent, currency }),
        ..Units::default()
    };
    let mut debit = |number, units| {
        client.ask(Ask::data("e;1", Event, number), |request| {
            request.action(RequestedAction::DirectDebiting);
            request.service(&Service { requested: Some(units), ..wants(1, 0) });
        })
    };
    for (number, (digits, exponent, left)) in
        [(1, 0, 900), (12, -1, 780), (25, -2, 755), (5_000, -4, 705), (1, -2, 704)]
            .into_iter()
            .enumerate()
    {
        let number = u32::try_from(number).expect("small");
        let answer = debit(number, money(digits, exponent, Some(978)));
        assert!(answer.starts_with("2001 "), "{answer}");
        assert_eq!(store.balance(ACCOUNT), (left, 0), "{digits} {exponent}");
    }
    let answer = debit(9, money(7, 0, None));
    assert!(
        answer.contains("Unit-Value={ Value-Digits=700 Exponent=-2 } Currency-Code=978"),
        "{answer}"
    );
    for units in [
        money(1, -3, Some(978)),
        money(1, 0, Some(840)),
        money(i64::MAX, 0, None),
        money(-1, 0, None),
    ] {
        let answer = debit(10, units);
        assert!(answer.starts_with("5004 ") && answer.contains("Failed-AVP={ C"), "{answer}");
    }
    assert_eq!(store.balance(ACCOUNT), (4, 0));
}

#[test]
fn an_event_leaves_a_session_of_the_same_name_open() {
    let store = store("");
    let mut client = Client::connect(store.diameter, "pgw.example");
    client.services(Ask::data("s;1", Initial, 0), &[wants(1, 400)]);
    let spent = Service { used: &used(100), rating_group: Some(1), ..Service::default() };
    for number in [9, 3, 9] {
        let answer = client.ask(Ask::data("s;1", Event, number), |request| {
            request.action(RequestedAction::DirectDebiting);
            request.service(&spent);
        });
        assert!(answer.starts_with("2001 "), "{answer}");
    }
    // Two events, each debited once, beside the hold of the session.
    assert_eq!(store.balance(ACCOUNT), (400, 400));
}

#[test]
fn the_longest_names_are_charged() {
    let store = store("");
    let mut client = Client::connect(store.diameter, &format!("{}.example", "h".repeat(240)));
    for session in ["s".repeat(255), "s".repeat(256), "s;".repeat(2_000), "ü".to_owned()] {
        let answer = client.services(Ask::data(&session, Initial, 0), &[wants(1, 10)]);
        assert!(answer.contains("CC-Total-Octets=10 "), "{answer}");
        let rest = [Service { used: &used(5), rating_group: Some(1), ..Service::default() }];
        assert!(client.services(Ask::data(&session, Termination, 1), &rest).starts_with("2001 "));
    }
    assert_eq!(store.balance(ACCOUNT), (980, 0));
}

/// What an event says decides what is debited, credited or refunded; what it does not say is never made up.
#[test]
fn events_that_say_nothing_or_too_much_move_nothing() {
    let store = store("[[services]]\nmeasure = 'volume'\nrefund_bucket = 'main'\n");
    let mut client = Client::connect(store.diameter, "smsc.example");
    let mut number = 0;
    let mut ask = |client: &mut Client, action, services: &[Service<'_>]| {
        number += 1;
        client.ask(Ask::data("e;1", Event, number), |request| {
            request.action(action);
            services.iter().for_each(|service| request.service(service));
        })
    };
    let (debit, refund) = (RequestedAction::DirectDebiting, RequestedAction::RefundAccount);
    let reported = |spent: &'static [UsedUnits], group| Service {
        used: spent,
        rating_group: Some(group),
        ..Service::default()
    };
    let seconds = Units { time_s: Some(5), ..Units::default() };
    let [none, five] = [used(0), used(5)].map(|used| &*Box::leak(Box::new(used)));
    let of_time = &*Box::leak(Box::new([UsedUnits { units: seconds, ..UsedUnits::default() }]));
    // Use of nothing, or of another kind.
    for services in [
        vec![reported(none, 1)],
        vec![reported(of_time, 1)],
        vec![reported(none, 1), reported(none, 2)],
    ] {
        let answer = ask(&mut client, debit, &services);
        assert!(answer.starts_with("2001 ") && !answer.contains("GSU"), "{answer}");
    }
    assert_eq!(store.balance(ACCOUNT), (1_000, 0));
    assert!(ask(&mut client, debit, &[reported(none, 1), reported(five, 2)]).starts_with("2001 "));
    assert_eq!(store.balance(ACCOUNT), (995, 0));
    // Use beside a request for units, in one service or in two.
    let both = Service { used: five, ..wants(1, 7) };
    for services in [vec![both], vec![reported(five, 1), wants(2, 7)]] {
        let answer = ask(&mut client, debit, &services);
        assert!(answer.starts_with("5007 ") && answer.contains("Used-Service-Unit"), "{answer}");
    }
    // Nothing is requested, or something of another kind.
    for requested in [octets(0), seconds] {
        for action in [debit, refund, RequestedAction::CheckBalance] {
            let nothing = Service { requested: Some(requested), ..wants(1, 0) };
            let answer = ask(&mut client, action, &[nothing]);
            let is_refused = answer.starts_with("5004 ");
            assert!(is_refused && answer.contains("Requested-Service-Unit"), "{answer}");
        }
    }
    assert!(ask(&mut client, refund, &[reported(five, 1)]).starts_with("5005 "));
    // A refund is of one debit.
    let first = ask(&mut client, debit, &[wants(1, 100)]);
    let name = first.split_once("Refund-Information=").expect("a name").1;
    let first = name.trim_end_matches([' ', '}']).to_owned();
    let second = ask(&mut client, debit, &[wants(1, 200)]);
    let name = second.split_once("Refund-Information=").expect("a name").1;
    let second = name.trim_end_matches([' ', '}']).to_owned();
    let of = |name: &'static str| Service {
        refund_information: name.as_bytes(),
        rating_group: Some(1),
        ..Service::default()
    };
    let [first, second]: [&'static str; 2] = [first.leak(), second.leak()];
    for services in [vec![of(first), of(second)], vec![of(first), wants(1, 5)]] {
        let answer = ask(&mut client, refund, &services);
        assert!(answer.starts_with("5004 ") && answer.contains("Refund-Information"), "{answer}");
    }
    // Nor may the name outside of the services be another one.
    let answer = client.ask(Ask::data("e;1", Event, 90), |request| {
        request.action(refund);
        request.service(&of(first));
        request.writer().bytes(scurry_diameter::attribute::REFUND_INFORMATION, second.as_bytes());
    });
    assert!(answer.starts_with("5004 ") && answer.contains("Refund-Information"), "{answer}");
    assert_eq!(store.balance(ACCOUNT), (695, 0));
    assert!(ask(&mut client, refund, &[of(first)]).starts_with("2001 "));
    assert_eq!(store.balance(ACCOUNT), (795, 0));
}

#[test]
fn an_event_of_a_service_that_is_recorded_is_in_the_statement() {
    let store = Process::with_log("[[services]]\nmeasure = 'units'\nmode = 'record'\n");
    store.ask(&format!("SCUR.CREATE {ACCOUNT} BUCKET main octet 1000"));
    let mut client = Client::connect(store.diameter, "smsc.example");
    for (number, service) in [
        (0, Service { requested: Some(Units::default()), ..wants(1, 0) }),
        (1, Service { requested: None, ..wants(1, 0) }),
    ] {
        let answer = client.ask(Ask::data("e;1", Event, number), |request| {
            request.action(RequestedAction::DirectDebiting);
            request.service(&service);
        });
        assert_eq!(answer, "4011 MSCC={ RG=1 Result-Code=4011 }");
    }
    let statement = format!("{:?}", store.ask(&format!("SCUR.STATEMENT {ACCOUNT} UNIT record")));
    assert_eq!(statement.matches("late-use").count(), 2, "{statement}");
    assert_eq!(store.balance(ACCOUNT), (1_000, 0));
}

#[test]
fn a_copy_of_the_first_request_finds_its_session_when_the_number_has_moved() {
    let settings = "[[subscribers]]\ntype = 'imsi'\nidentity = 'imsi'\n";
    let store = Process::with_settings(settings);
    store.ask("SCUR.CREATE a IDENTITY imsi 001010000000001 BUCKET main octet 1000");
    store.ask("SCUR.CREATE b BUCKET main octet 1000");
    let mut client = Client::connect(store.diameter, "pgw.example");
    let ask = Ask::data("s;1", Initial, 0);
    let first = client.services(ask, &[wants(1, 100)]);
    store.ask("SCUR.STATUS a active IDENTITY imsi \"\"");
    store.ask("SCUR.STATUS b active IDENTITY imsi 001010000000001");
    assert_eq!(client.services(Ask { is_copy: true, ..ask }, &[wants(1, 100)]), first);
    assert_eq!([store.balance("a"), store.balance("b")], [(900, 100), (1_000, 0)]);
    // Another session is that of the new holder.
    client.services(Ask::data("s;2", Initial, 0), &[wants(1, 100)]);
    assert_eq!([store.balance("a"), store.balance("b")], [(900, 100), (900, 100)]);
}
