//! A ranking on two numbers at once, since a fast barrier is not an even one.

/// The layer of each point: 1 if no other is at least as good in both and better in one, 2 if only points of layer 1 are, and
/// so on. Less is better in both; what is not a number comes last.
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

#[cfg(test)]
mod tests {
    use super::layers;

    #[test]
    fn who_is_best_in_something_is_in_front() {
        let points = [(1.0, 9.0), (9.0, 1.0), (5.0, 5.0), (6.0, 6.0), (9.0, 9.0), (1.0, 9.0)];
        assert_eq!(layers(&points), [1, 1, 1, 2, 3, 1]);
        assert!(layers(&[]).is_empty());
        assert_eq!(layers(&[(f64::NAN, 1.0), (2.0, 1.0)]), [2, 1]);
    }
}
