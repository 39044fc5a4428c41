//! A TOML document that remembers its lines, and of which every value can be replaced: sweeps need nothing
//! else.
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The line of a mistake whose line is not known yet.
pub(super) const NOWHERE: usize = usize::MAX;

/// What is wrong with a plan, and where. Line 0 is the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mistake {
    pub(crate) line: usize,
    pub(crate) what: String,
}

/// What reading gives, or what is wrong.
pub(crate) type ParseResult<T> = Result<T, Mistake>;

/// A mistake at a line.
pub(crate) fn mistake<T>(line: usize, what: impl Into<String>) -> ParseResult<T> {
    Err(Mistake { line, what: what.into() })
}

/// A value and the line on which it is given.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    pub(crate) line: usize,
    pub(crate) value: Value,
}

/// A value. Tables keep the order of the file.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Whole(i64),
    Real(f64),
    Flag(bool),
    List(Vec<Located>),
    Table(Vec<(String, Located)>),
}

impl Located {
    /// The document in this text.
    pub(super) fn parse(text: &str) -> ParseResult<Self> {
        let lines = LineEnds(text.match_indices('\n').map(|(at, _)| at).collect());
        match DeTable::parse(text) {
            Ok(table) => lines.table(1, table.get_ref()),
            Err(error) => mistake(lines.of(error.span().map_or(0, |span| span.start)), error.message()),
        }
    }

    /// The value in this text; text that is no TOML is taken as it is.
    pub(super) fn of_word(word: &str) -> Self {
        let parsed = Self::parse(&format!("value = {word}")).ok().and_then(|node| node.get("value").cloned());
        parsed.unwrap_or_else(|| Self::text(0, word)).at_line(0)
    }

    /// An empty table.
    pub(super) fn nothing() -> Self {
        Self { line: 1, value: Value::Table(vec![]) }
    }

    pub(super) fn text(line: usize, text: impl Into<String>) -> Self {
        Self { line, value: Value::Text(text.into()) }
    }

    /// The value and all its parts, said to be on that line.
    fn at_line(mut self, line: usize) -> Self {
        self.line = line;
        self.value = match self.value {
            Value::List(items) => Value::List(items.into_iter().map(|item| item.at_line(line)).collect()),
            Value::Table(entries) => Value::Table(entries.into_iter().map(|(key, node)| (key, node.at_line(line))).collect()),
            plain => plain,
        };
        self
    }

    /// The entries, if it is a table.
    pub(crate) fn entries(&self) -> Option<&[(String, Located)]> {
        if let Value::Table(entries) = &self.value { Some(entries) } else { None }
    }

    /// The entry of that name, if it is a table that has one.
    pub(crate) fn get(&self, key: &str) -> Option<&Located> {
        self.entries()?.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// Takes an entry out.
    pub(super) fn take(&mut self, key: &str) -> Option<Located> {
        let Value::Table(entries) = &mut self.value else { return None };
        let at = entries.iter().position(|(name, _)| name == key)?;
        Some(entries.remove(at).1)
    }

    /// The items, if it is a list.
    pub(crate) fn items(&self) -> Option<&[Located]> {
        if let Value::List(items) = &self.value { Some(items) } else { None }
    }

    /// The name of an item of a list; a job without one is called `job`, or `load`.
    fn name(&self) -> Option<&str> {
        match (self.get("name"), self.get("load")) {
            (Some(Located { value: Value::Text(name), .. }), _) => Some(name),
            (Some(_), _) => None,
            (None, Some(Located { value: Value::Flag(true), .. })) => Some("load"),
            (None, _) => Some("job"),
        }
    }

    /// Puts a value at a dotted path. Tables that are missing are made; an item of a list is named by its
    /// number, or by its `name`.
    pub(super) fn set(&mut self, path: &str, new: &Located) -> ParseResult<()> {
        let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
        let line = new.line;
        let place = match &mut self.value {
            Value::Table(entries) => {
                let at = entries.iter().position(|(name, _)| name == first).unwrap_or_else(|| {
                    entries.push((first.to_owned(), Located { line, value: Value::Table(vec![]) }));
                    entries.len() - 1
                });
                &mut entries[at].1
            }
            Value::List(items) => {
                let by_number = first.parse().ok().filter(|&at: &usize| at < items.len());
                let by_name: Vec<_> = (0..items.len()).filter(|&at| items[at].name() == Some(first)).collect();
                match (by_number, &by_name[..]) {
                    (Some(at), _) | (None, &[at]) => &mut items[at],
                    (None, [_, _, ..]) => {
                        return mistake(line, format!("{} are named `{first}`: write one's number from 0", by_name.len()));
                    }
                    (None, []) => return mistake(line, format!("nothing there is named or numbered `{first}`")),
                }
            }
            _ => return mistake(line, format!("`{first}` would lie within a plain value")),
        };
        match rest {
            Some(rest) => place.set(rest, new),
            None => {
                *place = new.clone();
                Ok(())
            }
        }
    }

    /// Takes out what is at a dotted path, if there is something.
    pub(super) fn remove(&mut self, path: &str) {
        match (path.split_once('.'), &mut self.value) {
            (None, _) => drop(self.take(path)),
            (Some((first, rest)), Value::Table(entries)) => {
                entries.iter_mut().filter(|(name, _)| name == first).for_each(|(_, node)| node.remove(rest));
            }
            (Some((first, rest)), Value::List(items)) => {
                if let Some(item) = first.parse().ok().and_then(|at: usize| items.get_mut(at)) {
                    item.remove(rest);
                }
            }
            _ => {}
        }
    }

    /// The kind of value, in words for messages.
    pub(crate) fn sort(&self) -> &'static str {
        self.value.sort()
    }
}

