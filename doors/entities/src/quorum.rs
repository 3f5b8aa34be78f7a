//! How many copies of an entity a request needs: `replicas=ack/from`.

use thiserror::Error;

/// A request is answered when `ack` of the `from` nodes that keep an id have answered. 1 <= ack <= from <= the number
/// of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quorum {
    ack: usize,
    from: usize,
}

/// Why a text is not a quorum.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum QuorumError {
    /// The text does not have the form `ack/from`.
    #[error("replicas is `{0}`: say ack/from, as in 2/3")]
    Form(String),
    /// A number is out of range.
    #[error(
        "replicas is {ack}/{from}, and must be 1 <= ack <= from <= {nodes}, the number of nodes"
    )]
    Range {
        /// The `ack` of the request.
        ack: usize,
        /// The `from` of the request.
        from: usize,
        /// The number of nodes.
        nodes: usize,
    },
}

impl Quorum {
    /// Returns a majority of all nodes. Any two such quorums have a node in common.
    pub(crate) fn majority(nodes: usize) -> Quorum {
        Quorum { ack: nodes / 2 + 1, from: nodes }
    }

    /// Parses `ack/from`.
    pub(crate) fn parse(text: &str, nodes: usize) -> Result<Quorum, QuorumError> {
        let form = || QuorumError::Form(text.chars().take(40).collect());
        let number = |digits: &str| -> Result<usize, QuorumError> {
            // The standard library would accept `+3`.
            let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            if plain { digits.parse().map_err(|_| form()) } else { Err(form()) }
        };
        let (ack, from) = text.split_once('/').ok_or_else(form)?;
        let (ack, from) = (number(ack)?, number(from)?);
        if ack == 0 || ack > from || from > nodes {
            return Err(QuorumError::Range { ack, from, nodes });
        }
        Ok(Quorum { ack, from })
    }

    /// Returns how many of all nodes must answer so that they include `ack` of the nodes of every id. As many may be
    /// missing as for one id: `from - ack`.
    pub(crate) fn over(self, nodes: usize) -> Quorum {
        Quorum { ack: nodes - (self.from - self.ack), from: nodes }
    }

    /// Returns how many nodes must answer.
    pub(crate) fn ack(self) -> usize {
        self.ack
    }

    /// Returns how many nodes are asked, and keep a copy.
    pub(crate) fn from(self) -> usize {
        self.from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_majority_meets_every_other() {
        for nodes in 1..=9 {
            let quorum = Quorum::majority(nodes);
            assert!(2 * quorum.ack() > nodes && 2 * (quorum.ack() - 1) <= nodes, "{nodes}");
            assert_eq!(quorum.from(), nodes);
        }
    }

    #[test]
    fn of_the_nodes_of_every_id_enough_are_among_those_that_answer() {
        for (text, nodes, over) in
            [("2/3", 3, (2, 3)), ("2/3", 5, (4, 5)), ("3/3", 5, (5, 5)), ("1/2", 4, (3, 4))]
        {
            let all = Quorum::parse(text, nodes).unwrap().over(nodes);
            assert_eq!((all.ack(), all.from()), over, "{text} of {nodes}");
        }
    }

    #[test]
    fn what_can_be_answered_is_taken() {
        assert_eq!(Quorum::parse("2/3", 3), Ok(Quorum { ack: 2, from: 3 }));
        assert_eq!(Quorum::parse("1/1", 3), Ok(Quorum { ack: 1, from: 1 }));
        assert_eq!(Quorum::parse("3/3", 3), Ok(Quorum::parse("3/3", 5).unwrap()));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "x", "/", "2", "2/", "/3", "2/3/4", "+2/3", "2/ 3", "-1/3", "2.0/3"] {
            assert!(matches!(Quorum::parse(text, 3), Err(QuorumError::Form(_))), "{text}");
        }
        for text in ["0/3", "4/3", "0/0", "2/4", "3/2"] {
            assert!(matches!(Quorum::parse(text, 3), Err(QuorumError::Range { .. })), "{text}");
        }
        let long = "9".repeat(100);
        assert!(Quorum::parse(&format!("{long}/3"), 3).is_err());
    }
}
