//! Types of option values, read from a command line or a settings file. Each type accepts one kind of text, and its
//! errors say what is allowed.

use anyhow::{Result, ensure};
use clap::ValueEnum;
use scurry_ledger::Name;
use scurry_server::{Durability, LostGroup};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use tracing_subscriber::filter::LevelFilter;

/// Port named as an example in errors.
const PORT_SHOWN: u16 = 6389;

/// Address and port to listen on: `127.0.0.1:6389`, `[::1]:6389`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address(pub(crate) SocketAddr);

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        text.parse().map(Address).map_err(|_| not_an_address(text))
    }
}

/// Explains why a text is not an address with a port, and suggests what was probably meant.
fn not_an_address(text: &str) -> String {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host, port),
        None if text.parse::<u16>().is_ok() => ("", text),
        None => (text, ""),
    };
    let is_port = port.parse::<u16>().is_ok();
    let is_digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = host.bytes().any(|byte| byte.is_ascii_alphabetic())
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    let six = host.parse::<Ipv6Addr>().ok();
    let whole = text.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    if is_digits && !is_port {
        return format!("{text:?} has no port that there is: write one of 0 to 65535");
    }
    match (host, six) {
        ("", _) if is_port => format!(
            "{text:?} is a port without an address: write 127.0.0.1:{port} for this machine \
             alone, or 0.0.0.0:{port} for all its addresses"
        ),
        ("*", _) if is_port => {
            format!("{text:?} is not an address: write 0.0.0.0:{port} or [::]:{port}")
        }
        ("localhost", _) if is_port => format!(
            "{text:?} has a name, and what is listened on is an address: write 127.0.0.1:{port} \
             or [::1]:{port}"
        ),
        (_, _) if is_port && is_name => format!(
            "{text:?} has a name, and what is listened on is an address: write IP:{port}, with \
             the IP that {host} has on this machine"
        ),
        (_, Some(six)) if is_port => {
            format!("{text:?} lacks brackets around the address: write [{six}]:{port}")
        }
        _ => match whole {
            Ok(ip) => {
                let host = if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() };
                format!(
                    "{text:?} has no port: write {host}:PORT, with the port that is meant ({PORT_SHOWN} \
                     is usual for clients, 8080 for HTTP)"
                )
            }
            Err(_) => {
                format!("{text:?} is not an address and a port: write IP:PORT, as 127.0.0.1:6389")
            }
        },
    }
}

/// Address of a machine without a port: `10.0.0.1`, `::1`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostIp(pub(crate) IpAddr);

impl FromStr for HostIp {
    type Err = String;

    fn from_str(text: &str) -> Result<HostIp, String> {
        let wrong = || format!("{text:?} is not an address: write an IP alone, as 10.0.0.1");
        text.parse().map(HostIp).map_err(|_| wrong())
    }
}

/// Whole number from `LEAST` to `MOST`. `T` must be able to hold `MOST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Number<T, const LEAST: u64, const MOST: u64>(pub(crate) T);

impl<T: TryFrom<u64>, const LEAST: u64, const MOST: u64> FromStr for Number<T, LEAST, MOST> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.parse().ok().filter(|number| (LEAST..=MOST).contains(number));
        let number = number.and_then(|number| T::try_from(number).ok()).map(Number);
        number.ok_or_else(|| format!("{text:?} is not a whole number from {LEAST} to {MOST}"))
    }
}

/// Id of a node of a group, as `scurry replica status` shows it: 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeName(pub(crate) u64);

impl FromStr for NodeName {
    type Err = String;

    fn from_str(text: &str) -> Result<NodeName, String> {
        let is_name = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let id = is_name.then(|| u64::from_str_radix(text, 16).ok()).flatten();
        id.filter(|&id| id > 0).map(NodeName).ok_or_else(|| {
            format!("{text:?} is not the id of a node: use the 16 hexadecimal digits of `scurry replica status`")
        })
    }
}

/// A lost group: the id of its store and the addresses of its nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LostGroupName(pub(crate) LostGroup);

impl fmt::Display for LostGroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LostGroup { store, nodes } = &self.0;
        let nodes: Vec<String> = nodes.iter().map(ToString::to_string).collect();
        write!(f, "{store:016x}@{}", nodes.join(","))
    }
}

impl FromStr for LostGroupName {
    type Err = String;

    fn from_str(text: &str) -> Result<LostGroupName, String> {
        let wrong = || {
            format!(
                "{text:?} is no lost group: use what `scurry restore` shows, as 00000000000000a7@10.0.0.1:7389"
            )
        };
        let (store, nodes) = text.split_once('@').ok_or_else(wrong)?;
        let is_id = store.len() == 16 && store.bytes().all(|byte| byte.is_ascii_hexdigit());
        let store = is_id.then(|| u64::from_str_radix(store, 16).ok()).flatten();
        let store = store.filter(|&store| store > 0).ok_or_else(wrong)?;
        let node = |node: &str| {
            let address = node.parse::<Address>()?.0;
            match address.port() > 0 && !address.ip().is_unspecified() {
                true => Ok(address),
                false => Err(wrong()),
            }
        };
        let nodes = nodes.split(',').map(node).collect::<Result<_, _>>()?;
        Ok(LostGroupName(LostGroup { store, nodes }))
    }
}

