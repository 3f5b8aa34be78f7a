//! Text fields, in JSON and in paths: ids and names, which are printable ASCII without spaces, and enums with the
//! words of the commands.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use scurry_ledger::{
    self as ledger, ACCOUNT_ID_LEN_MAX, ID_LEN_MAX, ITEM_KEY_LEN_MAX, ItemKey, NAME_LEN_MAX,
    is_printable,
};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// Text of 1 to `MAX` printable ASCII characters without space, but not `.` or `..`: clients and proxies remove these
/// two from a path, even as `%2E` (RFC 3986 clause 6.2.2), so that a resource of that name could not be addressed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Text<const MAX: usize>(String);

/// The id of an account.
pub type AccountId = Text<ACCOUNT_ID_LEN_MAX>;
/// The id of a session, a transaction id, or the value of an identity.
pub(crate) type Id = Text<ID_LEN_MAX>;
/// The name of a unit, a bucket, a counter, or the kind of an identity.
pub(crate) type Name = Text<NAME_LEN_MAX>;

impl<const MAX: usize> Text<MAX> {
    /// Checks the text, and returns it or an explanation of the fault.
    pub fn new(text: String) -> Result<Self, String> {
        if text.is_empty() || text.len() > MAX || !is_printable(text.as_bytes()) {
            return Err(format!("must be 1 to {MAX} printable ASCII characters without space"));
        }
        if matches!(text.as_str(), "." | "..") {
            return Err(format!("must not be `{text}`, which no path of a URL can name"));
        }
        Ok(Text(text))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0.into_bytes()
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for Text<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Text::new(String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl<const MAX: usize> JsonSchema for Text<MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Text{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "minLength": 1,
            "maxLength": MAX,
            // Excludes `.` and `..` without lookahead, which not every regular-expression engine has.
            "pattern": format!(
                "^([!-,/-~-][!-~]{{0,{}}}|[.][!-,/-~-][!-~]{{0,{rest}}}|[.]{{2}}[!-~]{{1,{rest}}})$",
                MAX - 1,
                rest = MAX - 2,
            ),
        })
    }
}

/// The key of an item: a 32-bit number, or text. A string of the digits of such a number is the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(pub ItemKey);

struct KeyVisitor;

impl Visitor<'_> for KeyVisitor {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "an integer from 0 to {}, or 1 to {ITEM_KEY_LEN_MAX} printable ASCII characters without space",
            u32::MAX
        )
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Key, E> {
        let number = u32::try_from(number);
        number.map(|number| Key(number.into())).map_err(|_| E::custom(NotAKey))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Key, E> {
        let number = u32::try_from(number);
        number.map(|number| Key(number.into())).map_err(|_| E::custom(NotAKey))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Key, E> {
        ItemKey::new(text.as_bytes()).map(Key).ok_or_else(|| E::custom(NotAKey))
    }
}

/// The explanation of a wrong key in error messages.
struct NotAKey;

impl fmt::Display for NotAKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be ")?;
        KeyVisitor.expecting(f)
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_any(KeyVisitor)
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            ItemKey::Number(number) => serializer.serialize_u32(number),
            ItemKey::Id(id) => serializer.serialize_str(id.as_str()),
        }
    }
}

impl JsonSchema for Key {
    fn schema_name() -> Cow<'static, str> {
        "ItemKey".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The rating group, or another name of what is charged: a number, or text. A string of \
                            the digits of a number is the same key.",
            "oneOf": [
                { "type": "integer", "format": "int64", "minimum": 0, "maximum": u32::MAX },
                {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": ITEM_KEY_LEN_MAX,
                    "pattern": format!("^[!-~]{{1,{ITEM_KEY_LEN_MAX}}}$"),
                },
            ],
        })
    }
}

/// Status that an account can be created with.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FirstStatus {
    Active,
    Suspended,
}

/// The status of an account; closed is final.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Active,
    Suspended,
    Closed,
}

/// Treatment of use beyond the balance.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Overrun {
    Overdraw,
    Clamp,
    Held,
}

/// Effect of a refill on a debt.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DebtRule {
    Net,
    Carry,
    Forgive,
}

/// Pattern of periods that are not none.
const PERIODS: &str = "minute|hour|day|week|month|quarter|year|[1-9][0-9]{0,3}[mhd]";

/// When something resets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Period(ledger::Period);

