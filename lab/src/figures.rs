//! Arithmetic of figures in one place, so that division by zero has one answer.

/// Returns `count` per second over `seconds`; 0 when no time has passed.
pub fn per(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

/// Returns `part` of `whole` in percent; 0 when `whole` is not positive.
pub fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { 100.0 * part / whole } else { 0.0 }
}

/// Rounds to this many decimals, so that JSON carries no false digits.
pub fn rounded(value: f64, decimals: i32) -> f64 {
    let scale = 10f64.powi(decimals);
    (value * scale).round() / scale
}

/// Returns the index of the median; with an even count the lower middle value, so that it is a measured one. `None` for
/// an empty slice.
pub fn median_index(values: &[f64]) -> Option<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    order.get(values.len().saturating_sub(1) / 2).copied()
}

/// Returns the value at [`median_index`].
pub fn median(values: &[f64]) -> Option<f64> {
    median_index(values).map(|index| values[index])
}

/// Returns the minimum and the maximum.
pub fn range(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (least, greatest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_divides_by_zero() {
        assert_eq!(
            (per(5, 0.0), percent(1.0, 0.0), per(5, 2.0), percent(1.0, 4.0)),
            (0.0, 0.0, 2.5, 25.0)
        );
    }

    #[test]
    fn the_median_is_one_of_the_values() {
        assert_eq!(median_index(&[]), None);
        assert_eq!(median_index(&[3.0, 1.0, 2.0]), Some(2));
        assert_eq!(median_index(&[4.0, 1.0]), Some(1));
        assert_eq!(range(&[3.0, 1.0, 2.0]), (1.0, 3.0));
    }
}
