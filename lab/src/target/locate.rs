//! Where the program of each target is; or why the target cannot be measured here, and the cure.

use std::path::{Path, PathBuf};

use super::releases::{caveat, find, on_path};
use super::{Missing, Target, Variant, jvm, ndb};
use crate::scenario::ScenarioKind;

/// File name of `scurry-valkey-module`.
const MODULE: &str = "libscurry.so";
const INSTALL_PEERS: &str = "run `make lab-peers`";

impl Target {
    /// Checks that the target suits the kind of load: a plain store does no charging.
    ///
    /// # Errors
    /// [`Missing`].
    pub fn charges_itself(self, kind: ScenarioKind) -> Result<(), Missing> {
        if self.is_yardstick() && !kind.is_charging() {
            let why = format!("{} is for charging loads", self.name());
            return Err(Missing { why, cure: "measure valkey".to_owned() });
        }
        if kind.is_charging() && self.dialect().is_none() && !self.is_yardstick() {
            let why = format!("{} has no charging logic of its own", self.name());
            let cure = "measure valkey+lua or redis+lua".to_owned();
            return Err(Missing { why, cure });
        }
        Ok(())
    }

    /// Finds the program of the target for this kind of load.
    ///
    /// # Errors
    /// [`Missing`], when it cannot be measured here.
    pub fn locate(self, kind: ScenarioKind, scurry: Option<&Path>) -> Result<PathBuf, Missing> {
        self.locate_release(kind, scurry, None)
    }

    /// Finds the program like [`Target::locate`], for a major version if one is given.
    fn locate_release(
        self,
        kind: ScenarioKind,
        scurry: Option<&Path>,
        major: Option<u32>,
    ) -> Result<PathBuf, Missing> {
        self.charges_itself(kind)?;
        if self.is_by_address() {
            let why = format!("no package of {} is known to the lab", self.name());
            let cure = format!("start it and say --address {}=HOST:PORT", self.name());
            return Err(Missing { why, cure });
        }
        if !kind.is_charging() && self.decides_in_client() {
            let why = format!("plain keys need no logic, in {} or elsewhere", self.name());
            let cure = "measure the target without +client or +bulk".to_owned();
            return Err(Missing { why, cure });
        }
        if self.jvm_system().is_some() {
            return self.locate_java();
        }
        if self.has_module() && module().is_none() {
            return Err(Missing {
                why: format!("there is no {MODULE} beside the lab"),
                cure: "build it with `cargo build --release -p scurry-valkey-module`".to_owned(),
            });
        }
        if let Some((_, program)) = self.family() {
            return find(program, major);
        }
        match self {
            Target::Scurry
            | Target::ScurryDiameter
            | Target::ScurryNchf
            | Target::ScurryNchfHttp1
            | Target::ScurryReplicas
            | Target::ScurryHttp
            | Target::HttpEcho => locate_scurry(scurry),
            Target::TarantoolLua | Target::TarantoolClient | Target::TarantoolBulk => {
                on_path("tarantool").ok_or_else(|| not_installed("tarantool"))
            }
            Target::Ndb | Target::NdbClient => ndb::data_node().ok_or_else(|| Missing {
                why: "MySQL NDB is not built here or above".to_owned(),
                cure: "run `scripts/install-tools.sh ndb`, which builds it from source".to_owned(),
            }),
            // Only the echo server is left: the other targets were found or rejected above.
            _ => std::env::current_exe().map_err(|error| Missing {
                why: format!("the lab does not find its own program ({error})"),
                cure: "start it by its path".to_owned(),
            }),
        }
    }
}

impl Target {
    /// Finds the program that loads a system which already runs: none beside the lab, or the system's own client in a
    /// JVM.
    ///
    /// # Errors
    /// [`Missing`].
    pub fn locate_there(self, kind: ScenarioKind) -> Result<PathBuf, Missing> {
        self.charges_itself(kind)?;
        if self.jvm_system().is_some() { self.locate_java() } else { Ok(PathBuf::new()) }
    }

    fn locate_java(self) -> Result<PathBuf, Missing> {
        if !jvm::is_built() {
            let why = "lab/jvm is not built here or above".to_owned();
            return Err(Missing { why, cure: INSTALL_PEERS.to_owned() });
        }
        on_path("java").ok_or_else(|| not_installed("java"))
    }
}

fn not_installed(program: &str) -> Missing {
    Missing { why: format!("{program} is not installed"), cure: INSTALL_PEERS.to_owned() }
}

impl Variant {
    /// Finds the program like [`Target::locate`], for the release that the variant names.
    ///
    /// # Errors
    /// [`Missing`].
    pub fn locate(&self, kind: ScenarioKind, scurry: Option<&Path>) -> Result<PathBuf, Missing> {
        self.target.locate_release(kind, scurry, self.major)
    }

    /// Returns a caveat about the program, for the reader of the row.
    pub fn caveat(&self, program: &Path) -> Option<String> {
        let is_any = self.target.family().is_some() && self.major.is_none();
        is_any.then(|| caveat(program)).flatten()
    }
}

fn locate_scurry(asked: Option<&Path>) -> Result<PathBuf, Missing> {
    if let Some(path) = asked {
        // Make the path absolute, because the server starts in a directory of its own.
        return path.canonicalize().ok().filter(|path| path.is_file()).ok_or_else(|| Missing {
            why: format!("there is no program {}", path.display()),
            cure: "give --scurry-bin the path of the scurry binary".to_owned(),
        });
    }
    let beside = std::env::current_exe()
        .ok()
        .and_then(|lab| Some(lab.parent()?.join("scurry")))
        .filter(|path| path.is_file());
    beside.or_else(|| on_path("scurry")).ok_or_else(|| Missing {
        why: "there is no scurry beside the lab nor on PATH".to_owned(),
        cure: "build it with `cargo build --release -p scurry-cli`, or give --scurry-bin"
            .to_owned(),
    })
}

/// Returns the path of the module, in the directory of the lab.
pub(super) fn module() -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.with_file_name(MODULE);
    path.is_file().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_stores_do_no_charging() {
        let missing = Target::Redis.locate(ScenarioKind::Charging, None).unwrap_err();
        assert_eq!(
            missing.to_string(),
            "redis has no charging logic of its own: measure valkey+lua or redis+lua"
        );
    }

    #[test]
    fn a_wrong_path_is_named() {
        let path = Path::new("no/such/scurry");
        let missing = Target::Scurry.locate(ScenarioKind::Kv, Some(path)).unwrap_err();
        assert!(missing.to_string().contains("no/such/scurry"));
    }

    #[test]
    fn a_program_named_from_here_is_found_from_elsewhere_too() {
        let named = Path::new("src/../src/lib.rs");
        let found = Target::Scurry.locate(ScenarioKind::Charging, Some(named)).unwrap();
        assert!(found.is_absolute() && found.ends_with("src/lib.rs"), "{}", found.display());
        let missing =
            Target::Scurry.locate(ScenarioKind::Charging, Some(Path::new("src"))).unwrap_err();
        assert_eq!(missing.why, "there is no program src");
    }
}
