//! A wrapper that makes serde strict about JSON. A derived struct would also accept an array of its members by
//! position, and an enum would also accept an object. The errors would name Rust types. Here a struct must be an
//! object, an enum must be a string, and errors name the expected kind of JSON.

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use std::fmt;

/// A wrapper of a deserializer or visitor that applies the rules at every depth. `wanted` is the expected kind of
/// JSON, empty if the visitor's own description is used.
pub(crate) struct Strict<T> {
    inner: T,
    wanted: &'static str,
}

impl<T> Strict<T> {
    pub(crate) fn new(inner: T) -> Strict<T> {
        Strict { inner, wanted: "" }
    }

    fn wanting(inner: T, wanted: &'static str) -> Strict<T> {
        Strict { inner, wanted }
    }
}

impl<V> Strict<V> {
    /// Returns the visitor's value for a number, or an error that names the wanted kind.
    fn visit_number<T, E: Error>(
        self,
        number: Unexpected<'_>,
        visit: impl FnOnce(V) -> Result<T, E>,
    ) -> Result<T, E> {
        let wanted = self.wanted;
        visit(self.inner).map_err(|error| match wanted {
            "" => error,
            wanted => E::invalid_value(number, &wanted),
        })
    }
}

/// Implements methods that forward to the inner deserializer, with the JSON name of the expected kind.
macro_rules! forward {
    ($($method:ident($($argument:ident: $kind:ty),*) to $to:ident, $wanted:literal;)+) => {
        $(fn $method<V: Visitor<'de>>(self, $($argument: $kind,)* visitor: V) -> Result<V::Value, D::Error> {
            $(let _ = $argument;)*
            self.inner.$to(Strict::wanting(visitor, $wanted))
        })+
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Strict<D> {
    type Error = D::Error;

    forward! {
        deserialize_any() to deserialize_any, "";
        deserialize_ignored_any() to deserialize_ignored_any, "";
        deserialize_bool() to deserialize_bool, "true or false";
        deserialize_i8() to deserialize_i8, "an integer of 8 bits";
        deserialize_i16() to deserialize_i16, "an integer of 16 bits";
        deserialize_i32() to deserialize_i32, "an integer of 32 bits";
        deserialize_i64() to deserialize_i64, "an integer of 64 bits";
        deserialize_u8() to deserialize_u8, "an integer from 0 to 255";
        deserialize_u16() to deserialize_u16, "an integer from 0 to 65535";
        deserialize_u32() to deserialize_u32, "an integer from 0 to 4294967295";
        deserialize_u64() to deserialize_u64, "an integer from 0 to 18446744073709551615";
        deserialize_f32() to deserialize_f32, "a number";
        deserialize_f64() to deserialize_f64, "a number";
        deserialize_char() to deserialize_char, "a string";
        deserialize_str() to deserialize_str, "a string";
        deserialize_string() to deserialize_string, "a string";
        deserialize_bytes() to deserialize_bytes, "a string";
        deserialize_byte_buf() to deserialize_byte_buf, "a string";
        deserialize_option() to deserialize_option, "";
        deserialize_unit() to deserialize_unit, "null";
        deserialize_unit_struct(name: &'static str) to deserialize_unit, "null";
        deserialize_seq() to deserialize_seq, "an array";
        deserialize_tuple(len: usize) to deserialize_seq, "an array";
        deserialize_tuple_struct(name: &'static str, len: usize) to deserialize_seq, "an array";
        deserialize_map() to deserialize_map, "an object";
        deserialize_struct(name: &'static str, fields: &'static [&'static str]) to deserialize_map, "an object";
        deserialize_identifier() to deserialize_identifier, "a name";
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_newtype_struct(name, Strict::new(visitor))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        // As a string: the derived visitor alone would also accept an object with one variant.
        self.inner.deserialize_str(EnumVisitor { visitor, words })
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Strict<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.wanted.is_empty() { self.inner.expecting(f) } else { f.write_str(self.wanted) }
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<V::Value, E> {
        self.inner.visit_bool(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<V::Value, E> {
        self.visit_number(Unexpected::Signed(value), |inner| inner.visit_i64(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<V::Value, E> {
        self.visit_number(Unexpected::Unsigned(value), |inner| inner.visit_u64(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        self.visit_number(Unexpected::Float(value), |inner| inner.visit_f64(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<V::Value, E> {
        self.inner.visit_str(value)
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<V::Value, E> {
        self.inner.visit_borrowed_str(value)
    }

    fn visit_string<E: Error>(self, value: String) -> Result<V::Value, E> {
        self.inner.visit_string(value)
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(Strict::new(value))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        self.inner.visit_newtype_struct(Strict::new(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, values: A) -> Result<V::Value, A::Error> {
        self.inner.visit_seq(Strict::new(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(Strict::new(members))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Strict<A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.inner.next_element_seed(Strict::new(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Strict<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        // Names are always strings in JSON, so they need no check.
        self.inner.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.inner.next_value_seed(Strict::new(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Strict<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(Strict::new(deserializer))
    }
}

/// A visitor for the names of an enum's variants.
struct EnumVisitor<V> {
    visitor: V,
    words: &'static [&'static str],
}

impl<'de, V: Visitor<'de>> Visitor<'de> for EnumVisitor<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one of {}", self.words.join(", "))
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<V::Value, E> {
        if !self.words.contains(&word) {
            return Err(E::invalid_value(Unexpected::Str(word), &self));
        }
        let word: StrDeserializer<'_, E> = word.into_deserializer();
        self.visitor.visit_enum(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use std::collections::BTreeMap;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Colour {
        Red,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only its errors are looked at")]
    struct Inner {
        number: u32,
        colour: Option<Colour>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only its errors are looked at")]
    struct Outer {
        one: Option<Inner>,
        many: Vec<Inner>,
        named: BTreeMap<String, Inner>,
    }

    fn read(body: &str) -> Result<Outer, String> {
        let mut reader = serde_json::Deserializer::from_str(body);
        Outer::deserialize(Strict::new(&mut reader)).map_err(|error| error.to_string())
    }

    #[test]
    fn an_object_is_an_object_at_every_depth_and_a_word_is_a_string() {
        let good = r#"{"one":{"number":1,"colour":"red"},"many":[{"number":2}],"named":{"a":{"number":3}}}"#;
        read(good).expect("it is one");
        for (body, wanted) in [
            (r#"[null,[],{}]"#, "an object"),
            (r#"{"one":[1,null],"many":[],"named":{}}"#, "an object"),
            (r#"{"many":[[1,null]],"named":{}}"#, "an object"),
            (r#"{"many":[],"named":{"a":[1,null]}}"#, "an object"),
            (r#"{"many":{},"named":{}}"#, "an array"),
            (r#"{"many":[{"number":-1}],"named":{}}"#, "an integer from 0 to 4294967295"),
            (r#"{"many":[{"number":4294967296}],"named":{}}"#, "an integer from 0 to 4294967295"),
            (r#"{"many":[{"number":1.0}],"named":{}}"#, "an integer from 0 to 4294967295"),
            (r#"{"many":[{"number":"1"}],"named":{}}"#, "an integer from 0 to 4294967295"),
            (r#"{"many":[{"number":1,"colour":{"red":null}}],"named":{}}"#, "one of red"),
            (r#"{"many":[{"number":1,"colour":"blue"}],"named":{}}"#, "one of red"),
            (r#"{"many":[{"number":1,"colour":["red"]}],"named":{}}"#, "one of red"),
        ] {
            let why = read(body).expect_err(body);
            assert!(why.contains(&format!("expected {wanted}")), "{body}: {why}");
        }
    }
}
