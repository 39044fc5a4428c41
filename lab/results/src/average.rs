//! Several numbers as one: means of ratios, and ranks on two numbers at once.

/// The geometric mean of what is positive; not a number of none.
pub fn geomean(ratios: impl IntoIterator<Item = f64>) -> f64 {
    let positive = ratios.into_iter().filter(|ratio| ratio.is_finite() && *ratio > 0.0);
    let (sum, count) = positive.fold((0.0, 0.0), |(sum, count), ratio| (sum + ratio.ln(), count + 1.0));
    (sum / count).exp()
}

/// Geometric mean and worst of some values of which more or less is better; `None` of none.
pub fn geomean_and_worst(values: &[f64], more_is_better: bool) -> Option<(f64, f64)> {
    let worse = if more_is_better { f64::min } else { f64::max };
    let worst = values.iter().copied().reduce(worse)?;
    Some(((values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp(), worst))
}

/// A ranking on two numbers at once, since a fast barrier is not an even one. The layer of each point: 1 if
/// no other is at least as good in both and better in one, 2 if only points of layer 1 are, and so on. Less
/// is better in both; what is not a number comes last.
pub fn layers(points: &[(f64, f64)]) -> Vec<u32> {
    let number = |value: f64| if value.is_nan() { f64::INFINITY } else { value };
    let points: Vec<(f64, f64)> = points.iter().map(|&(a, b)| (number(a), number(b))).collect();
    let better = |a: (f64, f64), b: (f64, f64)| a.0 <= b.0 && a.1 <= b.1 && a != b;
    let mut layers = vec![0; points.len()];
    for layer in 1..=points.len() as u32 {
        let open: Vec<usize> = (0..points.len()).filter(|&i| layers[i] == 0).collect();
        for &i in &open {
            if !open.iter().any(|&j| better(points[j], points[i])) {
                layers[i] = layer;
            }
        }
    }
    layers
}
