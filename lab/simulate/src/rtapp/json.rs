//! JSON as rt-app's files have it: comments, commas after the last entry, and names that repeat. Entries keep
//! their order, and every value its line.
use crate::plan::{Located, Mistake, Value};

/// Deeper values are refused: no task needs them.
const DEPTH_MAX: usize = 32;

/// The value in a file.
pub(super) fn parse(text: &str) -> Result<Located, Mistake> {
    let mut reader = JsonReader { rest: text, line: 1 };
    reader.space()?;
    let root = reader.value(0)?;
    reader.space()?;
    if reader.rest.is_empty() { Ok(root) } else { reader.wrong("text after the end of the file's object; remove it") }
}

struct JsonReader<'t> {
    rest: &'t str,
    line: usize,
}

impl JsonReader<'_> {
    fn wrong<T>(&self, what: impl Into<String>) -> Result<T, Mistake> {
        Err(Mistake { line: self.line, what: what.into() })
    }

    fn skip(&mut self, bytes: usize) {
        let (skipped, rest) = self.rest.split_at(bytes);
        self.line += skipped.matches('\n').count();
        self.rest = rest;
    }

    /// Skips space and comments.
    fn space(&mut self) -> Result<(), Mistake> {
        loop {
            let space = self.rest.len() - self.rest.trim_start().len();
            self.skip(space);
            if self.rest.starts_with("//") || self.rest.starts_with('#') {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.skip(end);
            } else if self.rest.starts_with("/*") {
                match self.rest.find("*/") {
                    Some(end) => self.skip(end + 2),
                    None => return self.wrong("this comment does not end; close it with */"),
                }
            } else {
                return Ok(());
            }
        }
    }

    fn take(&mut self, what: char) -> Result<bool, Mistake> {
        self.space()?;
        let found = self.rest.starts_with(what);
        if found {
            self.skip(what.len_utf8());
        }
        self.space()?;
        Ok(found)
    }

    fn value(&mut self, depth: usize) -> Result<Located, Mistake> {
        if depth > DEPTH_MAX {
            return self.wrong(format!("values within more than {DEPTH_MAX} others; a task has phases, and these have events"));
        }
        let line = self.line;
        let value = match self.rest.chars().next() {
            Some('{') => self.table(depth)?,
            Some('[') => self.list(depth)?,
            Some('"') => Value::Text(self.text()?),
            Some(_) => self.word()?,
            None => return self.wrong("the file ends within a value; close it"),
        };
        Ok(Located { line, value })
    }

    fn table(&mut self, depth: usize) -> Result<Value, Mistake> {
        self.take('{')?;
        let mut entries = Vec::new();
        while !self.take('}')? {
            let line = self.line;
            if !self.rest.starts_with('"') {
                return self.wrong("expected a name in quotes or }; write \"run\" : 1000");
            }
            let name = self.text()?;
            let value = match self.take(':')? {
                true => self.value(depth + 1)?,
                // `workgen` puts the task's name there.
                false if self.rest.starts_with([',', '}']) => Located { line, value: Value::Text(String::new()) },
                false => return self.wrong(format!("`{name}` has no value; write \"{name}\" : and one")),
            };
            entries.push((name, Located { line, ..value }));
            if !self.take(',')? && !self.rest.starts_with('}') {
                return self.wrong("expected a comma or } after a value");
            }
        }
        Ok(Value::Table(entries))
    }

    fn list(&mut self, depth: usize) -> Result<Value, Mistake> {
        self.take('[')?;
        let mut items = Vec::new();
        while !self.take(']')? {
            items.push(self.value(depth + 1)?);
            if !self.take(',')? && !self.rest.starts_with(']') {
                return self.wrong("expected a comma or ] after a value");
            }
        }
        Ok(Value::List(items))
    }

    fn text(&mut self) -> Result<String, Mistake> {
        let (mut text, mut escaped) = (String::new(), false);
        for (at, c) in self.rest.char_indices().skip(1) {
            match c {
                '"' if !escaped => {
                    self.skip(at + 1);
                    return Ok(text);
                }
                '\\' if !escaped => escaped = true,
                '\n' => break,
                c => {
                    text.push(if escaped && c == 'n' { '\n' } else { c });
                    escaped = false;
                }
            }
        }
        self.wrong("this text does not end on its line; close it with \"")
    }

    fn word(&mut self) -> Result<Value, Mistake> {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && !"+-._".contains(c)).unwrap_or(self.rest.len());
        let word = &self.rest[..end];
        let value = match (word, word.parse::<i64>(), word.parse::<f64>()) {
            ("true" | "false", ..) => Value::Flag(word == "true"),
            (_, Ok(whole), _) => Value::Whole(whole),
            (_, _, Ok(real)) if real.is_finite() => Value::Real(real),
            _ => {
                let shown: String = self.rest.chars().take(20).take_while(|c| !c.is_whitespace()).collect();
                return self.wrong(format!("`{shown}` is no value; write a number, true, false, or a text in quotes"));
            }
        };
        self.skip(end);
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_duplicates_and_lines_are_kept() {
        let root = parse("{ /* two\nlines */ \"a\" : { \"run\" : 1, // one\n \"sleep\" : 2,\n \"run\" : 3, } }").unwrap();
        let entries = root.get("a").unwrap().entries().unwrap();
        let all: Vec<_> = entries.iter().map(|(name, node)| (name.as_str(), node.line)).collect();
        assert_eq!(all, [("run", 2), ("sleep", 3), ("run", 4)]);
    }

    #[test]
    fn malformed_files_are_refused_at_their_line() {
        let deep = "[".repeat(100);
        for (text, line, what) in [
            ("", 1, "the file ends within a value"),
            ("{\n\"a\" 1}", 2, "`a` has no value"),
            ("{\n\n\"a\" : 1 \"b\" : 2}", 3, "expected a comma or }"),
            ("{ \"a\" : [1, 2 }", 1, "expected a comma or ]"),
            ("{ \"a\n\" : 1 }", 1, "does not end on its line"),
            ("{ /* }", 1, "this comment does not end"),
            ("{ \"a\" : null }", 1, "`null` is no value"),
            ("{ \"a\" : 1e999 }", 1, "`1e999` is no value"),
            ("{}\n}", 2, "text after the end"),
            (&deep, 1, "values within more than 32 others"),
        ] {
            let mistake = parse(text).unwrap_err();
            assert!(mistake.line == line && mistake.what.contains(what), "{text}: {} {}", mistake.line, mistake.what);
        }
    }
}
