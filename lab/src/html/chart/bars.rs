//! Horizontal bars: the name and the figure above each, and a whisker from the least to the
//! greatest run.

use maud::{Markup, html};

use super::{WIDTH, at};

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
                    text x="0" y=(at(top + 12.0)) { (bar.name) }
                    text.figure x=(WIDTH) y=(at(top + 12.0)) text-anchor="end" { (bar.label) }
                    rect.bar.(bar.class) x="0" y=(at(top + 17.0)) rx="2" width=(at(length(bar.value)))
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
    let (top, bottom) = (y - 4.0, y + 4.0);
    format!("M{from:.1} {top:.1}V{bottom:.1}M{from:.1} {y:.1}H{to:.1}M{to:.1} {top:.1}V{bottom:.1}")
}
