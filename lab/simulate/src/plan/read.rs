//! A plan's tables, read by serde: a table refuses a key that it does not know, and says which one was
//! probably meant. A mistake has the line of the nearest key, and its name.
use super::tree::{Located, Mistake, NOWHERE, ParseResult, Value, mistake};
use foregather_machine::Nanos;
use foregather_results::meant;
use serde::Deserialize;
use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, DeserializeSeed, Deserializer, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Stands for the names of a key and of its table in a message that is made where neither is known.
pub(super) const KEY: &str = "\u{1}";
const TABLE: &str = "\u{2}";

/// Reads a value as a `T`.
pub(super) fn read<'n, T: Deserialize<'n>>(node: &'n Located) -> ParseResult<T> {
    T::deserialize(node).map_err(|mistake| mistake.at(node.line))
}

/// Reads a table's entry, if there is one.
pub(super) fn entry<'n, T: Deserialize<'n>>(node: &'n Located, key: &str) -> ParseResult<Option<T>> {
    let read = |node: &'n Located| T::deserialize(node).map_err(|mistake| mistake.of(KEY, key).at(node.line));
    node.get(key).map(read).transpose()
}

impl Mistake {
    /// The mistake on this line, unless it has one already.
    pub(super) fn at(self, line: usize) -> Self {
        if self.line == NOWHERE { Self { line, ..self } } else { self }
    }

    fn of(self, place: &str, name: &str) -> Self {
        Self { what: self.what.replace(place, name), ..self }
    }
}

impl std::fmt::Display for Mistake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Mistake {}

impl de::Error for Mistake {
    fn custom<T: std::fmt::Display>(what: T) -> Self {
        Self { line: NOWHERE, what: what.to_string() }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let found = match found {
            Unexpected::Str(_) => "a text",
            Unexpected::Bool(_) => "true or false",
            Unexpected::Seq => "a list",
            Unexpected::Map => "a table",
            _ => "a number",
        };
        let expected = match expected.to_string().as_str() {
            "a string" => "a text".to_owned(),
            "a boolean" => "true or false".to_owned(),
            "a sequence" => "a list".to_owned(),
            other => other.to_owned(),
        };
        Self::custom(format!("`{KEY}` is {expected}, not {found}"))
    }

    fn unknown_variant(word: &str, names: &'static [&'static str]) -> Self {
        Self::custom(format!("`{word}` is no {KEY}{}", meant(word, names)))
    }

    fn unknown_field(key: &str, keys: &'static [&'static str]) -> Self {
        Self::custom(format!("unknown key `{key}` in {TABLE}{}", meant(key, keys)))
    }

    fn missing_field(key: &'static str) -> Self {
        Self::custom(format!("{TABLE} needs `{key}`"))
    }
}

impl<'de> Deserializer<'de> for &'de Located {
    type Error = Mistake;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> ParseResult<V::Value> {
        match &self.value {
            Value::Text(text) => visitor.visit_borrowed_str(text),
            Value::Whole(whole) => visitor.visit_i64(*whole),
            Value::Real(real) => visitor.visit_f64(*real),
            Value::Flag(flag) => visitor.visit_bool(*flag),
            Value::List(items) => visitor.visit_seq(Items(items.iter())),
            Value::Table(entries) => visitor.visit_map(Entries { what: KEY, rest: entries.iter(), value: None }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> ParseResult<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> ParseResult<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    /// The table is called by its name in messages, or by its key if the name is empty.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        what: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> ParseResult<V::Value> {
        let what = if what.is_empty() { KEY } else { what };
        let Value::Table(entries) = &self.value else {
            return Err(de::Error::custom(format!("{what} is a table, not {}", self.sort())));
        };
        let read = visitor.visit_map(Entries { what, rest: entries.iter(), value: None });
        read.map_err(|mistake| mistake.of(TABLE, what).at(self.line))
    }

    /// No value of a plan is a pair: one stands for a value and its line.
    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> ParseResult<V::Value> {
        visitor.visit_seq(LineAndValue { node: self, is_line: true })
    }

    /// A value that is one of several names.
    fn deserialize_enum<V: Visitor<'de>>(self, _: &'static str, _: &'static [&'static str], visitor: V) -> ParseResult<V::Value> {
        match &self.value {
            Value::Text(text) => visitor.visit_enum(BorrowedStrDeserializer::<Mistake>::new(text)),
            value => Err(de::Error::custom(format!("`{KEY}` is a text, not {}", value.sort()))),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple_struct map
        identifier ignored_any
    }
}

struct Items<'n>(std::slice::Iter<'n, Located>);

impl<'n> SeqAccess<'n> for Items<'n> {
    type Error = Mistake;

    fn next_element_seed<T: DeserializeSeed<'n>>(&mut self, seed: T) -> ParseResult<Option<T::Value>> {
        self.0.next().map(|item| seed.deserialize(item).map_err(|mistake| mistake.at(item.line))).transpose()
    }
}

