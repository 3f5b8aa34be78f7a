//! A target with a durability and, if given, a release: `scurry:fsync`, `valkey-8+lua:always`.

use anyhow::{Context, Result, ensure};

use super::{Durability, Target};

/// Target with a durability. A plain name means no durability, or the only one that the target supports.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// System under test.
    pub target: Target,
    /// Durability of acknowledged changes.
    pub durability: Durability,
    /// Major version of its server; None for the newest that is installed.
    pub major: Option<u32>,
    /// True when the name contains the durability.
    named: bool,
}

impl PartialEq for Variant {
    /// Compares what is measured and not how it was named: `scurry` equals `scurry:none`.
    fn eq(&self, other: &Variant) -> bool {
        let of = |one: &Variant| (one.target, one.durability, one.major);
        of(self) == of(other)
    }
}

impl Variant {
    /// Parses a variant.
    ///
    /// # Errors
    /// When the target does not exist, or does not support the durability.
    pub fn parse(name: &str) -> Result<Variant> {
        let (system, word) = match name.split_once(':') {
            Some((system, word)) => (system, Some(word)),
            None => (name, None),
        };
        let (target, major) = released(system)?;
        let all = Durability::of(target);
        let Some(word) = word else {
            let durability = all.first().copied().unwrap_or_default();
            return Ok(Variant { target, durability, major, named: false });
        };
        let durability = all.iter().copied().find(|one| one.word() == word).with_context(|| {
            let words: Vec<&str> = all.iter().map(|one| one.word()).collect();
            format!("{} has no durability `{word}`: say one of {}", target.name(), words.join(", "))
        })?;
        Ok(Variant { target, durability, major, named: true })
    }

    /// Returns the name as it was given.
    pub fn name(&self) -> String {
        let mut name = self.target.name().to_owned();
        if let (Some(major), Some((product, _))) = (self.major, self.target.family()) {
            name.insert_str(product.len(), &format!("-{major}"));
        }
        if self.named { format!("{name}:{}", self.durability.word()) } else { name }
    }
}

/// Parses a target name that may contain a major version after the product: `valkey-8+lua`.
fn released(name: &str) -> Result<(Target, Option<u32>)> {
    let product = name.split('+').next().unwrap_or_default();
    if let Some((server, digits)) = product.split_once('-')
        && let Ok(major) = digits.parse()
    {
        let target = Target::parse(&format!("{server}{}", &name[product.len()..]))?;
        ensure!(
            target.family().is_some(),
            "{} has no choice of releases: write it without -{major}",
            target.name()
        );
        return Ok((target, Some(major)));
    }
    Ok((Target::parse(name)?, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_and_a_plain_one_keeps_nothing() {
        for name in ["scurry", "scurry:none", "scurry:fsync", "valkey+lua:everysec", "echo"] {
            assert_eq!(Variant::parse(name).unwrap().name(), name);
        }
        let plain = Variant::parse("scurry").unwrap();
        assert_eq!(plain, Variant::parse("scurry:none").unwrap());
        assert_ne!(plain, Variant::parse("scurry:write").unwrap());
        assert!(!plain.durability.keeps());
        let group = Variant::parse("scurry+replicas").unwrap();
        assert_eq!(group, Variant::parse("scurry+replicas:fsync").unwrap());
        assert_eq!(group.name(), "scurry+replicas");
    }

    #[test]
    fn a_major_version_stands_behind_the_product() {
        for name in ["valkey-8", "valkey-8+lua", "redis-7+module:always", "valkey-9+hset"] {
            assert_eq!(Variant::parse(name).unwrap().name(), name);
        }
        let old = Variant::parse("valkey-8+lua:none").unwrap();
        assert_eq!((old.target, old.major), (Target::ValkeyLua, Some(8)));
        assert_ne!(old, Variant::parse("valkey+lua").unwrap());
        assert_eq!(Variant::parse("valkey-cluster+module").unwrap().major, None);
    }

    #[test]
    fn each_target_has_its_own_words() {
        for (name, expected) in [
            ("scurry:always", "none, write, fsync"),
            ("redis:fsync", "none, everysec, always"),
            ("echo:write", "say one of none"),
            ("scurry+replicas:none", "say one of fsync"),
            ("mongo:none", "no target `mongo`"),
            ("valkey-8+rust", "no target `valkey+rust`"),
            ("scurry-8", "no choice of releases"),
        ] {
            let error = Variant::parse(name).unwrap_err().to_string();
            assert!(error.contains(expected), "{name}: {error}");
        }
    }
}
