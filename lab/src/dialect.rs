//! How charging commands are written for a target: natively, or as calls of a function library.

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
    /// Returns the arguments of one command: the account, then `rest`.
    pub fn arguments(self, command: &str, account: &str, rest: &[&str]) -> Vec<Vec<u8>> {
        let mut arguments = match self {
            Dialect::Scur | Dialect::Decided => vec![format!("SCUR.{command}").into_bytes()],
            Dialect::Functions => {
                let function = format!("scur_{}", command.to_lowercase());
                vec![b"FCALL".to_vec(), function.into_bytes(), b"1".to_vec()]
            }
        };
        arguments.push(account.as_bytes().to_vec());
        arguments.extend(rest.iter().map(|argument| argument.as_bytes().to_vec()));
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

    #[test]
    fn all_dialects_put_the_account_where_they_say() {
        for dialect in [Dialect::Scur, Dialect::Decided, Dialect::Functions] {
            let arguments = dialect.arguments("SESSION", "acc:1", &["s1"]);
            assert_eq!(arguments[dialect.account_index()], b"acc:1");
            assert_eq!(arguments.last().unwrap(), b"s1");
        }
        assert_eq!(Dialect::Scur.arguments("GET", "a", &[])[0], b"SCUR.GET");
        assert_eq!(Dialect::Functions.arguments("GET", "a", &[])[1], b"scur_get");
    }
}
