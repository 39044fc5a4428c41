//! Changes of a text and of a JSON document, drawn from a seed.
use foregather_machine::SplitMix;
use serde_json::{Map, Value, json};

/// Numbers that parsers and reckoning stumble over.
const NUMBERS: [&str; 14] = [
    "0",
    "-1",
    "1",
    "-0.0",
    "1e308",
    "-1e308",
    "5e-324",
    "1e999",
    "18446744073709551615",
    "9223372036854775808",
    "-9223372036854775808",
    "4294967296",
    "0.1",
    "1e16",
];

/// Texts that tables, pages and terminals stumble over.
const TEXTS: [&str; 12] = [
    "",
    " ",
    "\u{1b}[2J\n[1] line",
    "\u{202e}abc",
    "\u{200b}\u{200b}",
    "\u{1f469}\u{200d}\u{1f469}",
    "</script><script>",
    "a/b/c//d/",
    "\"'&<>,;\r\n",
    "NaN",
    "1e400",
    "`a` `b",
];

/// Where changes come from.
pub(crate) struct Dice(pub(crate) SplitMix);

impl Dice {
    pub(crate) fn new(seed: u64, number: u64) -> Self {
        Self(SplitMix(SplitMix::mix(seed ^ SplitMix::mix(number))))
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0.below(n.max(1) as u64) as usize
    }

    pub(crate) fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    fn any<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    /// A text from the list, or a long one.
    fn text(&mut self) -> String {
        match self.below(40) {
            0 => "x".repeat(70_000),
            1 => "\u{4e2d}".repeat(self.below(3_000)),
            _ => self.any(&TEXTS).to_owned(),
        }
    }

    /// Between two characters.
    fn cut(&mut self, text: &str) -> usize {
        let mut at = self.below(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }

    /// A few changes of any kind to a text; pieces of `other` get in.
    pub(crate) fn changed(&mut self, text: &str, other: &str) -> String {
        let mut text = text.to_owned();
        for _ in 0..=self.below(4) {
            let (a, b) = (self.cut(&text), self.cut(&text));
            // Most changes are small ones.
            let (from, to) = (a.min(b), a.max(b));
            let near = text
                .char_indices()
                .map(|(at, _)| at)
                .find(|&at| at >= from + 1 + from % 7)
                .unwrap_or(text.len())
                .min(to.max(from));
            match self.below(8) {
                0 => text.replace_range(from..near, ""),
                1 => text.insert_str(from, &text[from..near].to_owned().repeat(2)),
                2 => self.number(&mut text),
                3 => text.insert_str(from, self.any(&["[", "]", "{", "}", "\"", "=", ",", "\n", "#", "\\u0000", "."])),
                4 => text.truncate(from),
                5 => {
                    let (a, b) = (self.cut(other), self.cut(other));
                    text.insert_str(
                        from,
                        &other[a.min(b)..a.max(b).min(a.min(b) + 200).max(a.min(b))].chars().collect::<String>(),
                    );
                }
                6 => text.insert_str(from, &self.text()),
                _ => self.lines(&mut text, other),
            }
        }
        text
    }

    /// Another number in the place of one of them.
    fn number(&mut self, text: &mut String) {
        let digit = |c: char| c.is_ascii_digit();
        let starts: Vec<usize> = text.match_indices(digit).map(|(at, _)| at).filter(|&at| !text[..at].ends_with(digit)).collect();
        if !starts.is_empty() {
            let from = *self.of(&starts);
            let to = text[from..].find(|c: char| !digit(c)).map_or(text.len(), |length| from + length);
            text.replace_range(from..to, self.any(&NUMBERS));
        }
    }

    /// One line doubled, taken out, or replaced by one of another text.
    fn lines(&mut self, text: &mut String, other: &str) {
        let mut lines: Vec<&str> = text.lines().collect();
        let others: Vec<&str> = other.lines().collect();
        if lines.is_empty() || others.is_empty() {
            return;
        }
        let at = self.below(lines.len());
        match self.below(3) {
            0 => lines.insert(at, lines[at]),
            1 => drop(lines.remove(at)),
            _ => lines[at] = self.any(&others),
        }
        *text = lines.join("\n");
    }

    /// Changes one value somewhere in a document, so that it is still JSON.
    pub(crate) fn change(&mut self, value: &mut Value) {
        let deeper = self.below(8) > 0;
        match value {
            Value::Array(items) if !items.is_empty() && deeper => {
                let at = self.below(items.len());
                match self.below(10) {
                    0 => items.insert(at, items[at].clone()),
                    1 => drop(items.remove(at)),
                    _ => self.change(&mut items[at]),
                }
            }
            Value::Object(entries) if !entries.is_empty() && deeper => self.change_entry(entries),
            _ => *value = self.other_value(),
        }
    }

    fn change_entry(&mut self, entries: &mut Map<String, Value>) {
        let keys: Vec<String> = entries.keys().cloned().collect();
        let key = self.of(&keys).clone();
        match self.below(12) {
            0 => drop(entries.remove(&key)),
            1 => {
                let taken = entries.remove(&key).unwrap_or_default();
                entries.insert(self.text(), taken);
            }
            _ => self.change(&mut entries[&key]),
        }
    }

    fn other_value(&mut self) -> Value {
        match self.below(8) {
            0 => Value::Null,
            1 => json!([]),
            2 => json!({}),
            3 => json!(self.text()),
            4 => json!([[u64::MAX, u64::MAX], [0, 0], [1, u64::MAX]]),
            5 => json!([f64::MAX, f64::MIN, 0.0, -0.0, 5e-324]),
            _ => self.any(&NUMBERS).parse::<serde_json::Number>().map_or(Value::Null, Value::Number),
        }
    }
}
