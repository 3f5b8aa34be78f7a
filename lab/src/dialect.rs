//! How charging commands are written for a target: natively, or as calls of a function library.

use scurry_service::Request;

/// Spelling of the charging commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `SCUR.RESERVE account ...`
    Scur,
    /// The same, for a store without totals, where the lab or one of its drivers decides.
    Decided,
    /// `FCALL scur_reserve 1 account ...`
    Functions,
}

impl Dialect {
    /// Returns the arguments of a request.
    pub fn arguments(self, request: &Request) -> Vec<Vec<u8>> {
        let encoded = request.arguments();
        let mut arguments: Vec<Vec<u8>> = encoded.iter().map(<[u8]>::to_vec).collect();
        if self == Dialect::Functions {
            let function = request.command_name().to_lowercase().replace('.', "_");
            arguments.splice(..1, [b"FCALL".to_vec(), function.into_bytes(), b"1".to_vec()]);
        }
        arguments
    }

    /// Returns the index of the account among the arguments.
    pub fn account_index(self) -> usize {
        match self {
            Dialect::Scur | Dialect::Decided => 1,
            Dialect::Functions => 3,
        }
    }

    /// Reports whether the store keeps totals (`SCUR.TOTALS`); otherwise every account is queried.
    pub fn has_totals(self) -> bool {
        self == Dialect::Scur
    }
}

#[cfg(test)]
mod tests {
    use super::Dialect;
    use crate::requests::get;

    #[test]
    fn all_dialects_put_the_account_where_they_say() {
        for dialect in [Dialect::Scur, Dialect::Decided, Dialect::Functions] {
            let arguments = dialect.arguments(&get(b"acc:1"));
            assert_eq!(arguments[dialect.account_index()], b"acc:1");
        }
        assert_eq!(Dialect::Scur.arguments(&get(b"a"))[0], b"SCUR.GET");
        assert_eq!(Dialect::Functions.arguments(&get(b"a"))[..2], [&b"FCALL"[..], b"scur_get"]);
    }
}
