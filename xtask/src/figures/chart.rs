//! The chart of the comparisons: how many times better ours is, on a logarithmic scale. It has its own background and
//! follows the reader's light or dark setting.

use super::tables::Compared;
use std::fmt::Write;

/// Chart file, relative to the root of the repository.
pub(super) const FILE: &str = "docs/images/performance.svg";

const WIDTH: f64 = 800.0;
const ROW: f64 = 22.0;
const TOP: f64 = 40.0;
/// Left and right end of the scale.
const LEFT: f64 = 430.0;
const RIGHT: f64 = 730.0;

const STYLE: &str = "\
.g{fill:#fff;stroke:#d0d7de}text{font:12px system-ui,sans-serif;fill:#1f2328}.s{fill:#59636e}\
.w{fill:#0969da}.l{fill:#bc4c00}.n{fill-opacity:.4}.t{stroke:#d0d7de}.o,.r{stroke:#1f2328}\
@media(prefers-color-scheme:dark){.g{fill:#0d1117;stroke:#3d444d}text{fill:#f0f6fc}.s{fill:#9198a1}\
.w{fill:#4493f8}.l{fill:#db6d28}.t{stroke:#3d444d}.o,.r{stroke:#f0f6fc}}";

/// Draws the comparisons as one SVG.
pub(super) fn render(all: &[Compared]) -> String {
    let least = all.iter().map(|one| one.min).fold(1.0, f64::min).log2().floor();
    let most = all.iter().map(|one| one.max).fold(2.0, f64::max).log2().ceil();
    let x = |times: f64| LEFT + (times.log2() - least) / (most - least) * (RIGHT - LEFT);
    let height = TOP + ROW * all.len() as f64 + 34.0;
    let foot = height - 34.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH:.0} {height:.0}\" role=\"img\" \
         aria-label=\"How many times as good Scurry is\">\n<style>{STYLE}</style>\n\
         <rect class=\"g\" x=\".5\" y=\".5\" width=\"{:.0}\" height=\"{:.0}\" rx=\"6\"/>\n\
         <text x=\"12\" y=\"24\">How many times as good Scurry is (logarithmic; above 1 is better)</text>\n",
        WIDTH - 1.0,
        height - 1.0
    );
    let mut power = least;
    while power <= most {
        let (at, class) = (x(power.exp2()), if power == 0.0 { "o" } else { "t" });
        let _ = writeln!(
            svg,
            "<path class=\"{class}\" d=\"M{at:.1} {TOP}V{foot}\"/><text class=\"s\" x=\"{at:.1}\" y=\"{:.0}\" \
             text-anchor=\"middle\">{}</text>",
            foot + 14.0,
            power.exp2()
        );
        // Label every second power where the labels of a wide scale would touch.
        power += if most - least > 8.0 && power >= 0.0 { 2.0 } else { 1.0 };
    }
    for (index, one) in all.iter().enumerate() {
        let middle = TOP + ROW * (index as f64 + 0.5);
        let (from, to) = (x(one.times.min(1.0)), x(one.times.max(1.0)));
        let class = if one.times < 1.0 { "l" } else { "w" };
        let doubt = if one.doubt.is_empty() { "" } else { " n" };
        let label = format!("{} / {}", one.line.load, one.line.against).replace('`', "");
        let _ = writeln!(
            svg,
            "<text x=\"12\" y=\"{:.1}\">{label}</text><rect class=\"{class}{doubt}\" x=\"{from:.1}\" y=\"{:.1}\" \
             width=\"{:.1}\" height=\"12\"/><path class=\"r\" d=\"M{:.1} {middle:.1}H{:.1}\"/>\
             <text class=\"s\" x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{:.2}</text>",
            middle + 4.0,
            middle - 6.0,
            to - from,
            x(one.min),
            x(one.max),
            WIDTH - 12.0,
            middle + 4.0,
            one.times
        );
    }
    let _ = writeln!(
        svg,
        "<text class=\"s\" x=\"12\" y=\"{:.0}\">A line across a bar: least to greatest pair of runs. Pale: no claim.</text>\n</svg>",
        height - 8.0
    );
    svg
}
