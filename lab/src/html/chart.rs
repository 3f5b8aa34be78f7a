//! Charts as inline SVG: bars with whiskers, and lines. Colours and fonts come from the page's
//! style, so that light, dark and print need one picture. All are 420 units wide, which a phone
//! shows at three quarters.

use maud::{Markup, html};

/// One bar.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    /// Before the bar.
    pub(crate) name: String,
    /// Length of the bar.
    pub(crate) value: f64,
    /// The figure in words.
    pub(crate) label: String,
    /// The least and the greatest run.
    pub(crate) spread: Option<(f64, f64)>,
    /// One of the style's classes.
    pub(crate) class: &'static str,
}

const STEP: f64 = 36.0;
const THICK: f64 = 14.0;

/// The bars from the top.
pub(crate) fn bars(title: &str, unit: &str, bars: &[Bar]) -> Markup {
    let most = bars.iter().map(|bar| bar.spread.map_or(bar.value, |s| s.1.max(bar.value)));
    let most = most.fold(0.0, f64::max);
    let length = |value: f64| if most > 0.0 { (value / most * WIDTH).max(1.0) } else { 1.0 };
    let height = STEP * bars.len() as f64 + 4.0;
    html! {
        figure {
            figcaption { (title) " " span.unit { "(" (unit) ")" } }
            svg viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-label=(title) {
                @for (index, bar) in bars.iter().enumerate() {
                    @let top = STEP * index as f64;
                    @let middle = top + 17.0 + THICK / 2.0;
                    text y=(at(top + 12.0)) { (bar.name) }
                    text.figure x=(WIDTH) y=(at(top + 12.0)) { (bar.label) }
                    rect.bar.(bar.class) y=(at(top + 17.0)) rx="2" width=(at(length(bar.value)))
                        height=(at(THICK)) {}
                    @if let Some((least, greatest)) = bar.spread {
                        path.whisker d=(whisker(length(least), length(greatest), middle)) {}
                    }
                }
            }
        }
    }
}

fn whisker(from: f64, to: f64, y: f64) -> String {
    let (from, to, y, top, bottom) = (at(from), at(to), at(y), at(y - 4.0), at(y + 4.0));
    format!("M{from} {top}V{bottom}M{from} {y}H{to}M{to} {top}V{bottom}")
}

/// One axis: its ticks say where it begins and ends.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// Title with the unit.
    pub(crate) title: &'static str,
    /// Where the ticks are, and what they say.
    pub(crate) ticks: Vec<(f64, String)>,
    /// By powers of ten.
    pub(crate) is_log: bool,
}

/// One line.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Index of a colour of the style.
    pub(crate) colour: usize,
    /// Points of the line, from the left.
    pub(crate) points: Vec<(f64, f64)>,
    /// Text that a pointer over the line shows.
    pub(crate) name: String,
}

const HEIGHT: f64 = 250.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 22.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 38.0;

impl Axis {
    /// How far along a value is, 0 to 1.
    fn share(&self, value: f64) -> f64 {
        let scaled = |value: f64| if self.is_log { value.max(1e-9).log10() } else { value };
        let ends = (self.ticks.first(), self.ticks.last());
        let (Some((first, _)), Some((last, _))) = ends else { return 0.0 };
        let (first, last) = (scaled(*first), scaled(*last));
        if last > first { ((scaled(value) - first) / (last - first)).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// The lines over their axes.
pub(crate) fn lines(title: &str, x: &Axis, y: &Axis, all: &[Line]) -> Markup {
    let across = |value: f64| LEFT + x.share(value) * (WIDTH - LEFT - RIGHT);
    let up = |value: f64| HEIGHT - BOTTOM - y.share(value) * (HEIGHT - BOTTOM - TOP);
    let path = |points: &[(f64, f64)]| {
        let mut path = String::new();
        for (index, (right, high)) in points.iter().enumerate() {
            let letter = if index == 0 { 'M' } else { 'L' };
            path.push_str(&format!("{letter}{} {}", at(across(*right)), at(up(*high))));
        }
        path
    };
    html! {
        figure {
            figcaption { (title) " " span.unit { "(" (y.title) ")" } }
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(title) {
                @for (value, label) in &y.ticks {
                    path.grid d=(format!("M{LEFT} {}H{}", at(up(*value)), WIDTH - RIGHT)) {}
                    text x=(at(LEFT - 5.0)) y=(at(up(*value) + 4.0)) text-anchor="end" { (label) }
                }
                @for (value, label) in &x.ticks {
                    path.tick d=(format!("M{} {}v4", at(across(*value)), HEIGHT - BOTTOM)) {}
                    text x=(at(across(*value))) y=(at(HEIGHT - BOTTOM + 17.0)) text-anchor="middle" {
                        (label)
                    }
                }
                path.axis d=(format!("M{LEFT} {0}H{1}", HEIGHT - BOTTOM, WIDTH - RIGHT)) {}
                text x=(at((LEFT + WIDTH - RIGHT) / 2.0)) y=(at(HEIGHT - 4.0)) text-anchor="middle" {
                    (x.title)
                }
                // The last is on top: the first of a legend counts most.
                @for line in all.iter().rev() {
                    path class=(format!("line c{}", line.colour)) d=(path(&line.points)) {
                        title { (line.name) }
                    }
                }
            }
        }
    }
}

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

/// Units of every chart's width.
const WIDTH: f64 = 420.0;

/// A coordinate with one decimal.
/// Tenths of a unit, written only where there are some: a page has tens of thousands of these.
fn at(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
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