impl<'de> Deserialize<'de> for Period {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Period, D::Error> {
        let word = String::deserialize(deserializer)?;
        // Members of JSON are in small letters, here as elsewhere.
        let period =
            ledger::Period::new(word.as_bytes()).filter(|period| period.to_string() == word);
        let why =
            "must be none, minute, hour, day, week, month, quarter, year, or as 90m, 5h or 30d";
        period.map(Period).ok_or_else(|| D::Error::custom(why))
    }
}

impl JsonSchema for Period {
    fn schema_name() -> Cow<'static, str> {
        "Period".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "When something resets: none, a period of the calendar, or so many minutes, hours or days.",
            "type": "string",
            "pattern": format!("^(none|{PERIODS})$"),
            "examples": ["day"],
        })
    }
}

impl From<Period> for ledger::Period {
    fn from(period: Period) -> ledger::Period {
        period.0
    }
}

/// When a period begins: a number, or with its first use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Begin(pub(crate) u8);

/// A begin in JSON.
#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum BeginForm {
    Number(u8),
    Word(BeginWord),
}

#[derive(Deserialize, Serialize)]
enum BeginWord {
    #[serde(rename = "first-use")]
    FirstUse,
}

impl<'de> Deserialize<'de> for Begin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Begin, D::Error> {
        let why = || D::Error::custom("must be a number from 0 to 31, or first-use");
        match BeginForm::deserialize(deserializer).map_err(|_| why())? {
            BeginForm::Number(begin) if begin <= 31 => Ok(Begin(begin)),
            BeginForm::Number(_) => Err(why()),
            BeginForm::Word(BeginWord::FirstUse) => Ok(Begin(ledger::Cycle::FIRST_USE)),
        }
    }
}

impl Serialize for Begin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let form = match self.0 {
            ledger::Cycle::FIRST_USE => BeginForm::Word(BeginWord::FirstUse),
            begin => BeginForm::Number(begin),
        };
        form.serialize(serializer)
    }
}

impl JsonSchema for Begin {
    fn schema_name() -> Cow<'static, str> {
        "Begin".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "When a period begins: an hour, a weekday (1 is Monday) or a day of the month; or with its first use.",
            "oneOf": [
                { "type": "integer", "minimum": 0, "maximum": 31 },
                { "type": "string", "const": "first-use" },
            ],
        })
    }
}

/// When a bucket is refilled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recurring(ledger::Period);

impl<'de> Deserialize<'de> for Recurring {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Recurring, D::Error> {
        match Period::deserialize(deserializer)?.0 {
            ledger::Period::None => {
                Err(D::Error::custom("must not be none: null ends an allowance"))
            }
            period => Ok(Recurring(period)),
        }
    }
}

impl JsonSchema for Recurring {
    fn schema_name() -> Cow<'static, str> {
        "Recurring".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "When a bucket is refilled: a period of the calendar, or so many minutes, hours or days.",
            "type": "string",
            "pattern": format!("^({PERIODS})$"),
            "examples": ["month"],
        })
    }
}

impl From<Recurring> for ledger::Period {
    fn from(period: Recurring) -> ledger::Period {
        period.0
    }
}

/// A time zone of the IANA database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Zone(pub(crate) ledger::NamedZone);

impl<'de> Deserialize<'de> for Zone {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Zone, D::Error> {
        let name = String::deserialize(deserializer)?;
        let why = "is no time zone of the IANA database: names are as Europe/Berlin";
        ledger::NamedZone::new(name.as_bytes()).map(Zone).ok_or_else(|| D::Error::custom(why))
    }
}

impl JsonSchema for Zone {
    fn schema_name() -> Cow<'static, str> {
        "Zone".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A time zone of the IANA database, such as Europe/Berlin, with its summer time.",
            "type": "string",
            "maxLength": ledger::ZONE_NAME_LEN_MAX,
            "pattern": "^[A-Za-z0-9/_+-]+$",
            "examples": ["Europe/Berlin"],
        })
    }
}

/// Implements the conversion of each enum to the ledger's type, variant by variant.
macro_rules! of_ledger {
    ($($kind:ident as $ledger:ident { $($variant:ident),+ })+) => {
        $(impl From<$kind> for ledger::$ledger {
            fn from(value: $kind) -> ledger::$ledger {
                match value { $($kind::$variant => ledger::$ledger::$variant),+ }
            }
        })+
    };
}

of_ledger! {
    FirstStatus as Status { Active, Suspended }
    Status as Status { Active, Suspended, Closed }
    Overrun as Overrun { Overdraw, Clamp, Held }
    DebtRule as DebtRule { Net, Carry, Forgive }
}