impl Value {
    /// The kind of value, in words for messages: `a text`, `a table` ...
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

/// The places where a text's lines end.
struct LineEnds(Vec<usize>);

impl LineEnds {
    fn of(&self, offset: usize) -> usize {
        self.0.partition_point(|&end| end < offset) + 1
    }

    /// The entries in the order of the file, each on the line of its key.
    fn table(&self, line: usize, table: &DeTable<'_>) -> ParseResult<Located> {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
            let key: &Spanned<std::borrow::Cow<'_, str>> = key;
            Ok((key.get_ref().to_string(), self.value(self.of(key.span().start), value.get_ref())?))
        };
        Ok(Located { line, value: Value::Table(entries.into_iter().map(entry).collect::<ParseResult<_>>()?) })
    }

    fn value(&self, line: usize, value: &DeValue<'_>) -> ParseResult<Located> {
        let value = match value {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Boolean(flag) => Value::Flag(*flag),
            DeValue::Integer(whole) => match i64::from_str_radix(whole.as_str(), whole.radix()) {
                Ok(whole) => Value::Whole(whole),
                Err(_) => return mistake(line, format!("{whole} is too large a number")),
            },
            DeValue::Float(real) => match real.as_str().parse::<f64>() {
                Ok(real) if real.is_finite() => Value::Real(real),
                _ => return mistake(line, format!("{real} is no number to calculate with")),
            },
            DeValue::Datetime(_) => return mistake(line, "a plan has no dates"),
            DeValue::Table(table) => return self.table(line, table),
            DeValue::Array(items) => {
                let item = |item: &Spanned<DeValue<'_>>| self.value(self.of(item.span().start), item.get_ref());
                Value::List(items.iter().map(item).collect::<ParseResult<_>>()?)
            }
        };
        Ok(Located { line, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "title = \"a\"\n\n[machine]\ncpus = 32\n[[job]]\nname = \"x\"\n[[job]]\nname = \"y\"\nlist = [\n1,\n2]\n";

    #[test]
    fn every_value_knows_its_line() {
        let root = Located::parse(TEXT).unwrap();
        let keys: Vec<_> = root.entries().unwrap().iter().map(|(key, node)| (key.as_str(), node.line)).collect();
        assert_eq!(keys, [("title", 1), ("machine", 3), ("job", 5)]);
        assert_eq!(root.get("machine").unwrap().get("cpus").unwrap().line, 4);
        let jobs = root.get("job").unwrap().items().unwrap();
        assert_eq!([jobs[0].line, jobs[1].line], [5, 7]);
        let list = jobs[1].get("list").unwrap();
        assert_eq!((list.line, list.items().unwrap()[1].line), (9, 11));
    }

    #[test]
    fn an_item_without_a_name_has_that_of_results() {
        let mut root = Located::parse("[[job]]\nthreads = 2\n[[job]]\nload = true\nthreads = 1\n").unwrap();
        let eight = Located { line: 1, value: Value::Whole(8) };
        root.set("job.load.threads", &eight).unwrap();
        root.set("job.job.threads", &eight).unwrap();
        let threads = |item: &Located| matches!(item.get("threads"), Some(Located { value: Value::Whole(8), .. }));
        assert!(root.get("job").unwrap().items().unwrap().iter().all(threads));
        let mut two = Located::parse("[[job]]\nthreads = 2\n[[job]]\nthreads = 1\n").unwrap();
        assert!(two.set("job.job.threads", &eight).unwrap_err().to_string().contains("2 are named `job`"));
    }

    #[test]
    fn errors_of_the_syntax_have_their_line() {
        for (text, line) in
            [("a = 1\nb = = 2\n", 2), ("\n\n[a\n", 3), ("a = 1\na = 2", 2), ("a = 1979-05-27", 1), ("\na = inf", 2)]
        {
            assert_eq!(Located::parse(text).unwrap_err().line, line, "{text:?}");
        }
    }

    #[test]
    fn values_are_set_by_path() {
        let mut root = Located::parse(TEXT).unwrap();
        let two = Located::of_word("2");
        for path in ["machine.cpus", "machine.linux24.tick", "job.y.threads", "job.0.threads", "load"] {
            root.set(path, &two).unwrap();
        }
        let jobs = root.get("job").unwrap().items().unwrap();
        assert!(matches!(jobs[1].get("threads"), Some(Located { value: Value::Whole(2), line: 0 })));
        assert!(jobs[0].get("threads").is_some() && root.get("load").is_some());
        assert!(root.get("machine").unwrap().get("linux24").unwrap().get("tick").is_some());
        assert!(root.set("job.z.threads", &two).unwrap_err().what.contains("`z`"));
        assert!(root.set("title.threads", &two).unwrap_err().what.contains("plain value"));
    }

    #[test]
    fn words_are_values_or_texts() {
        assert!(matches!(Located::of_word("[1, 2]").value, Value::List(_)));
        assert!(matches!(Located::of_word("two-phase:6us").value, Value::Text(_)));
    }
}
