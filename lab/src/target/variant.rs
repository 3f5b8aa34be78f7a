//! A target with a durability: `scurry:fsync`, `valkey+lua:always`.

use anyhow::{Context, Result};

use super::{Durability, Target};

/// Target with a durability. A plain name is that of the target with nothing kept, or with the only
/// durability that it has.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// The system.
    pub target: Target,
    /// How safe a change is when it is answered.
    pub durability: Durability,
    /// The durability stands in the name.
    named: bool,
}

impl PartialEq for Variant {
    /// `scurry` is `scurry:none`.
    fn eq(&self, other: &Variant) -> bool {
        (self.target, self.durability) == (other.target, other.durability)
    }
}

impl Variant {
    /// The variant of this name.
    ///
    /// # Errors
    /// When there is no such target, or it has no such durability.
    pub fn parse(name: &str) -> Result<Variant> {
        let Some((target, word)) = name.split_once(':') else {
            let target = Target::parse(name)?;
            let least = Durability::of(target).first().copied().unwrap_or_default();
            return Ok(Variant { target, durability: least, named: false });
        };
        let target = Target::parse(target)?;
        let all = Durability::of(target);
        let durability = all.iter().copied().find(|one| one.word() == word).with_context(|| {
            let words: Vec<&str> = all.iter().map(|one| one.word()).collect();
            format!("{} has no durability `{word}`: say one of {}", target.name(), words.join(", "))
        })?;
        Ok(Variant { target, durability, named: true })
    }

    /// As it was asked for.
    pub fn name(&self) -> String {
        let target = self.target.name();
        if self.named { format!("{target}:{}", self.durability.word()) } else { target.to_owned() }
    }
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
    fn each_target_has_its_own_words() {
        for (name, expected) in [
            ("scurry:always", "none, write, fsync"),
            ("redis:fsync", "none, everysec, always"),
            ("echo:write", "say one of none"),
            ("scurry+replicas:none", "say one of fsync"),
            ("mongo:none", "no target `mongo`"),
        ] {
            let error = Variant::parse(name).unwrap_err().to_string();
            assert!(error.contains(expected), "{name}: {error}");
        }
    }
}
