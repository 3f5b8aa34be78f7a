//! What a log's troubles mean to commands.

use scurry_resp::table::Spec;

/// The error of a command that needs every core, and the log of another has failed.
pub(crate) const LOG_FAILED: &str = "MISCONF the log of a thread has failed and nothing of it is \
                                     answered until the server was started again: see INFO \
                                     persistence and the server's log";

/// Why commands are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The log has no room for more, or none even for what was committed, whose answers then wait
    /// for it. It ends by itself.
    Full(String),
    /// A write or a sync has failed. Only a restart tells what is on the device.
    Failed(String),
}

impl Trouble {
    /// The error of a command that is refused.
    #[cold]
    pub(crate) fn refuses(&self, spec: &Spec) -> Option<String> {
        match self {
            Trouble::Full(why) => spec.flags.contains(&"write").then(|| format!("MISCONF {why}")),
            Trouble::Failed(why) => {
                let shows = spec.keys.0 != 0
                    || spec.flags.iter().any(|flag| ["write", "readonly"].contains(flag));
                shows.then(|| {
                    format!(
                        "MISCONF the log has failed and nothing is answered until the server was \
                         started again ({why})"
                    )
                })
            }
        }
    }
}
