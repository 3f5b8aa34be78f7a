//! How a target spells the charging commands: natively, or as calls of a function library.

/// How the charging commands are spelt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `SCUR.RESERVE account ...`
    Scur,
    /// The same, of what keeps no totals: the lab or a driver of the lab decides.
    Decided,
    /// `FCALL scur_reserve 1 account ...`
    Functions,
}

impl Dialect {
    /// The arguments of one command, with the account first and then `rest`.
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

    /// Index of the account among the arguments.
    pub fn account_index(self) -> usize {
        match self {
            Dialect::Scur | Dialect::Decided => 1,
            Dialect::Functions => 3,
        }
    }

    /// Whether the store keeps totals itself (`SCUR.TOTALS`); else every account is asked.
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
