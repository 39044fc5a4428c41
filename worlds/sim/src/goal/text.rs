//! The text form: one statement a line, ranks in order. Each rank goes to the binary form as soon as it ends.
use super::error::{GoalError, GoalPlace};
use super::format::{ANY, GoalKind, GoalOperation, RANKS_MAX};
use super::write::GoalWriter;
use std::collections::BTreeMap;
use std::io::{BufRead, Read, Seek, Write};

/// The longest line, and the longest label.
const LINE_MAX: u64 = 4096;
/// What one rank may take while it is converted: 1 GiB.
const RANK_BYTES_MAX: u64 = 1 << 30;
/// About what a label takes.
const LABEL_BYTES: u64 = 72;

/// What a text had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// Ranks.
    pub ranks: u32,
    /// Operations.
    pub operations: u64,
    /// GoalLines.
    pub lines: u64,
}

/// Converts a trace from its text to the binary form.
///
/// # Errors
/// If the text is malformed, with its line; if a rank is too large to be converted; if reading or writing
/// fails.
pub fn convert<W: Write + Seek>(text: impl BufRead, into: W) -> Result<(Converted, W), GoalError> {
    let mut lines = GoalLines { text, line: Vec::new(), number: 0, in_comment: false };
    let ranks = num_ranks(&mut lines)?;
    let mut writer = GoalWriter::new(into, ranks)?;
    let mut converted = Converted { ranks, ..Converted::default() };
    for rank in 0..ranks {
        begin(&mut lines, rank, ranks)?;
        converted.operations += block(&mut lines, &mut writer, ranks)?;
        writer.end_rank()?;
    }
    if let Some(mut words) = lines.next()? {
        let word = words.next_or("").to_owned();
        return Err(lines.wrong(format!("`{word}` after the last rank: num_ranks is {ranks}")));
    }
    converted.lines = lines.number;
    Ok((converted, writer.finish()?))
}

/// GoalLines without comments; empty ones are left out.
struct GoalLines<R> {
    text: R,
    line: Vec<u8>,
    number: u64,
    in_comment: bool,
}

impl<R: BufRead> GoalLines<R> {
    fn wrong(&self, what: impl Into<String>) -> GoalError {
        GoalError::new(GoalPlace::Line(self.number), what)
    }

    /// The words of the next line that has some.
    fn next(&mut self) -> Result<Option<TraceTokens<'_>>, GoalError> {
        loop {
            self.line.clear();
            let read = self.text.by_ref().take(LINE_MAX + 1).read_until(b'\n', &mut self.line)?;
            if read == 0 {
                let open = self.in_comment.then(|| self.wrong("the text ends within a comment: close it with `*/`"));
                return open.map_or(Ok(None), Err);
            }
            self.number += 1;
            if read as u64 > LINE_MAX {
                return Err(self.wrong(format!("longer than {LINE_MAX} bytes: a line has one statement")));
            }
            self.without_comments();
            if self.line.iter().any(|byte| !byte.is_ascii_whitespace()) {
                break;
            }
        }
        match std::str::from_utf8(&self.line) {
            Ok(text) => Ok(Some(TraceTokens { rest: text.trim_ascii(), line: self.number })),
            Err(_) => Err(self.wrong("not text: GOAL has ASCII letters")),
        }
    }

    /// Replaces comments by spaces.
    fn without_comments(&mut self) {
        let (line, mut at) = (&mut self.line, 0);
        while at < line.len() {
            let two = &line[at..line.len().min(at + 2)];
            if self.in_comment {
                let ends = two == b"*/";
                self.in_comment = !ends;
                let count = 1 + usize::from(ends);
                line[at..at + count].fill(b' ');
                at += count;
            } else if two == b"//" {
                line.truncate(at);
            } else if two == b"/*" {
                self.in_comment = true;
                line[at..at + 2].fill(b' ');
                at += 2;
            } else {
                at += 1;
            }
        }
    }
}

/// The words of a line: identifiers, numbers, and single signs.
struct TraceTokens<'a> {
    rest: &'a str,
    line: u64,
}

impl<'a> TraceTokens<'a> {
    fn wrong(&self, what: impl Into<String>) -> GoalError {
        GoalError::new(GoalPlace::Line(self.line), what)
    }

