//! What a log's troubles mean to commands.

use scurry_resp::table::Spec;

/// Why commands are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The disk has no room for what was committed. What waits for it leaves when there is.
    Full(String),
    /// A write or a sync has failed. Only a restart tells what is on the device.
    Failed(String),
}

impl Trouble {
    /// The error of a command that is refused.
    #[cold]
    pub(crate) fn refuses(&self, spec: &Spec) -> Option<String> {
        match self {
            Trouble::Full(why) => spec.flags.contains(&"write").then(|| {
                format!("MISCONF the disk is full and nothing can be written: make room ({why})")
            }),
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
