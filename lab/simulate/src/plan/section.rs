//! One table of a plan, read key by key: what it does not know, it refuses, and says what was probably meant.
use super::tree::{Located, ParseResult, Value, mistake};
use foregather_machine::Nanos;
use std::ops::RangeInclusive;

/// A table whose keys are known.
pub(super) struct Section<'a> {
    what: &'a str,
    node: &'a Located,
}

impl<'a> Section<'a> {
    /// The table `node`, called `what` in messages, of which nothing but `keys` may be asked.
    pub(super) fn new(what: &'a str, node: &'a Located, keys: &[&str]) -> ParseResult<Self> {
        let Some(entries) = node.entries() else {
            return mistake(node.line, format!("{what} is a table, not {}", node.sort()));
        };
        match entries.iter().find(|(key, _)| !keys.contains(&key.as_str())) {
            Some((key, node)) => mistake(node.line, format!("unknown key `{key}` in {what}{}", meant(key, keys))),
            None => Ok(Self { what, node }),
        }
    }

    pub(super) fn line(&self) -> usize {
        self.node.line
    }

    pub(super) fn get(&self, key: &str) -> Option<&'a Located> {
        self.node.get(key)
    }

    /// A key without which there is no sense in the table.
    pub(super) fn need(&self, key: &str) -> ParseResult<&'a Located> {
        self.get(key).map_or_else(|| mistake(self.line(), format!("{} needs `{key}`", self.what)), Ok)
    }

    pub(super) fn text(&self, key: &str) -> ParseResult<Option<&'a str>> {
        self.get(key).map(|node| text(key, node)).transpose()
    }

    pub(super) fn flag(&self, key: &str, default: bool) -> ParseResult<bool> {
        match self.get(key) {
            None => Ok(default),
            Some(Located { value: Value::Flag(flag), .. }) => Ok(*flag),
            Some(node) => mistake(node.line, format!("`{key}` is true or false, not {}", node.sort())),
        }
    }

    pub(super) fn count(&self, key: &str, range: RangeInclusive<u64>, default: u64) -> ParseResult<u64> {
        self.get(key).map_or(Ok(default), |node| count(key, node, range))
    }

    pub(super) fn count32(&self, key: &str, range: RangeInclusive<u32>, default: u32) -> ParseResult<u32> {
        Ok(self.count(key, u64::from(*range.start())..=u64::from(*range.end()), default.into())? as u32)
    }

    pub(super) fn real(&self, key: &str, range: RangeInclusive<f64>, default: f64) -> ParseResult<f64> {
        self.get(key).map_or(Ok(default), |node| real(key, node, range))
    }

    pub(super) fn time(&self, key: &str, default: Nanos) -> ParseResult<Nanos> {
        self.get(key).map_or(Ok(default), |node| time(key, node))
    }

    /// A time that is not zero.
    pub(super) fn span(&self, key: &str, default: Nanos) -> ParseResult<Nanos> {
        self.get(key).map_or(Ok(default), |node| span(key, node))
    }

    /// One of several names.
    pub(super) fn choice<T: Clone>(&self, key: &str, names: &[(&str, T)], default: T) -> ParseResult<T> {
        self.get(key).map_or(Ok(default), |node| choice(key, node, names))
    }
}

/// A text.
pub(super) fn text<'a>(key: &str, node: &'a Located) -> ParseResult<&'a str> {
    match &node.value {
        Value::Text(text) => Ok(text),
        _ => mistake(node.line, format!("`{key}` is a text, not {}", node.sort())),
    }
}

/// A whole number within bounds.
pub(super) fn count(key: &str, node: &Located, range: RangeInclusive<u64>) -> ParseResult<u64> {
    let (from, to) = (range.start(), range.end());
    match node.value {
        Value::Whole(whole) => match u64::try_from(whole).ok().filter(|whole| range.contains(whole)) {
            Some(whole) => Ok(whole),
            None => mistake(node.line, format!("`{key}` is {from} to {to}, not {whole}")),
        },
        Value::Real(real) => mistake(node.line, format!("`{key}` is a whole number, not {real}")),
        _ => mistake(node.line, format!("`{key}` is a whole number from {from} to {to}, not {}", node.sort())),
    }
}

