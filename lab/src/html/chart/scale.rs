//! Ticks of axes, and numbers as short as a tick needs.

/// Ticks from zero to at least `most`, at 1, 2 or 5 times a power of ten.
pub(crate) fn even(most: f64) -> Vec<f64> {
    if most <= 0.0 || !most.is_finite() {
        return vec![0.0, 1.0];
    }
    let rough = most / 4.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|times| times * power);
    let step = step.into_iter().find(|step| *step >= rough).unwrap_or(10.0 * power);
    let mut ticks = vec![0.0];
    while ticks.last().is_some_and(|last| *last < most) {
        ticks.push(ticks.len() as f64 * step);
    }
    ticks
}

/// Powers of ten from at most `least` to at least `most`; both above zero.
pub(crate) fn decades(least: f64, most: f64) -> Vec<f64> {
    let power = |value: f64| value.max(1e-3).log10();
    let mut ticks = vec![10f64.powf(power(least).floor())];
    while ticks.len() < 12 && ticks.last().is_some_and(|last| *last < most * 0.999) {
        ticks.push(ticks[ticks.len() - 1] * 10.0);
    }
    if ticks.len() == 1 {
        ticks.push(ticks[0] * 10.0);
    }
    ticks
}

/// 1 234 567 as 1.2M, 1 500 as 1.5k.
pub(crate) fn brief(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        size if size >= 999_500.0 => (value / 1e6, "M"),
        size if size >= 999.5 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    // Three digits that count.
    let digits = match scaled.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{scaled:.digits$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_cover_what_is_shown() {
        assert_eq!(even(7.0), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(even(100.0), [0.0, 50.0, 100.0]);
        assert_eq!(even(0.0), [0.0, 1.0]);
        assert_eq!(decades(30.0, 4_000.0).len(), 4);
        assert_eq!(decades(5.0, 5.0).len(), 2);
    }

    #[test]
    fn numbers_are_brief() {
        let found = [0.0, 0.25, 3.5, 950.0, 1_500.0, 86_187.0, 999_900.0, 3_081_776.0].map(brief);
        assert_eq!(found, ["0", "0.25", "3.5", "950", "1.5k", "86.2k", "1M", "3.08M"]);
    }
}
