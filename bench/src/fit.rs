//! A straight line through points of which some lie far above it: what a loop costs though interrupts fall into it.
//!
//! Disturbances only ever add, and Seidel & Davis 1992 §3.3 leave the disturbed trials out of the line of figure 3-10.

/// Points further above the line than so many median distances are left out.
const FAR: f64 = 4.0;
/// At most so many points have all their slopes looked at; of more, every so-manieth.
const MANY: usize = 400;

/// `(slope, intercept)` of `y = slope x + intercept`. At first the median of the slopes between all pairs (Theil 1950,
/// Sen 1968); then, without the points that lie far above that, the least squares.
///
/// Two different `x` are needed; otherwise the slope is 0, and the intercept the median.
pub fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let first = through_medians(points);
    let far = far(points, first);
    let near: Vec<_> = points.iter().copied().filter(|&point| above(point, first) <= far).collect();
    least_squares(&near).unwrap_or(first)
}

/// How far above a line a point may lie without being an outlier of these.
pub fn far(points: &[(f64, f64)], line: (f64, f64)) -> f64 {
    let size = points.iter().map(|point| point.1.abs()).fold(0.0, f64::max);
    (FAR * median(points.iter().map(|&point| above(point, line).abs()).collect())).max(1e-9 * size)
}

fn above((x, y): (f64, f64), (slope, intercept): (f64, f64)) -> f64 {
    y - (slope * x + intercept)
}

fn through_medians(points: &[(f64, f64)]) -> (f64, f64) {
    let few: Vec<_> = points.iter().step_by(points.len().div_ceil(MANY).max(1)).collect();
    let pairs = few.iter().enumerate().flat_map(|(i, a)| few[i + 1..].iter().map(move |b| (a, b)));
    let slope = median(pairs.filter(|(a, b)| a.0 != b.0).map(|(a, b)| (b.1 - a.1) / (b.0 - a.0)).collect());
    (slope, median(points.iter().map(|&(x, y)| y - slope * x).collect()))
}

/// `None` if all points have one `x`.
fn least_squares(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|point| (point.0 - x) * (point.0 - x)).sum();
    let common: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    (spread > 0.0).then(|| (common / spread, y - common / spread * x))
}

/// The median; 0 of nothing.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near((slope, intercept): (f64, f64), expected: (f64, f64), tolerance: f64) {
        assert!((slope - expected.0).abs() <= tolerance && (intercept - expected.1).abs() <= tolerance, "{slope} {intercept}");
    }

    #[test]
    fn an_exact_line_is_found() {
        let points: Vec<_> = (0..50).map(|k| (f64::from(k * 100), 0.126 * f64::from(k * 100) + 2.0)).collect();
        assert_near(line(&points), (0.126, 2.0), 1e-9);
    }

    #[test]
    fn interrupts_that_add_fifty_do_not_move_the_line() {
        let interrupted = |k: u32| if k.is_multiple_of(4) { 50.0 } else { 0.0 };
        let points: Vec<_> = (0..2_000).map(|k| (f64::from(k), 0.126 * f64::from(k) + 2.0 + interrupted(k))).collect();
        assert_near(line(&points), (0.126, 2.0), 1e-9);
    }

    #[test]
    fn small_errors_average_out() {
        let points: Vec<_> =
            (0..300u32).map(|k| (f64::from(k), 3.0 * f64::from(k) + 1.0 + f64::from(k * 7 % 11) / 10.0 - 0.5)).collect();
        assert_near(line(&points), (3.0, 1.0), 0.05);
    }

    #[test]
    fn without_two_places_there_is_no_slope() {
        assert_eq!(line(&[]), (0.0, 0.0));
        assert_eq!(line(&[(3.0, 7.0)]), (0.0, 7.0));
        assert_eq!(line(&[(3.0, 7.0), (3.0, 9.0), (3.0, 8.0)]), (0.0, 8.0));
    }
}
