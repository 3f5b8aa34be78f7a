//! A connection to one node of a store.

use crate::line::Line;
use crate::{Address, ClientError, decode};
use redis::{Cmd, RedisError, ServerErrorKind, Value, cmd};
use scurry_service::{CallError, Reply, Request};

/// A connection to one node. It follows no redirection: the caller wants this node.
pub struct Node {
    address: Address,
    line: Line,
}

impl Node {
    /// Connects to a node.
    pub fn connect(address: &Address) -> Result<Node, ClientError> {
        Ok(Node { address: address.clone(), line: address.connect()? })
    }

    /// Returns its address.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Sends one command. An error reply is returned as an error.
    pub fn ask(&mut self, command: &Cmd) -> Result<Value, ClientError> {
        let failed = |error| ClientError::Failed(self.address.text().to_owned(), error);
        self.line.ask(command).and_then(Value::extract_error).map_err(failed)
    }

    /// Carries out a request on accounts of this node.
    ///
    /// # Errors
    /// When the node refused the request, or its reply did not arrive.
    pub fn call(&mut self, request: &Request) -> Result<Reply, CallError> {
        let packed = request.arguments().packed();
        let replies = self.line.ask_many(&packed, 1);
        let replies = replies.map_err(|error| CallError::Unknown(error.to_string()))?;
        decode(request, replies.first().ok_or(CallError::WrongShape)?)
    }

    /// Sends commands as a pipeline. Error replies are among the values.
    pub fn ask_many(&mut self, commands: &[Cmd]) -> Result<Vec<Value>, ClientError> {
        let packed: Vec<u8> = commands.iter().flat_map(Cmd::get_packed_command).collect();
        let failed = |error| ClientError::Failed(self.address.text().to_owned(), error);
        self.line.ask_many(&packed, commands.len()).map_err(failed)
    }

    /// Returns the text of a reply such as that of INFO.
    pub fn text(&mut self, name: &'static str, command: &Cmd) -> Result<String, ClientError> {
        match self.ask(command)? {
            Value::BulkString(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Value::SimpleString(text) | Value::VerbatimString { text, .. } => Ok(text),
            Value::Okay => Ok("OK".to_owned()),
            _ => Err(ClientError::Foreign(self.address.text().to_owned(), name)),
        }
    }

    /// Returns the primaries of this node's cluster, in the order of their slots; empty when it is in no cluster.
    pub fn primaries(&mut self) -> Result<Vec<Address>, ClientError> {
        let groups = self.groups()?;
        Ok(unique(groups.into_iter().filter_map(|group| group.into_iter().next())))
    }

    /// Returns all nodes of this node's cluster that own slots or replicate one that does.
    pub(crate) fn members(&mut self) -> Result<Vec<Address>, ClientError> {
        Ok(unique(self.groups()?.into_iter().flatten()))
    }

    /// Returns for each range of slots its primary, followed by its replicas; empty without a cluster.
    fn groups(&mut self) -> Result<Vec<Vec<Address>>, ClientError> {
        let ranges = match self.ask(cmd("CLUSTER").arg("SLOTS")) {
            Ok(Value::Array(ranges)) => ranges,
            Ok(_) => return Err(self.foreign("CLUSTER SLOTS")),
            Err(ClientError::Failed(_, error)) if is_refusal(&error) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let group = |range: &Value| {
            let Value::Array(range) = range else { return None };
            range.get(2..)?.iter().map(|node| self.member(node)).collect()
        };
        let groups: Option<Vec<Vec<Address>>> = ranges.iter().map(group).collect();
        groups.ok_or_else(|| self.foreign("CLUSTER SLOTS"))
    }

    /// Reads the address of a node from CLUSTER SLOTS.
    fn member(&self, node: &Value) -> Option<Address> {
        let Value::Array(node) = node else { return None };
        let (host, Value::Int(port)) = (node.first()?, node.get(1)?) else { return None };
        let host = match host {
            Value::BulkString(host) if !host.is_empty() => String::from_utf8_lossy(host),
            // Without a host it is the node that was asked.
            _ => self.address.text().rsplit_once(':').map_or("", |(host, _)| host).into(),
        };
        Some(self.address.at(&format!("{host}:{port}")))
    }

    fn foreign(&self, name: &'static str) -> ClientError {
        ClientError::Foreign(self.address.text().to_owned(), name)
    }
}

/// Reports whether the server refused the command, as opposed to a broken connection.
fn is_refusal(error: &RedisError) -> bool {
    matches!(error.kind(), redis::ErrorKind::Server(ServerErrorKind::ResponseError))
}

/// Removes duplicates and keeps the first of each.
fn unique(addresses: impl Iterator<Item = Address>) -> Vec<Address> {
    let mut unique: Vec<Address> = Vec::new();
    for address in addresses {
        if unique.iter().all(|known| known.text() != address.text()) {
            unique.push(address);
        }
    }
    unique
}
