//! Which scenarios a target can be measured with.

use super::{Missing, Target, Variant};
use crate::dialect::Dialect;
use crate::scenario::{Charging, Operation, Order, Scenario, ScenarioKind};

impl Variant {
    /// Checks that a target, with its durability, supports a scenario.
    ///
    /// # Errors
    /// [`Missing`].
    pub fn fits(&self, scenario: &Scenario) -> Result<(), Missing> {
        self.target.fits(scenario)?;
        if scenario.replicas > 0
            && !self.target.is_group()
            && !self.target.replicates_with(self.durability, scenario.kind)
        {
            return Err(Missing {
                why: format!("{} has no log that a replica could follow", self.name()),
                cure: format!("measure {}:write", self.target.name()),
            });
        }
        Ok(())
    }
}

impl Target {
    /// Checks that a target supports a scenario.
    ///
    /// # Errors
    /// [`Missing`].
    fn fits(self, scenario: &Scenario) -> Result<(), Missing> {
        let missing = |why: String, cure: &str| Err(Missing { why, cure: cure.to_owned() });
        let name = self.name();
        if scenario.kind == ScenarioKind::Failover && !self.is_group() && !self.is_cluster() {
            let why = match self.is_tarantool() {
                true => "Tarantool 2.6, which Debian has, elects no leader by itself and has no \
                         box.ctl.promote; its procedures know no DEBIT"
                    .to_owned(),
                false => format!("no other server would take over from {name}"),
            };
            return missing(why, "measure scurry+replicas or valkey-cluster+module");
        }
        let is_two_phase = |charging: &Charging| {
            let known = |one: &Operation| matches!(one, Operation::Reserve | Operation::Terminate);
            charging.operations().iter().all(known)
        };
        if self.is_two_phase() && !scenario.charging.as_ref().is_some_and(is_two_phase) {
            let why = format!("{name} knows two phases alone, RESERVE and TERMINATE");
            return missing(why, "run two-phase");
        }
        let is_of_networks = |charging: &Charging| {
            charging.operations().into_iter().all(Operation::writes) && charging.counters == 0
        };
        if self.has_network_door() && !scenario.charging.as_ref().is_some_and(is_of_networks) {
            let why = format!("{name} opens, updates and ends sessions of one item, and no more");
            return missing(why, "run diameter-gy or nchf");
        }
        let has_replicas = self.replicates() || self.is_group() || self.backs_up(scenario.kind);
        if scenario.replicas > 0 && !has_replicas {
            let why = format!("the lab gives {name} no replicas");
            return missing(why, "measure valkey, redis or valkey+module");
        }
        if scenario.kind == ScenarioKind::Index && self.index_dialect().is_none() {
            let why = match self {
                _ if self.has_module() => "libscurry.so keeps no index on values".to_owned(),
                Target::IgniteJava => {
                    "Ignite's indexes are in its library ignite-indexing, which not every registry \
                     has and the lab does not install"
                        .to_owned()
                }
                _ => format!("{name} has no index on values"),
            };
            return missing(
                why,
                "measure scurry, tarantool+lua, valkey+lua, redis+lua or hazelcast+java",
            );
        }
        let is_quorum = scenario.kv.as_ref().is_some_and(|kv| kv.quorum.is_some());
        if is_quorum && !self.is_http() {
            return missing(format!("{name} has no HTTP door"), "measure scurry-http");
        }
        let is_driven = self.jvm_system().is_some();
        if is_driven {
            if scenario.rate.is_some() {
                let why = format!("the driver of {name} has a closed loop only");
                return missing(why, "leave --rate out");
            }
            let is_plain = scenario
                .kv
                .as_ref()
                .is_none_or(|kv| kv.order == Order::Uniform && kv.filled() == kv.keys);
            if !is_plain {
                let why = format!("the driver of {name} takes any of keys that are all set before");
                return missing(why, "measure scurry or valkey");
            }
        }
        // Beyond the loop of moaf-scur, scenarios need commands that only some targets have.
        let is_decided = self.decides_in_client() && !is_driven;
        let is_ours = self.has_module() || self.is_scurry() || is_decided;
        let has_rules = is_ours || matches!(self.dialect(), Some(Dialect::Functions));
        let needs_more = scenario.charging.as_ref().is_some_and(|charging| charging.counters > 0);
        let is_other = scenario.live.is_some()
            || scenario.usage.is_some()
            || scenario.charging.as_ref().is_some_and(|charging| charging.alone);
        if (needs_more && !is_ours) || (is_other && !has_rules) {
            let why = match self {
                Target::Echo => "the echo server knows moaf-scur and kv only".to_owned(),
                _ if is_driven => format!("the driver of {name} knows moaf-scur only"),
                _ if self.is_yardstick() => format!("{name} is for moaf-scur only"),
                _ => format!("the procedures of {name} know no counters"),
            };
            return missing(why, "measure scurry, valkey+module or valkey+client");
        }
        if scenario.nodes > 1 && !self.is_partitioned() {
            let why = format!("the lab starts one node of {name}");
            return missing(why, "measure scurry, valkey or redis");
        }
        let is_batched = scenario.kv.as_ref().is_some_and(|kv| kv.batch.is_some());
        if is_batched && (self.is_cluster() || self.is_http() || self.is_ndb()) {
            return missing(format!("{name} takes no batch"), "measure scurry or valkey");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Form;

    #[test]
    fn what_knows_two_phases_alone_says_so() {
        let two = Scenario::built_in_steps("two-phase", Form::Short, &[]).unwrap();
        for target in [Target::TigerBeetle, Target::Aerospike] {
            assert!(two.iter().all(|step| target.fits(step).is_ok()), "{}", target.name());
            for name in ["moaf-scur", "charging-hot", "charging-live", "charglt", "kv"] {
                let missing = target.fits(&Scenario::built_in(name).unwrap()).unwrap_err();
                assert_eq!(missing.cure, "run two-phase", "{name}");
            }
        }
        let batches: Vec<u32> = two.iter().map(|step| step.depth).collect();
        assert_eq!(batches, [1, 64, 8_189]);
    }

    #[test]
    fn a_door_to_networks_takes_sessions_and_says_that_it_takes_nothing_else() {
        for target in [Target::ScurryDiameter, Target::ScurryNchf, Target::ScurryNchfHttp1] {
            for name in ["diameter-gy", "nchf", "two-phase"] {
                assert_eq!(target.fits(&Scenario::built_in(name).unwrap()), Ok(()), "{name}");
            }
            for name in ["moaf-scur", "charging-live", "charglt", "ndb-30-records", "kv"] {
                let missing = target.fits(&Scenario::built_in(name).unwrap()).unwrap_err();
                assert_eq!(missing.cure, "run diameter-gy or nchf", "{name}");
            }
        }
    }

    #[test]
    fn a_target_without_an_index_says_so_before_it_is_started() {
        let scenario = Scenario::built_in("kts-index").unwrap();
        let missing = Target::IgniteJava.fits(&scenario).unwrap_err();
        assert!(missing.why.contains("ignite-indexing"), "{}", missing.why);
        let missing = Target::ValkeyModule.fits(&scenario).unwrap_err();
        assert!(missing.why.contains("libscurry.so"), "{}", missing.why);
        for target in [Target::Scurry, Target::TarantoolLua, Target::HazelcastJava] {
            assert!(target.fits(&scenario).is_ok(), "{}", target.name());
        }
    }
}
