//! Converts journals to a trace for Perfetto (<https://ui.perfetto.dev>) and Chrome: ranks are processes, and
//! their threads are threads.
use super::places::Places;
use super::{Event, Journal, Operation};
use crate::memory::Site;
use crate::{Access, Minipage};
use core::fmt::Write;

/// Returns the trace in the JSON format of Chrome's trace viewer. Times are in microseconds since the first
/// event of the thread that started first.
///
/// If the clocks of hosts differ, each host is drawn on its own clock.
pub fn trace(journals: &[Journal], sites: &[Site]) -> String {
    let begin = journals.iter().filter_map(|journal| journal.events.first()).map(|event| event.at_ns).min().unwrap_or(0);
    let mut sheet = Sheet { lines: vec![], sites, places: Places::new(sites), begin };
    for journal in journals {
        sheet.name("process_name", journal, &format!("rank {}", journal.rank));
        sheet.name("thread_name", journal, &format!("thread {}", journal.thread));
        sheet.draw(journal);
    }
    format!("{{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n{}\n]}}\n", sheet.lines.join(",\n"))
}

struct Sheet<'s> {
    lines: Vec<String>,
    sites: &'s [Site],
    places: Places<'s>,
    begin: u64,
}

impl Sheet<'_> {
    fn name(&mut self, what: &str, journal: &Journal, name: &str) {
        let (pid, tid, what, name) = (journal.rank, journal.thread, quoted(what), quoted(name));
        self.lines.push(format!(r#"{{"ph":"M","pid":{pid},"tid":{tid},"name":{what},"args":{{"name":{name}}}}}"#));
    }

    fn draw(&mut self, journal: &Journal) {
        let Some(first) = journal.events.first() else { return };
        let mut computes_from = first.at_ns;
        for event in &journal.events {
            let touches = matches!(event.what, Operation::Touch { .. });
            if touches && event.waited_ns == 0 {
                continue;
            }
            if event.at_ns > computes_from {
                self.span(journal, "compute", (computes_from, event.at_ns), "{}");
            }
            computes_from = event.ended().0;
            let (name, about) = self.label(event);
            self.span(journal, &name, (event.at_ns, computes_from), &about);
        }
    }

    fn span(&mut self, journal: &Journal, name: &str, (from, to): (u64, u64), about: &str) {
        let (pid, tid, name) = (journal.rank, journal.thread, quoted(name));
        let (from, long) = (us(from - self.begin.min(from)), us(to.saturating_sub(from)));
        self.lines.push(format!(r#"{{"ph":"X","pid":{pid},"tid":{tid},"ts":{from},"dur":{long},"name":{name},"args":{about}}}"#));
    }

    /// Returns the name of an event, and its details.
    fn label(&self, event: &Event) -> (String, String) {
        let fault = |access: Access| if access == Access::Write { "write fault" } else { "read fault" };
        let (name, minipage) = match &event.what {
            Operation::Touch { access, minipage, .. } => (fault(*access).to_owned(), Some(*minipage)),
            Operation::Prefetch { minipage, .. } => ("prefetch".to_owned(), Some(*minipage)),
            Operation::Push { minipage } => ("push".to_owned(), Some(*minipage)),
            Operation::Lock(lock) => (format!("lock {lock}"), None),
            Operation::Unlock(lock) => (format!("unlock {lock}"), None),
            Operation::Post(flag) => (format!("post {flag}"), None),
            Operation::Wait(flag) => (format!("wait {flag}"), None),
            Operation::Barrier => ("barrier".to_owned(), None),
            Operation::Start => ("start of the clock".to_owned(), None),
            Operation::End => ("end".to_owned(), None),
        };
        (name, minipage.map_or_else(|| "{}".to_owned(), |minipage| self.about(minipage)))
    }

    fn about(&self, minipage: Minipage) -> String {
        let place = self.places.site(minipage).map_or("unknown", |site| &self.sites[site].place);
        format!(r#"{{"minipage":{},"allocated":{}}}"#, minipage.0, quoted(place))
    }
}

/// Formats nanoseconds as microseconds, without loss.
fn us(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000, ns % 1_000)
}

/// Returns a JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            control if control < ' ' => write!(quoted, "\\u{:04x}", control as u32).expect("a string takes all"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::hand_made::{at, journal, load, site, store};
    use serde_json::Value;

    #[test]
    fn spans_are_what_threads_waited_for_and_what_they_computed_in_between() {
        let sites = [site("odd \"name\"\\.rs:1", (8, 8, 1), 0..2)];
        let events = [
            at(5_000, 1_500, Operation::Barrier),
            at(6_600, 0, load(0, 0..8).unwrap()),
            at(7_000, 4_321, store(1, 0..8).unwrap()),
            at(12_000, 0, Operation::End),
        ];
        let other = journal(1, [at(6_000, 500, Operation::Lock(3))]);
        let text = trace(&[journal(0, events), other], &sites);
        let all: Value = serde_json::from_str(&text).unwrap();
        let spans = all["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
        let of = |span: &Value| {
            let number = |name: &str| (span[name].as_f64().unwrap() * 1e3).round() as u64;
            (span["pid"].as_u64().unwrap(), span["name"].as_str().unwrap().to_owned(), number("ts"), number("dur"))
        };
        let spans: Vec<_> = spans.map(|span| (of(span), span["args"]["allocated"].as_str().map(str::to_owned))).collect();
        let expected = [
            (0, "barrier", 0, 1_500),
            (0, "compute", 1_500, 500),
            (0, "write fault", 2_000, 4_321),
            (0, "compute", 6_321, 679),
            (0, "end", 7_000, 0),
            (1, "lock 3", 1_000, 500),
        ];
        let seen: Vec<_> = spans.iter().map(|(span, _)| (span.0, &span.1[..], span.2, span.3)).collect();
        assert_eq!(seen, expected);
        assert_eq!(spans[2].1.as_deref(), Some(&sites[0].place[..]));
        assert_eq!(all["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "M").count(), 4);
    }

    #[test]
    fn a_trace_of_nothing_is_one_too() {
        assert!(serde_json::from_str::<Value>(&trace(&[], &[])).is_ok());
    }
}