struct Entries<'n> {
    what: &'static str,
    rest: std::slice::Iter<'n, (String, Located)>,
    value: Option<&'n (String, Located)>,
}

impl<'n> MapAccess<'n> for Entries<'n> {
    type Error = Mistake;

    fn next_key_seed<T: DeserializeSeed<'n>>(&mut self, seed: T) -> ParseResult<Option<T::Value>> {
        self.value = self.rest.next();
        let Some((key, node)) = self.value else { return Ok(None) };
        let read = seed.deserialize(BorrowedStrDeserializer::<Mistake>::new(key));
        read.map(Some).map_err(|mistake| mistake.of(TABLE, self.what).at(node.line))
    }

    fn next_value_seed<T: DeserializeSeed<'n>>(&mut self, seed: T) -> ParseResult<T::Value> {
        let (key, node) = self.value.expect("serde asks for a value after its key");
        seed.deserialize(node).map_err(|mistake| mistake.of(KEY, key).at(node.line))
    }
}

struct LineAndValue<'n> {
    node: &'n Located,
    is_line: bool,
}

impl<'n> SeqAccess<'n> for LineAndValue<'n> {
    type Error = Mistake;

    fn next_element_seed<T: DeserializeSeed<'n>>(&mut self, seed: T) -> ParseResult<Option<T::Value>> {
        let is_line = std::mem::replace(&mut self.is_line, false);
        if is_line { seed.deserialize(self.node.line.into_deserializer()) } else { seed.deserialize(self.node) }.map(Some)
    }
}

/// A value of a kind that no type of serde has; its parts have no lines.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum AnyValue {
    Whole(i64),
    Real(f64),
    Flag(#[allow(dead_code, reason = "flags are read as such")] bool),
    Text(String),
    List(Vec<Self>),
    Table(BTreeMap<String, Self>),
}

impl AnyValue {
    /// The kind of value, in words for messages.
    pub(super) fn sort(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Whole(_) | Self::Real(_) => "a number",
            Self::Flag(_) => "true or false",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// Types of values that are more than serde knows: each with what reads it, and what it becomes.
macro_rules! values {
    ($($(#[$meta:meta])* $name:ident($inner:ty) = $read:expr;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug)]
        pub(super) struct $name(pub(super) $inner);

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let read: fn(&$crate::plan::read::AnyValue) -> Result<$inner, String> = $read;
                read(&<$crate::plan::read::AnyValue as serde::Deserialize>::deserialize(from)?).map(Self).map_err(serde::de::Error::custom)
            }
        }

        impl From<$name> for $inner {
            fn from(value: $name) -> Self {
                value.0
            }
        }
    )*};
}
pub(super) use values;

/// A table by the name that messages call it, with the keys that it needs, and after a semicolon those that
/// it may have.
macro_rules! table {
    ($what:literal $table:ident { $($needed:ident: $must:ty),* $(,)? ; $($field:ident: $kind:ty),* $(,)? }) => {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case", rename = $what)]
        #[allow(dead_code, reason = "what depends on the rest of a plan is read by itself")]
        pub(super) struct $table {
            $($needed: $must,)*
            $($field: Option<$kind>,)*
        }
    };
}
pub(super) use table;

/// A table of keys that replace parts of a value that is known already, such as a preset; after a semicolon
/// its other keys.
macro_rules! patch {
    ($what:literal $table:ident => $target:ident { $($field:ident: $kind:ty),* $(,)? ; $($more:ident: $other:ty),* }) => {
        $crate::plan::read::table! { $what $table { ; $($field: $kind,)* $($more: $other),* } }

        impl $table {
            #[allow(clippy::needless_update, reason = "some tables have all there is")]
            pub(super) fn over(self, base: $target) -> $target {
                $target { $($field: self.$field.map_or(base.$field, Into::into),)* ..base }
            }
        }
    };
}
pub(super) use patch;

values! {
    /// A time with its unit.
    Time(Nanos) = time;
    /// A time that is not zero.
    Span(Nanos) = span;
    /// How long one byte takes, in picoseconds: `0.36 us`, `40 ps`.
    PerByte(u64) = |value| picos(&text(value)?).map_err(|what| format!("`{KEY}`: {what}"));
    /// A coefficient of variation.
    Variation(f64) = |value| real(value, 0.0..=10.0);
}

/// The word that turns something off.
pub(super) const NONE: &str = "none";

/// The value of a key: `base` if it is not given, and nothing if it is `"none"`.
pub(super) fn unless_none<'n, T: Deserialize<'n>, U>(
    node: &'n Located,
    key: &str,
    base: Option<U>,
    of: impl Fn(T) -> U,
) -> ParseResult<Option<U>> {
    match node.get(key) {
        None => Ok(base),
        Some(Located { value: Value::Text(word), .. }) if word == NONE => Ok(None),
        Some(_) => Ok(entry(node, key)?.map(of)),
    }
}

/// A whole number within bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct BoundedCount<const FROM: u64, const TO: u64>(pub(super) u64);

impl<'de, const FROM: u64, const TO: u64> Deserialize<'de> for BoundedCount<FROM, TO> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        count(&AnyValue::deserialize(from)?, FROM..=TO).map(Self).map_err(de::Error::custom)
    }
}

