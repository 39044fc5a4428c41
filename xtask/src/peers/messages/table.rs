//! Everybody's figures, and what ours are to theirs.
use super::sample::{PATTERNS, Sample};
use std::fmt::Write;

const HEAD: &str = "   bytes  pattern    who              p50 ns       min ns  ours/p50  ours/min";

/// The table: ours first, under each length and pattern.
pub(super) fn of(found: &[(&'static str, Vec<Sample>)]) -> String {
    let mut sizes: Vec<usize> = found.iter().flat_map(|(_, samples)| samples).map(|sample| sample.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut text = format!("{HEAD}\n");
    for pattern in PATTERNS {
        for &bytes in &sizes {
            let ours = found.first().and_then(|(_, samples)| middle(samples, bytes, pattern));
            for (who, samples) in found {
                let Some((p50, min)) = middle(samples, bytes, pattern) else { continue };
                let ratio =
                    |own: Option<f64>, theirs: f64| own.map_or_else(|| "-".to_owned(), |own| format!("{:.2}", own / theirs));
                let (of_p50, of_min) = (ratio(ours.map(|ours| ours.0), p50), ratio(ours.map(|ours| ours.1), min));
                let _ = writeln!(text, "{bytes:>8}  {pattern:<9}  {who:<10} {p50:>12.1} {min:>12.1} {of_p50:>9} {of_min:>9}");
            }
        }
    }
    text
}

/// The median over the rounds, the lower one of two middles, and the least of all.
fn middle(samples: &[Sample], bytes: usize, pattern: &str) -> Option<(f64, f64)> {
    let own = || samples.iter().filter(|sample| sample.bytes == bytes && sample.pattern == pattern);
    let mut medians: Vec<f64> = own().map(|sample| sample.p50_ns).collect();
    medians.sort_by(f64::total_cmp);
    let middle = medians.get(medians.len().checked_sub(1)? / 2)?;
    Some((*middle, own().map(|sample| sample.min_ns).fold(f64::MAX, f64::min)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_median_of_the_rounds_and_ratios_of_ours_to_theirs() {
        let sample = |bytes, p50_ns, min_ns| Sample { bytes, pattern: "ping-pong", min_ns, p50_ns };
        let ours = vec![sample(8, 100.0, 90.0), sample(8, 300.0, 80.0), sample(8, 200.0, 95.0)];
        let theirs = vec![sample(8, 400.0, 320.0), sample(64, 1.0, 1.0)];
        let text = of(&[("ours", ours), ("mpich", theirs)]);
        let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|row| row.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["8", "ping-pong", "ours", "200.0", "80.0", "1.00", "1.00"]);
        assert_eq!(rows[1], ["8", "ping-pong", "mpich", "400.0", "320.0", "0.50", "0.25"]);
        assert_eq!(rows[2], ["64", "ping-pong", "mpich", "1.0", "1.0", "-", "-"]);
        assert!(text.lines().all(|line| line.len() == HEAD.len()), "{text}");
    }
}
