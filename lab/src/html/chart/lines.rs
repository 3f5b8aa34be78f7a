//! Lines over two axes, each linear or by powers of ten.

use maud::{Markup, html};

use super::{WIDTH, at};

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
            path.push_str(&format!("{letter}{:.1} {:.1}", across(*right), up(*high)));
        }
        path
    };
    html! {
        figure {
            figcaption { (title) " " span.unit { "(" (y.title) ")" } }
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(title) {
                @for (value, label) in &y.ticks {
                    path.grid d=(format!("M{LEFT} {0:.1}H{1}", up(*value), WIDTH - RIGHT)) {}
                    text x=(at(LEFT - 5.0)) y=(at(up(*value) + 4.0)) text-anchor="end" { (label) }
                }
                @for (value, label) in &x.ticks {
                    path.tick d=(format!("M{0:.1} {1}v4", across(*value), HEIGHT - BOTTOM)) {}
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