/// Decimals of a unit: `USD=2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnitDecimal {
    unit: Name,
    decimals: u8,
}

impl UnitDecimal {
    /// Most decimals of a unit: an amount of 64 bits has 19 digits.
    const MAX: u8 = 18;
    /// Most units with decimals.
    const UNITS_MAX: usize = 1_000;

    /// Returns the decimals of the units by their names.
    pub(crate) fn table(all: &[UnitDecimal]) -> Result<BTreeMap<String, u8>> {
        let max = UnitDecimal::UNITS_MAX;
        ensure!(all.len() <= max, "--unit-decimals names more than {max} units");
        let mut table = BTreeMap::new();
        for UnitDecimal { unit, decimals } in all {
            let unit = unit.as_str().to_owned();
            ensure!(!table.contains_key(&unit), "--unit-decimals names {unit} twice");
            table.insert(unit, *decimals);
        }
        Ok(table)
    }
}

impl FromStr for UnitDecimal {
    type Err = String;

    fn from_str(text: &str) -> Result<UnitDecimal, String> {
        let max = UnitDecimal::MAX;
        let wrong = || {
            format!(
                "{text:?} is no unit with its decimals: write it as USD=2, with 0 to {max} decimals"
            )
        };
        let (unit, decimals) = text.rsplit_once('=').ok_or_else(wrong)?;
        let unit = Name::new(unit.as_bytes()).ok_or_else(wrong)?;
        let is_digits = decimals.bytes().all(|byte| byte.is_ascii_digit());
        let decimals = decimals.parse().ok().filter(|&decimals| is_digits && decimals <= max);
        Ok(UnitDecimal { unit, decimals: decimals.ok_or_else(wrong)? })
    }
}

/// Level of the log on stderr.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level(pub(crate) LevelFilter);

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Level, String> {
        // `LevelFilter` also parses digits and an empty text, which are most likely mistakes here.
        let is_word = text.starts_with(|first: char| first.is_ascii_alphabetic());
        let level = is_word.then(|| text.parse().ok()).flatten().map(Level);
        level.ok_or_else(|| {
            format!("{text:?} is not a log level: use off, error, warn, info, debug or trace")
        })
    }
}

/// How durable a change is before its answer leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// In memory alone: nothing survives a restart.
    None,
    /// In the page cache: it survives the process, and what the machine had not written within
    /// about a second does not survive a power failure.
    Write,
    /// On the device: it survives a power failure.
    #[default]
    Fsync,
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Mode, String> {
        let wrong = |_| format!("{text:?} is not a durability: use none, write or fsync");
        <Mode as ValueEnum>::from_str(text, false).map_err(wrong)
    }
}

impl From<Mode> for Durability {
    fn from(mode: Mode) -> Durability {
        match mode {
            Mode::None => Durability::None,
            Mode::Write => Durability::Write,
            Mode::Fsync => Durability::Fsync,
        }
    }
}

macro_rules! deserialize_from_text {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<'de, $($generics)*> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                from_text(deserializer)
            }
        }
    )*};
}

deserialize_from_text! {
    [] Address;
    [] HostIp;
    [] Level;
    [] NodeName;
    [] LostGroupName;
    [] UnitDecimal;
    [] Mode;
    [T: TryFrom<u64>, const LEAST: u64, const MOST: u64] Number<T, LEAST, MOST>;
}

/// Reads a value of a file like the same text on a command line, with or without quotes around it.
pub(crate) fn from_text<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err = String>,
{
    deserializer.deserialize_any(Text(PhantomData))
}

/// Visitor that reads a text, and accepts numbers and booleans without quotes.
struct Text<T>(PhantomData<T>);

impl<T: FromStr<Err = String>> Text<T> {
    fn read<E: Error>(value: impl ToString) -> Result<T, E> {
        value.to_string().parse().map_err(E::custom)
    }
}