    fn peek(&self) -> Option<&'a str> {
        let bytes = self.rest.as_bytes();
        let first = *bytes.first()?;
        let run = |is: fn(&u8) -> bool| bytes.iter().position(|byte| !is(byte)).unwrap_or(bytes.len());
        let length = match first {
            b'0'..=b'9' => run(u8::is_ascii_digit),
            b'a'..=b'z' | b'A'..=b'Z' => run(|byte| byte.is_ascii_alphanumeric() || *byte == b'_'),
            b'-' => 1 + bytes[1..].iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(bytes.len() - 1),
            _ => self.rest.chars().next().map_or(0, char::len_utf8),
        };
        Some(&self.rest[..length])
    }

    fn take(&mut self) -> Option<&'a str> {
        let word = self.peek()?;
        self.rest = self.rest[word.len()..].trim_ascii_start();
        Some(word)
    }

    fn next_or(&mut self, none: &'a str) -> &'a str {
        self.take().unwrap_or(none)
    }

    fn expect(&mut self, word: &str) -> Result<(), GoalError> {
        match self.next_or("the end of the line") {
            found if found == word => Ok(()),
            found => Err(self.wrong(format!("expected `{word}`, found `{found}`"))),
        }
    }

    fn number<T: TryFrom<u64>>(&mut self, what: &str) -> Result<T, GoalError> {
        let word = self.next_or("the end of the line");
        let number = word.parse::<u64>().ok().and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| self.wrong(format!("invalid {what} `{word}`: expected a whole number that fits")))
    }

    /// A number, or -1 for any.
    fn number_or_any(&mut self, what: &str) -> Result<u32, GoalError> {
        if self.peek() == Some("-1") {
            self.take();
            return Ok(ANY);
        }
        self.number(what)
    }

    fn end(&mut self) -> Result<(), GoalError> {
        self.take().map_or(Ok(()), |word| Err(self.wrong(format!("expected the end of the line, found `{word}`"))))
    }
}

fn num_ranks(lines: &mut GoalLines<impl BufRead>) -> Result<u32, GoalError> {
    let Some(mut words) = lines.next()? else { return Err(GoalError::file("no GOAL trace: it has no statement")) };
    words.expect("num_ranks")?;
    let ranks = words.number("number of ranks")?;
    words.end()?;
    if (1..=RANKS_MAX).contains(&ranks) {
        return Ok(ranks);
    }
    Err(lines.wrong(format!("invalid number of ranks {ranks}: expected 1 to {RANKS_MAX}")))
}

fn begin(lines: &mut GoalLines<impl BufRead>, rank: u32, ranks: u32) -> Result<(), GoalError> {
    let Some(mut words) = lines.next()? else {
        return Err(lines.wrong(format!("the text ends before rank {rank}: num_ranks is {ranks}; is the file truncated?")));
    };
    words.expect("rank")?;
    let found: u32 = words.number("rank")?;
    if found != rank {
        return Err(words.wrong(format!("rank {found}, and rank {rank} is next: ranks stand in order from 0")));
    }
    words.expect("{")?;
    words.end()
}

/// A rank's statements; returns how many are operations.
fn block<W: Write + Seek>(lines: &mut GoalLines<impl BufRead>, writer: &mut GoalWriter<W>, ranks: u32) -> Result<u64, GoalError> {
    let mut labels = OperationLabels::default();
    let mut count = 0;
    loop {
        let Some(mut words) = lines.next()? else {
            return Err(lines.wrong("the text ends within a rank: is the file truncated? a rank ends with `}`"));
        };
        let first = words.next_or("");
        match first {
            "}" => {
                words.end()?;
                return Ok(count);
            }
            "send" | "recv" | "calc" => {
                writer.operation(operation(first, &mut words, ranks)?);
                count += 1;
            }
            label if label.starts_with(|first: char| first.is_ascii_alphabetic()) => match words.next_or("the end of the line") {
                ":" => {
                    let kind = words.next_or("the end of the line");
                    let number = writer.operation(operation(kind, &mut words, ranks)?);
                    count += 1;
                    if !labels.insert(label, number) {
                        return Err(words.wrong(format!("label {label} is there already: labels are unique within a rank")));
                    }
                }
                how @ ("requires" | "irequires") => {
                    let awaited = words.next_or("the end of the line");
                    let number = |label: &str| {
                        let undefined = || words.wrong(format!("no label `{label}` before this line: define it first"));
                        labels.get(label).ok_or_else(undefined)
                    };
                    let (waits, awaited) = (number(label)?, number(awaited)?);
                    words.end()?;
                    if how == "requires" { writer.requires(waits, awaited) } else { writer.irequires(waits, awaited) }
                }
                found => return Err(words.wrong(format!("expected `:`, `requires` or `irequires`, found `{found}`"))),
            },
            found => return Err(words.wrong(format!("expected an operation, a label or `}}`, found `{found}`"))),
        }
        if writer.resident() + labels.resident() > RANK_BYTES_MAX {
            return Err(lines.wrong("this rank takes more than 1 GiB to convert: write it in the binary form"));
        }
    }
}