impl<const FROM: u64, const TO: u64> From<BoundedCount<FROM, TO>> for u32 {
    fn from(count: BoundedCount<FROM, TO>) -> Self {
        // Bounds of numbers that are kept in 32 bits are no greater.
        Self::try_from(count.0).unwrap_or(Self::MAX)
    }
}

impl<const FROM: u64, const TO: u64> From<BoundedCount<FROM, TO>> for u64 {
    fn from(count: BoundedCount<FROM, TO>) -> Self {
        count.0
    }
}

pub(super) fn text(value: &AnyValue) -> Result<String, String> {
    match value {
        AnyValue::Text(text) => Ok(text.clone()),
        _ => Err(format!("`{KEY}` is a text, not {}", value.sort())),
    }
}

pub(super) fn count(value: &AnyValue, range: RangeInclusive<u64>) -> Result<u64, String> {
    let (from, to) = (range.start(), range.end());
    match value {
        AnyValue::Whole(whole) => match u64::try_from(*whole).ok().filter(|whole| range.contains(whole)) {
            Some(whole) => Ok(whole),
            None => Err(format!("`{KEY}` is {from} to {to}, not {whole}")),
        },
        AnyValue::Real(real) => Err(format!("`{KEY}` is a whole number, not {real}")),
        _ => Err(format!("`{KEY}` is a whole number from {from} to {to}, not {}", value.sort())),
    }
}

/// A whole number where the bounds follow from other values.
pub(super) fn count_at(key: &str, (line, value): &(usize, AnyValue), range: RangeInclusive<u64>) -> ParseResult<u64> {
    count(value, range).or_else(|what| mistake(*line, what.replace(KEY, key)))
}

/// A number within bounds.
pub(super) fn real(value: &AnyValue, range: RangeInclusive<f64>) -> Result<f64, String> {
    let number = match value {
        AnyValue::Whole(whole) => *whole as f64,
        AnyValue::Real(real) => *real,
        _ => return Err(format!("`{KEY}` is a number, not {}", value.sort())),
    };
    let (from, to) = (range.start(), range.end());
    if range.contains(&number) { Ok(number) } else { Err(format!("`{KEY}` is {from} to {to}, not {number}")) }
}

/// A time that is not zero.
pub(super) fn span(value: &AnyValue) -> Result<Nanos, String> {
    match time(value)? {
        Nanos::ZERO => Err(format!("`{KEY}` must be longer than zero")),
        time => Ok(time),
    }
}

fn time(value: &AnyValue) -> Result<Nanos, String> {
    let time = match value {
        AnyValue::Text(text) => nanos(text),
        // Its unit is missing.
        AnyValue::Whole(whole) => nanos(&whole.to_string()),
        AnyValue::Real(real) => nanos(&real.to_string()),
        _ => Err(format!("a time is a text like \"6 us\", not {}", value.sort())),
    };
    time.map_err(|what| format!("`{KEY}`: {what}"))
}

/// The value of one of several names.
pub(super) fn choice<T: Clone>(value: &AnyValue, names: &[(&str, T)]) -> Result<T, String> {
    let word = text(value)?;
    match names.iter().find(|(name, _)| *name == word) {
        Some((_, value)) => Ok(value.clone()),
        None => {
            let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
            Err(format!("`{word}` is no {KEY}{}", meant(&word, &names)))
        }
    }
}

/// A time with its unit, as `6 us` or `1.5ms`, in nanoseconds.
pub(crate) fn nanos(text: &str) -> Result<Nanos, String> {
    parts(text, 1.0, "nanoseconds").map(Nanos)
}

/// A time with its unit in picoseconds.
pub(crate) fn picos(text: &str) -> Result<u64, String> {
    parts(text, 1e3, "picoseconds")
}

