//! A chain of [`Held`] in words, a line for each link that explains something.
use super::busy::{Business, Busy};
use super::explain::{Held, Last};
use super::record::Circuit;
use foregather_machine::Nanos;
use std::fmt;

/// This many of the packets that held a port, or of the times when a processor was away, are listed one by
/// one.
const SINGLY: usize = 2;

/// The chain in at most `most` lines, with times in microseconds after `zero`, or before it. Links at which
/// no packet was held up share one.
pub fn describe(chain: &[Held], zero: Nanos, most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for group in chain.chunk_by(|one, next| !one.is_late() && !next.is_late()) {
        let first = group[0].describe(zero);
        lines.push(match group.len() {
            1 => first,
            2 => format!("{first}; before that {}, not held up either", group[1].packet),
            more => format!("{first}; before that {} packets that were not held up either", more - 1),
        });
    }
    if lines.len() > most {
        let rest = lines.len() + 1 - most;
        lines.truncate(most.saturating_sub(1));
        lines.push(format!("and {rest} more before those"));
    }
    lines
}

impl Held {
    /// One line, with times in microseconds after `zero`.
    pub fn describe(&self, zero: Nanos) -> String {
        let us = |time: Nanos| match time {
            Nanos::MAX => "forever".to_owned(),
            time => format!("{:.1}", time.as_us() - zero.as_us()),
        };
        let Circuit { asked, began, granted, arrived, from, to, .. } = self.packet;
        let mut line = format!("{}: sent at {} us, there at {} us", self.packet, us(asked), us(arrived));
        let mut waited = |port: &str, since, until, by: &[Circuit], held: fn(&Circuit) -> (Nanos, Nanos)| {
            if until > since {
                line += &format!("; waited from {} to {} us for {port}", us(since), us(until));
                let one = |circuit: &Circuit| format!("{circuit} from {} to {} us", us(held(circuit).0), us(held(circuit).1));
                line += &listed(", held by ", by, one);
            }
        };
        waited(&format!("the send port of {from}"), asked, began, &self.send_port, |circuit| (circuit.began, circuit.left));
        let port =
            if self.receive_port.is_empty() { "the links of its route".to_owned() } else { format!("the receive port of {to}") };
        waited(&port, began, granted, &self.receive_port, |circuit| (circuit.granted, circuit.arrived));
        if self.busy.is_empty() {
            return line;
        }
        line += &match &self.after {
            Some(Last::Had(circuit)) => format!("; {from} had {circuit} at {} us, but", us(circuit.arrived)),
            Some(Last::Sent(circuit)) => format!("; {circuit} had left at {} us, but {from}", us(circuit.left)),
            None => format!("; {from}"),
        };
        let one = |busy: &Busy| format!("{} from {} to {} us", busy.business.describe(), us(busy.from), us(busy.to));
        line + &listed(" ", &self.busy, one)
    }
}

/// The first few, and the number of the others.
fn listed<T>(begin: &str, all: &[T], one: impl Fn(&T) -> String) -> String {
    if all.is_empty() {
        return String::new();
    }
    let told: Vec<String> = all.iter().take(SINGLY).map(one).collect();
    let rest = all.len() - told.len();
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("{begin}{}{rest}", told.join(", "))
}

impl Business {
    fn describe(self) -> &'static str {
        match self {
            Self::Computed => "computed",
            Self::Interrupted => "was interrupted",
            Self::Paused => "stood still",
        }
    }
}

impl fmt::Display for Circuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} -> {}", self.kind.name(), self.from, self.to)
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(Nanos::ZERO))
    }
}
