//! Measures the reply lengths of a real server, so that the echo server moves the same bytes.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anyhow::{Result, bail};
use scurry_service::Request;

use crate::client::Client;
use crate::dialect::Dialect;
use crate::names::{account_text, session_text};
use crate::resp::Value;
use crate::scenario::{Charging, KeyValue, Operation};

/// Typical replies of the shipped charging scenario, for machines without a scurry binary.
const BUILT_IN: &[(Operation, usize)] = &[
    (Operation::Get, 248),
    (Operation::Reserve, 49),
    (Operation::Session, 556),
    (Operation::Update, 49),
    (Operation::Terminate, 46),
];

/// Reply lengths by command, and their origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EchoSizes {
    /// `NAME=BYTES,...`, as `echo-server --sizes` accepts it.
    pub text: String,
    /// Note on the origin for the row.
    pub origin: String,
}

/// Runs one session of the scenario against a fresh scurry and records the length of each reply; of an operation that
/// occurs several times, the mean.
///
/// # Errors
/// When the server refuses a request.
pub fn measure_reply_sizes(address: SocketAddr, charging: &Charging) -> Result<EchoSizes> {
    let mut client = Client::connect(address)?;
    let (account, session) = (account_text(0), session_text(0));
    let mut call = |request: &Request| -> Result<usize> {
        match client.call_measured(&Dialect::Scur.arguments(request))? {
            (Value::Error(text), _) => bail!("{}: {text}", request.command_name()),
            (_, length) => Ok(length),
        }
    };
    call(&charging.create(&account, true))?;
    let mut lengths: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut request = 0;
    for operation in charging.operations() {
        let at = charging.at(&account, &session, request);
        let length = call(&charging.request(operation, &at))?;
        lengths.entry(operation.name()).or_default().push(length);
        request += u32::from(operation.writes());
    }
    let means = lengths.iter().map(|(name, all)| (*name, all.iter().sum::<usize>() / all.len()));
    Ok(EchoSizes {
        text: charging_text(means),
        origin: "reply sizes learnt from scurry".to_owned(),
    })
}

/// Returns the built-in lengths and notes why they are used.
pub fn built_in(why: &anyhow::Error) -> EchoSizes {
    EchoSizes {
        text: charging_text(BUILT_IN.iter().map(|(operation, bytes)| (operation.name(), *bytes))),
        origin: format!("reply sizes are the built-in typical ones ({why:#})"),
    }
}

/// Computes the lengths of plain replies from the size of a value.
pub fn key_value(kv: Option<&KeyValue>) -> EchoSizes {
    let value = kv.map_or(0, |kv| kv.value_size);
    let get = 1 + value.to_string().len() + 2 + value + 2;
    EchoSizes {
        text: format!("SET=5,GET={get},DEL=4"),
        origin: "reply sizes follow from the value size".to_owned(),
    }
}

fn charging_text<'a>(sizes: impl Iterator<Item = (&'a str, usize)>) -> String {
    let entries: Vec<String> = sizes.map(|(name, bytes)| format!("SCUR.{name}={bytes}")).collect();
    entries.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::echo::ReplySizes;

    #[test]
    fn the_echo_server_understands_them() {
        let sizes = built_in(&anyhow::anyhow!("none here"));
        assert!(ReplySizes::parse(&sizes.text).is_ok());
        assert!(sizes.text.starts_with("SCUR.GET=248,SCUR.RESERVE="));
        assert!(sizes.origin.contains("none here"));
        let kv = KeyValue { keys: 1, value_size: 100, get_share: 1, ..KeyValue::default() };
        assert_eq!(key_value(Some(&kv)).text, "SET=5,GET=108,DEL=4");
    }
}
