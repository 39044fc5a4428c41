//! What a run prints, and the table of medians and ratios.
use anyhow::{Context, Result, ensure};

/// One run: its line of JSON.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Outcome {
    pub(super) messages_per_s: f64,
    pub(super) rss_mib: f64,
}

impl Outcome {
    /// Reads a line, and makes sure that it is about what was asked for.
    pub(super) fn parse(line: &str, nodes: u32, skew_us: u64) -> Result<Self> {
        let asked =
            [("nodes", f64::from(nodes)), ("messages", f64::from(nodes * nodes.trailing_zeros())), ("skew_us", skew_us as f64)];
        for (name, asked) in asked {
            let got = number(line, name)?;
            ensure!(got == asked, "{name} should be {asked} and is {got}: {line}");
        }
        Ok(Self { messages_per_s: number(line, "messages_per_s")?, rss_mib: number(line, "rss_mib")? })
    }
}

/// A number of a flat object.
fn number(line: &str, name: &str) -> Result<f64> {
    let after = line.split_once(&format!("\"{name}\":")).with_context(|| format!("no `{name}` in what was printed: {line}"))?.1;
    let digits = after.split([',', '}']).next().unwrap_or(after).trim();
    digits.parse().with_context(|| format!("`{name}` is not a number: {line}"))
}

/// The middle of the runs in either figure, the lower one of two middles.
pub(super) fn median(runs: &[Outcome]) -> Option<Outcome> {
    let middle = |figure: fn(&Outcome) -> f64| {
        let mut figures: Vec<f64> = runs.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures.get(figures.len().checked_sub(1)? / 2).copied()
    };
    Some(Outcome { messages_per_s: middle(|run| run.messages_per_s)?, rss_mib: middle(|run| run.rss_mib)? })
}

pub(super) const HEAD: &str = "   nodes  skew us  who              messages/s      MiB  x messages/s  x less memory";

/// A line of the table; ratios against the peer.
pub(super) fn row(nodes: u32, skew_us: u64, who: &str, ours: Outcome, peer: Outcome) -> String {
    let (faster, smaller) = (ours.messages_per_s / peer.messages_per_s, peer.rss_mib / ours.rss_mib);
    let Outcome { messages_per_s, rss_mib } = ours;
    format!("{nodes:>8} {skew_us:>8}  {who:<14} {messages_per_s:>12.0} {rss_mib:>8.1} {faster:>13.1} {smaller:>14.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"nodes":8,"messages":24,"seconds":0.5,"messages_per_s":48,"rss_mib":2.5,"skew_us":100,"trace":"0a"}"#;

    #[test]
    fn a_line_is_read_and_held_against_what_was_asked_for() {
        assert_eq!(Outcome::parse(LINE, 8, 100).unwrap(), Outcome { messages_per_s: 48.0, rss_mib: 2.5 });
        for (from, to, culprit) in [
            ("\"nodes\":8", "\"nodes\":9", "nodes"),
            ("24", "25", "messages"),
            ("100", "0", "skew_us"),
            ("rss_mib", "rss", "rss_mib"),
            ("48", "fast", "messages_per_s"),
        ] {
            let error = Outcome::parse(&LINE.replace(from, to), 8, 100).unwrap_err();
            assert!(format!("{error:#}").contains(culprit), "{error:#}");
        }
    }

    #[test]
    fn medians_and_ratios() {
        let run = |messages_per_s, rss_mib| Outcome { messages_per_s, rss_mib };
        let middle = median(&[run(3.0, 1.0), run(1.0, 9.0), run(2.0, 5.0)]).unwrap();
        assert_eq!(middle, run(2.0, 5.0));
        assert_eq!(median(&[]), None);
        let row = row(8, 100, "ours", run(40.0, 2.0), run(2.0, 10.0));
        assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["8", "100", "ours", "40", "2.0", "20.0", "5.0"]);
        assert_eq!(row.len(), HEAD.len());
    }
}