fn operation(kind: &str, words: &mut TraceTokens<'_>, ranks: u32) -> Result<GoalOperation, GoalError> {
    let kind = match kind {
        "send" => GoalKind::Send,
        "recv" => GoalKind::Recv,
        "calc" => GoalKind::Calc,
        other => return Err(words.wrong(format!("expected send, recv or calc, found `{other}`"))),
    };
    let mut operation = GoalOperation { kind, size: 0, peer: 0, tag: 0, cpu: 0, nic: 0 };
    if kind == GoalKind::Calc {
        operation.size = words.number("length of a calculation")?;
    } else {
        operation.size = words.number("number of bytes")?;
        words.expect("b")?;
        words.expect(if kind == GoalKind::Send { "to" } else { "from" })?;
        operation.peer = if kind == GoalKind::Send { words.number("rank")? } else { words.number_or_any("rank")? };
        if operation.peer >= ranks && (kind == GoalKind::Send || operation.peer != ANY) {
            return Err(words.wrong(format!("no rank {}: num_ranks is {ranks}", operation.peer)));
        }
    }
    while let Some(word) = words.take() {
        match word {
            "tag" if kind != GoalKind::Calc => operation.tag = words.number_or_any("tag")?,
            "cpu" => operation.cpu = words.number("processor")?,
            "nic" if kind != GoalKind::Calc => operation.nic = words.number("NIC")?,
            found => return Err(words.wrong(format!("expected tag, cpu, nic or the end of the line, found `{found}`"))),
        }
    }
    Ok(operation)
}

/// The labels of a rank. Generators number them, as in `l17`, so those are kept by number.
#[derive(Default)]
struct OperationLabels {
    prefix: String,
    numbered: Vec<u32>,
    others: BTreeMap<String, u32>,
}

impl OperationLabels {
    /// The number in a label of the usual prefix, if it is not far beyond those before it.
    fn number(&self, label: &str) -> Option<usize> {
        let digits = label.strip_prefix(self.prefix.as_str()).filter(|digits| !digits.starts_with('0') || *digits == "0")?;
        let number = digits.parse().ok()?;
        (number <= self.numbered.len() * 2 + 1024).then_some(number)
    }

    /// Adds a label; false if it is there already.
    fn insert(&mut self, label: &str, operation: u32) -> bool {
        if self.get(label).is_some() {
            return false;
        }
        if self.prefix.is_empty() {
            label.trim_end_matches(|last: char| last.is_ascii_digit()).clone_into(&mut self.prefix);
        }
        match self.number(label) {
            Some(number) => {
                if number >= self.numbered.len() {
                    self.numbered.resize(number + 1, ANY);
                }
                self.numbered[number] = operation;
            }
            None => drop(self.others.insert(label.to_owned(), operation)),
        }
        true
    }

    fn get(&self, label: &str) -> Option<u32> {
        let numbered = self.number(label).and_then(|number| self.numbered.get(number)).filter(|&&operation| operation != ANY);
        numbered.or_else(|| self.others.get(label)).copied()
    }

    fn resident(&self) -> u64 {
        self.numbered.len() as u64 * 4 + self.others.len() as u64 * LABEL_BYTES
    }
}