/// A number within bounds.
pub(super) fn real(key: &str, node: &Located, range: RangeInclusive<f64>) -> ParseResult<f64> {
    let number = match node.value {
        Value::Whole(whole) => whole as f64,
        Value::Real(real) => real,
        _ => return mistake(node.line, format!("`{key}` is a number, not {}", node.sort())),
    };
    if range.contains(&number) {
        return Ok(number);
    }
    mistake(node.line, format!("`{key}` is {} to {}, not {number}", range.start(), range.end()))
}

/// A time with its unit.
pub(super) fn time(key: &str, node: &Located) -> ParseResult<Nanos> {
    let wrong = |what: String| mistake(node.line, format!("`{key}`: {what}"));
    match &node.value {
        Value::Text(text) => nanos(text).or_else(wrong),
        Value::Whole(whole) => wrong(format!("a time needs its unit: \"{whole} us\", or ns, ms, s")),
        Value::Real(real) => wrong(format!("a time needs its unit: \"{real} us\", or ns, ms, s")),
        _ => wrong(format!("a time is a text like \"6 us\", not {}", node.sort())),
    }
}

/// A time that is not zero.
pub(super) fn span(key: &str, node: &Located) -> ParseResult<Nanos> {
    match time(key, node)? {
        Nanos::ZERO => mistake(node.line, format!("`{key}` must be longer than zero")),
        time => Ok(time),
    }
}

/// `6 us`, `1.5ms`.
pub(super) fn nanos(text: &str) -> Result<Nanos, String> {
    parts(text, 1.0, "nanoseconds").map(Nanos)
}

/// What one byte takes, in picoseconds: `0.36 us`, `40 ps`.
pub(super) fn picos(text: &str) -> Result<u64, String> {
    parts(text, 1e3, "picoseconds")
}

/// A time in whole parts, of which there are so many in a nanosecond.
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

/// One of several names.
pub(super) fn choice<T: Clone>(key: &str, node: &Located, names: &[(&str, T)]) -> ParseResult<T> {
    let word = text(key, node)?;
    match names.iter().find(|(name, _)| *name == word) {
        Some((_, value)) => Ok(value.clone()),
        None => {
            let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
            mistake(node.line, format!("`{word}` is no {key}{}", meant(word, &names)))
        }
    }
}

/// What was probably meant, or else what there is.
pub(crate) fn meant(word: &str, names: &[&str]) -> String {
    let near = names.iter().map(|name| (distance(word, name), name)).min();
    match near {
        Some((distance, name)) if distance <= 1 + name.len() / 4 => format!("; did you mean `{name}`?"),
        _ => format!("; there are {}", names.join(", ")),
    }
}

/// How many letters must be changed, added, taken out or swapped with their neighbour. Both may be a stranger's: their first letters decide.
fn distance(a: &str, b: &str) -> usize {
    const MOST: usize = 64;
    let [a, b] = [a, b].map(|word| word.chars().take(MOST).collect::<Vec<char>>());
    let mut rows = vec![(0..=b.len()).collect::<Vec<_>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let mut least = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]));
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
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
    fn a_slip_of_the_pen_is_recognised() {
        let keys = ["threads", "barriers", "name"];
        for (word, says) in [
            ("thredas", "did you mean `threads`"),
            ("barier", "did you mean `barriers`"),
            ("colour", "there are threads, barriers"),
        ] {
            assert!(meant(word, &keys).contains(says), "{word}: {}", meant(word, &keys));
        }
        assert_eq!(distance("", "abc"), 3);
        assert_eq!([distance("", &"x".repeat(100_000)), distance(&"x".repeat(100_000), "")], [64; 2]);
        assert_eq!(distance("abcd", "acbd"), 1);
    }

    #[test]
    fn numbers_keep_their_bounds() {
        let root = Located::parse("a = 3\nb = 0.5\nc = \"x\"\nd = -1").unwrap();
        let section = Section::new("[a]", &root, &["a", "b", "c", "d"]).unwrap();
        assert_eq!(section.count("a", 1..=3, 9), Ok(3));
        assert_eq!(section.count("missing", 1..=3, 9), Ok(9));
        for (key, says) in [("b", "whole number, not 0.5"), ("c", "not a text"), ("d", "1 to 3, not -1")] {
            assert!(section.count(key, 1..=3, 9).unwrap_err().what.contains(says));
        }
        assert_eq!(section.time("a", Nanos::ZERO).unwrap_err().line, 1);
        assert_eq!(section.real("b", 0.0..=0.2, 0.0).unwrap_err().what, "`b` is 0 to 0.2, not 0.5");
    }
}