/// A time as a whole number of parts, `per_ns` of which make a nanosecond.
fn parts(text: &str, per_ns: f64, name: &str) -> Result<u64, String> {
    let text = text.trim();
    let unit_at = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    let (number, unit) = (text[..unit_at].trim_end(), &text[unit_at..]);
    let ns = match unit {
        "ps" => 1e-3,
        "ns" => 1.0,
        "us" | "\u{b5}s" | "\u{3bc}s" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "" if number.parse::<f64>().is_ok_and(|number| number < 0.0) => {
            return Err(format!("`{text}`: a time cannot be negative"));
        }
        "" => return Err(format!("a time needs its unit: \"{number} us\", or ns, ms, s")),
        _ => return Err(format!("`{text}` is no time; write it like \"6 us\", with ns, us, ms or s")),
    };
    let Ok(number) = number.parse::<f64>() else {
        return Err(format!("`{text}` is no time; write it like \"6 us\", with ns, us, ms or s"));
    };
    let exact = number * ns * per_ns;
    match exact {
        _ if exact < 0.0 => Err(format!("`{text}`: a time cannot be negative")),
        _ if exact > 1e18 || !exact.is_finite() => Err(format!("`{text}` is longer than thirty years")),
        _ if (exact - exact.round()).abs() > 1e-6 * exact.max(1.0) => Err(format!("`{text}` is no whole number of {name}")),
        _ => Ok(exact.round() as u64),
    }
}

/// The keys of a table that is read as `T`.
#[cfg(test)]
pub(super) fn keys<T: for<'n> Deserialize<'n>>() -> Vec<String> {
    let unknown = Located { line: 1, value: Value::Table(vec![("?".repeat(60), Located::text(1, ""))]) };
    let what = T::deserialize(&unknown).err().expect("no table has that key").what;
    what.split_once("; there are ").expect("nothing is like it").1.split(", ").map(str::to_owned).collect()
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, ns) in [("6 us", 6_000), ("1.5 ms", 1_500_000), ("300ns", 300), (" 400 s ", 400_000_000_000), ("0 us", 0)] {
            assert_eq!(nanos(text), Ok(Nanos(ns)), "{text}");
        }
        for (text, says) in [
            ("6", "needs its unit"),
            ("-6 us", "negative"),
            ("6 lightyears", "no time"),
            ("us", "no time"),
            ("0.1 ns", "whole number"),
            ("1e99 s", "no time"),
            ("99999999999999999999 s", "thirty years"),
            ("nan us", "no time"),
        ] {
            assert!(nanos(text).unwrap_err().contains(says), "{text}: {:?}", nanos(text));
        }
    }

    #[test]
    fn a_byte_may_take_less_than_a_nanosecond() {
        for (text, ps) in [("0.36 us", 360_000), ("26.3 ps", 0), ("26 ps", 26), ("0.5 ns", 500)] {
            assert_eq!(picos(text).unwrap_or(0), ps, "{text}");
        }
        assert!(nanos("500 ps").unwrap_err().contains("whole number of nanoseconds"));
    }

    #[test]
    fn numbers_keep_their_bounds() {
        let root = Located::parse("a = 3\nb = 0.5\nc = \"x\"\nd = -1").unwrap();
        let of = |key| entry::<BoundedCount<1, 3>>(&root, key).map(|count| count.map(|count| count.0));
        assert_eq!([of("a"), of("missing")], [Ok(Some(3)), Ok(None)]);
        for (key, says) in [("b", "`b` is a whole number, not 0.5"), ("c", "not a text"), ("d", "`d` is 1 to 3, not -1")] {
            assert!(of(key).unwrap_err().what.contains(says));
        }
        assert_eq!(entry::<Time>(&root, "a").unwrap_err().line, 1);
        assert_eq!(real(&AnyValue::Real(0.5), 0.0..=0.2), Err(format!("`{KEY}` is 0 to 0.2, not 0.5")));
    }

    #[test]
    fn a_mistake_has_the_nearest_key_and_the_line_on_which_it_is_given() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields, rename = "[a]")]
        struct Outer {
            #[allow(dead_code, reason = "it is read and not looked at")]
            list: Vec<Inner>,
            #[allow(dead_code, reason = "it is read and not looked at")]
            flag: Option<(usize, bool)>,
        }
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields, rename = "")]
        struct Inner {
            #[allow(dead_code, reason = "it is read and not looked at")]
            span: Span,
        }
        for (text, line, what) in [
            ("\nlist = [{ span = \"1 us\" },\n{ span = \"0 us\" }]", 3, "`span` must be longer than zero"),
            ("list = [\n{}]", 2, "list needs `span`"),
            ("list = [\n\n{ spam = 1 }]", 3, "unknown key `spam` in list; did you mean `span`?"),
            ("list = []\nflag = 1", 2, "`flag` is true or false, not a number"),
            ("list = []\n\nflog = true", 3, "unknown key `flog` in [a]; did you mean `flag`?"),
            ("list = 7", 1, "`list` is a list, not a number"),
            ("flag = true", 1, "[a] needs `list`"),
        ] {
            let mistake = read::<Outer>(&Located::parse(text).unwrap()).unwrap_err();
            assert_eq!((mistake.line, mistake.what.as_str()), (line, what), "{text}");
        }
    }
}
