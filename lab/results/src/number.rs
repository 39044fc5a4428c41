//! Numbers to read: enough digits for small values, few for large ones, and never an exponent.

/// `value` with `significant` significant digits; whole numbers keep all of theirs.
pub fn digits(value: f64, significant: i32) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    let size = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    let decimals = (significant - 1 - size).clamp(0, 12) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// `value` rounded to `significant` significant digits: the rest is chance, and chance does not compress.
pub fn rounded(value: f64, significant: usize) -> f64 {
    format!("{value:.*e}", significant - 1).parse().unwrap_or(value)
}

/// Three digits and a thousands suffix: `95.5k`.
pub fn short(value: f64) -> String {
    let scales = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
    let scale = scales.into_iter().find(|&(scale, _)| value.abs() >= scale * 0.9995);
    scale.map_or_else(|| digits(value, 3), |(scale, suffix)| digits(value / scale, 3) + suffix)
}

/// Nanoseconds of a unit of time; `None` for other units.
pub fn nanoseconds(unit: &str) -> Option<f64> {
    [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)].into_iter().find_map(|(name, ns)| (name == unit).then_some(ns))
}

/// A number with its unit: times in the unit that suits their size, others with a thousands suffix.
pub fn quantity(value: f64, unit: &str) -> String {
    if let Some(ns) = nanoseconds(unit) {
        let ns = ns * value;
        let (scale, name) = match ns.abs() {
            n if n >= 0.9995e9 => (1e9, "s"),
            n if n >= 0.9995e6 => (1e6, "ms"),
            n if n >= 0.9995e3 => (1e3, "us"),
            _ => (1.0, "ns"),
        };
        return format!("{} {name}", digits(ns / scale, 3));
    }
    format!("{} {unit}", short(value)).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_keep_their_digits_and_large_ones_are_short() {
        let shown = [0.001_234_56, 0.0, 508.0, 1234.567, 9_634_260.0, f64::NAN].map(|v| digits(v, 4));
        assert_eq!(shown, ["0.001235", "0", "508", "1235", "9634260", "-"]);
        let shown = [0.0123, 0.5, 508.0, 999.7, 95_481.0, 9_634_260.0, -2e9].map(short);
        assert_eq!(shown, ["0.0123", "0.5", "508", "1k", "95.5k", "9.63M", "-2G"]);
    }

    #[test]
    fn rounding_keeps_the_leading_digits() {
        let rounded = [1_234_567_891.0, 0.000_123_456_789_1, -2.0 / 3.0, 0.0].map(|v| rounded(v, 6));
        assert_eq!(rounded, [1_234_570_000.0, 0.000_123_457, -0.666_667, 0.0]);
    }

    #[test]
    fn times_are_shown_in_the_unit_that_suits_them() {
        assert_eq!(quantity(0.00022, "ms"), "220 ns");
        assert_eq!(quantity(1250.0, "ns"), "1.25 us");
        assert_eq!(quantity(64_000.0, "us"), "64 ms");
        assert_eq!(quantity(95_481.0, "cycles"), "95.5k cycles");
        assert_eq!(quantity(0.94, ""), "0.94");
    }
}
