//! Charts as inline SVG: bars with whiskers, and lines. Colours and fonts come from the page's
//! style, so that light, dark and print need one picture. All are 420 units wide, which a phone
//! shows at three quarters.

mod bars;
mod lines;
mod scale;

pub(super) use bars::{Bar, bars};
pub(super) use lines::{Axis, Line, lines};
pub(super) use scale::{brief, decades, even};

/// Units of every chart's width.
const WIDTH: f64 = 420.0;

/// A coordinate with one decimal.
fn at(value: f64) -> String {
    format!("{value:.1}")
}
