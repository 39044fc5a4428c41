//! How certain a mean is.

/// The 97.5 % quantiles of Student's t with 1, 2, .. 30 degrees of freedom.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110,
    2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// Mean, lower and upper end; of a single value these are the value itself, since it says nothing about its
/// noise.
pub fn interval_of_mean(values: &[f64]) -> [f64; 3] {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let freedom = values.len().saturating_sub(1);
    if freedom == 0 {
        return [mean; 3];
    }
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / freedom as f64;
    // Beyond the table the quantile is within a thousandth of this.
    let quantile = STUDENT.get(freedom - 1).copied().unwrap_or(1.96 + 2.45 / freedom as f64);
    let half = quantile * (variance / n).sqrt();
    [mean, mean - half, mean + half]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_student() {
        let near =
            |got: [f64; 3], expected: [f64; 3]| got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 1e-3);
        assert!(near(interval_of_mean(&[1.0, 2.0, 3.0]), [2.0, 2.0 - 4.303 / 3.0_f64.sqrt(), 2.0 + 4.303 / 3.0_f64.sqrt()]));
        assert!(near(interval_of_mean(&[5.0; 12]), [5.0; 3]), "seeds that agree leave no doubt");
        assert!(near(interval_of_mean(&[4.0]), [4.0; 3]));
        // 41 values of variance 1: t with 40 degrees is 2.021.
        let many: Vec<f64> = (0..41).map(|i| if i == 40 { 0.0 } else { f64::from(i % 2 * 2 - 1) }).collect();
        let half = 2.021 / 41.0_f64.sqrt();
        assert!((interval_of_mean(&many)[2] - half).abs() < 1e-3, "{:?}", interval_of_mean(&many));
    }
}
