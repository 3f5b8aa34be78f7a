//! The Diameter door as a process, asked by a client of these tests over real sockets, before real stores.

#[path = "../http/browser.rs"]
mod browser;
mod bytes;
mod charging;
mod client;
mod console;
mod doors;
mod events;
mod freediameter;
mod kamailio;
mod log;
mod metrics;
mod notices;
mod otp;
#[path = "../http/page.rs"]
mod page;
mod peers;
mod probe;
mod python;
mod replays;
mod sent_avps;
mod store;
mod ten_minutes;
mod tshark;
