//! What becomes of a debt when a period of an allowance ends (docs/ledger.md section 3).

/// Effect of a refill on a debt: the part of `available` below 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DebtRule {
    /// The refill pays the debt.
    #[default]
    Net,
    /// The debt stays until other credit pays it: each period has so much less.
    Carry,
    /// The debt is written off: the refill credits it too.
    Forgive,
}

impl DebtRule {
    /// Words of the rules, as a list for errors.
    pub const WORDS: &str = "net, carry or forgive";
    /// All rules.
    pub const ALL: [DebtRule; 3] = [DebtRule::Net, DebtRule::Carry, DebtRule::Forgive];

    /// Returns the rule with this word, in any case.
    pub fn new(word: &[u8]) -> Option<DebtRule> {
        let mut rules = DebtRule::ALL.into_iter();
        rules.find(|rule| word.eq_ignore_ascii_case(rule.word().as_bytes()))
    }

    /// Returns the word on the wire.
    pub const fn word(self) -> &'static str {
        match self {
            DebtRule::Net => "net",
            DebtRule::Carry => "carry",
            DebtRule::Forgive => "forgive",
        }
    }

    /// Returns the number of the rule. Persisted.
    pub const fn number(self) -> u8 {
        match self {
            DebtRule::Net => 0,
            DebtRule::Carry => 1,
            DebtRule::Forgive => 2,
        }
    }

    /// Returns the rule with this number.
    pub fn from_number(number: u8) -> Option<DebtRule> {
        DebtRule::ALL.into_iter().find(|rule| rule.number() == number)
    }
}