impl<T: FromStr<Err = String>> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a number")
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<T, E> {
        Self::read(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<T, E> {
        Self::read(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<T, E> {
        Self::read(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<T, E> {
        Self::read(value)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<T, E> {
        Self::read(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said<T: FromStr<Err = String>>(text: &str) -> Option<String> {
        text.parse::<T>().err()
    }

    #[test]
    fn an_address_is_told_how_what_was_meant_is_written() {
        for (text, expected) in [
            (
                "localhost:6390",
                "has a name, and what is listened on is an address: write 127.0.0.1:6390 or [::1]:6390",
            ),
            ("store.example:1", "write IP:1, with the IP that store.example has on this machine"),
            (
                "6390",
                "is a port without an address: write 127.0.0.1:6390 for this machine alone, or 0.0.0.0:6390",
            ),
            (":6390", "write 127.0.0.1:6390 for this machine alone"),
            ("*:6390", "write 0.0.0.0:6390 or [::]:6390"),
            ("127.0.0.1", "has no port: write 127.0.0.1:PORT, with the port that is meant"),
            ("[::1]", "has no port: write [::1]:PORT, with"),
            ("::1", "has no port: write [::1]:PORT, with"),
            ("::1:6390", "lacks brackets around the address: write [::1]:6390"),
            ("fe80::1:6390", "lacks brackets around the address: write [fe80::1]:6390"),
            ("127.0.0.1:70000", "has no port that there is: write one of 0 to 65535"),
            ("70000", "is not an address and a port: write IP:PORT, as 127.0.0.1:6389"),
            ("localhost", "is not an address and a port: write IP:PORT, as 127.0.0.1:6389"),
            ("127.0.0.1:http", "is not an address and a port: write IP:PORT, as 127.0.0.1:6389"),
            ("10.0.0:1", "is not an address and a port: write IP:PORT, as 127.0.0.1:6389"),
            ("", "is not an address and a port: write IP:PORT, as 127.0.0.1:6389"),
        ] {
            let said = said::<Address>(text).expect(text);
            assert!(said.starts_with(&format!("{text:?} ")) && said.contains(expected), "{said}");
        }
        // The suggested forms are accepted.
        for text in ["127.0.0.1:6390", "[::1]:6390", "0.0.0.0:6390", "[::]:6390"] {
            assert_eq!(said::<Address>(text), None);
        }
    }

    #[test]
    fn what_is_refused_says_what_may_stand_there() {
        type Threads = Number<u16, 1, 256>;
        for text in ["localhost", "10.0.0.1:1", ""] {
            let expected = format!("{text:?} is not an address: write an IP alone, as 10.0.0.1");
            assert_eq!(said::<HostIp>(text), Some(expected));
        }
        for text in ["0", "257", "65537", "-1", "1.5", "x", "", "18446744073709551616"] {
            let expected = format!("{text:?} is not a whole number from 1 to 256");
            assert_eq!(said::<Threads>(text), Some(expected));
        }
        for text in ["3", "0000000000000000", "00000000000000g7", "+00000000000000a"] {
            let said = said::<NodeName>(text).expect(text);
            assert!(said.contains("is not the id of a node: use the 16"), "{said}");
        }
        assert_eq!("00000000000000a7".parse::<NodeName>(), Ok(NodeName(167)));
        let lost = "00000000000000a7@10.0.0.1:7389,[::1]:7389";
        assert_eq!(lost.parse::<LostGroupName>().expect("well formed").to_string(), lost);
        for text in [
            "",
            "a7@10.0.0.1:7389",
            "00000000000000a7",
            "00000000000000a7@",
            "00000000000000a7@10.0.0.1",
            "00000000000000a7@10.0.0.1:0",
            "00000000000000a7@0.0.0.0:7389",
            "0000000000000000@10.0.0.1:7389",
        ] {
            said::<LostGroupName>(text).expect(text);
        }
        for text in ["loud", "", "3"] {
            let expected = "is not a log level: use off, error, warn, info, debug or trace";
            assert_eq!(said::<Level>(text), Some(format!("{text:?} {expected}")));
        }
        for text in ["", "USD", "USD=", "=2", "USD=19", "USD=-1", "USD=+2", "USD=2.0", "U S=2"] {
            let expected = format!(
                "{text:?} is no unit with its decimals: write it as USD=2, with 0 to 18 decimals"
            );
            assert_eq!(said::<UnitDecimal>(text), Some(expected));
        }
        let table = |texts: &[&str]| {
            let all: Vec<_> = texts.iter().map(|text| text.parse().expect(text)).collect();
            UnitDecimal::table(&all).map_err(|error| error.to_string())
        };
        let expected = BTreeMap::from([("USD".to_owned(), 2), ("a=b".to_owned(), 18)]);
        assert_eq!(table(&["USD=2", "a=b=18"]), Ok(expected));
        let twice = "--unit-decimals names USD twice".to_owned();
        assert_eq!(table(&["USD=2", "USD=3"]), Err(twice));
        let expected = "\"sync\" is not a durability: use none, write or fsync".to_owned();
        assert_eq!(said::<Mode>("sync"), Some(expected));
        assert_eq!("256".parse::<Threads>(), Ok(Number(256)));
        assert_eq!(said::<Address>("[::1]:0"), None);
        assert_eq!(said::<HostIp>("::1"), None);
        assert_eq!(said::<Level>("off"), None);
    }
}
