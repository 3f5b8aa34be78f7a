//! The picture at the top of the page: each of our rows beside the best peer with the same guarantees, one pair for
//! each load. The longer bar of a pair has the full width. So one scale, the share of the better one, serves pairs of
//! millions and of thousands.

use maud::{Markup, html};

use super::Group;
use crate::peer_comparison::{Figure, Finding, Outcome, findings, promise, times};
use crate::report::grouped;
use crate::row::Row;

/// One pair of bars.
#[derive(Debug)]
pub(super) struct Pair<'a> {
    /// Id of the section with its rows.
    anchor: String,
    /// Scenario and step.
    title: String,
    /// Form of the load, where another pair has the same title.
    form: Option<String>,
    found: Finding<'a>,
    ours: f64,
    peer: f64,
    /// Other figures in which ours is worse in every pair of runs, in words.
    also_lost: Vec<String>,
}

impl<'a> Pair<'a> {
    /// Returns the pairs of the groups. Pairs in which ours loses come first, with the worst at the top.
    pub(super) fn all(groups: &'a [Group]) -> Vec<Pair<'a>> {
        let is_shared =
            |group: &Group| groups.iter().filter(|other| other.name() == group.name()).count() > 1;
        let of = |group| Pair::of(group, is_shared(group));
        let mut all: Vec<Pair<'a>> = groups.iter().flat_map(of).collect();
        // The sort is stable: the other pairs keep the order of the page.
        let key = |pair: &Pair<'_>| if pair.is_behind() { pair.times() } else { 1.0 };
        all.sort_by(|a, b| b.is_behind().cmp(&a.is_behind()).then(key(a).total_cmp(&key(b))));
        all
    }

    /// Returns one pair for each guarantee and kind of our rows: the server, and the fastest module.
    fn of(group: &'a Group, is_shared: bool) -> Vec<Pair<'a>> {
        let all = findings(&group.rows);
        let mut pairs: Vec<Pair<'a>> = Vec::new();
        for found in all.iter().filter(|one| one.figure == figure(one.ours)) {
            let Some((ours, peer)) = values(found) else { continue };
            let lost = |one: &&Finding<'_>| {
                std::ptr::eq(one.ours, found.ours)
                    && one.figure != found.figure
                    && one.outcome == Outcome::Loses
            };
            let also_lost = all.iter().filter(lost).map(also).collect();
            let (anchor, title) = (group.anchor.clone(), group.name());
            let form = is_shared.then(|| group.form());
            let pair = Pair { anchor, title, form, found: found.clone(), ours, peer, also_lost };
            match pairs.iter_mut().find(|other| other.kind() == pair.kind()) {
                Some(other) if other.times() < pair.times() => *other = pair,
                Some(_) => {}
                None => pairs.push(pair),
            }
        }
        pairs
    }

    /// Returns the kind of our row: server or module, and its guarantee.
    fn kind(&self) -> (bool, u32, &str) {
        let row = self.found.ours;
        (row.target.contains("+module"), row.replicas, promise(&row.durability))
    }

    /// Returns how many times better ours is, by the median over pairs of runs.
    fn times(&self) -> f64 {
        if self.found.figure == Figure::Throughput {
            self.found.median
        } else {
            1.0 / self.found.median
        }
    }

    pub(super) fn is_behind(&self) -> bool {
        self.found.is_behind()
    }

    /// Returns why the pair is not conclusive; None when the runs support it.
    fn doubt(&self) -> Option<String> {
        match &self.found.outcome {
            Outcome::Wins | Outcome::Loses => None,
            Outcome::Even => Some("even: pairs of runs disagree".to_owned()),
            Outcome::NoClaim(why) if why == "one run each" => Some("measured once".to_owned()),
            Outcome::NoClaim(why) => {
                let why = why.split(", more than").next().unwrap_or(why);
                Some(format!("no claim: {why}"))
            }
        }
    }

    fn times_in_words(&self) -> String {
        match self.times() {
            less if less < 0.995 => format!("{:.0} %", 100.0 * less),
            more => format!("{}\u{d7}", times(more)),
        }
    }

    fn figure_in_words(&self, value: f64) -> String {
        match self.found.figure {
            Figure::Throughput => unbroken(&format!("{}/s", grouped(value))),
            _ => unbroken(&format!("{value:.2} us CPU/op")),
        }
    }

    fn render(&self) -> Markup {
        let (ours, peer) = (&self.found.ours.target, &self.found.peer.target);
        let doubt = self.doubt();
        let mut classes = if self.is_behind() { "bar-ours lost" } else { "bar-ours" }.to_owned();
        if doubt.is_some() {
            classes.push_str(" doubt");
        }
        let (own, other) = self.lengths();
        html! {
            li {
                a href=(format!("#{}", self.anchor)) {
                    span.what {
                        (self.title)
                        span.promise {
                            (promise(&self.found.ours.durability))
                            @if let Some(form) = &self.form { ", " (form) }
                            @if let Some(rate) = self.found.ours.load.rate {
                                ", " (unbroken(&grouped(rate))) "/s by the clock"
                            }
                            @if let Some(doubt) = &doubt { ", " (doubt) }
                        }
                        @for lost in &self.also_lost { span.promise.lost { (lost) } }
                    }
                    span.times.lost[self.is_behind()] { (self.times_in_words()) }
                    span.track.own { span class=(classes) style=(format!("width:{own:.1}%")) {} }
                    span.figures.own { b { (ours) } " " (self.figure_in_words(self.ours)) }
                    span.track { span.bar-peer style=(format!("width:{other:.1}%")) {} }
                    span.figures { b { (peer) } " " (self.figure_in_words(self.peer)) }
                }
            }
        }
    }

    /// Returns the bar lengths in percent of the width; the better one has 100. The quotient is the median over pairs
    /// of runs, as in the printed figure.
    fn lengths(&self) -> (f64, f64) {
        let times = self.times();
        if times < 1.0 { (100.0 * times, 100.0) } else { (100.0, 100.0 / times) }
    }
}

/// Selects the figure that a pair shows: under a paced load throughput says nothing, so CPU.
fn figure(ours: &Row) -> Figure {
    if ours.load.rate.is_some() { Figure::Cpu } else { Figure::Throughput }
}

fn values(found: &Finding<'_>) -> Option<(f64, f64)> {
    let of = |row: &Row| match found.figure {
        Figure::Throughput => row.figures.business_ops_per_s,
        _ => row.figures.cpu_us_per_op,
    };
    Some((of(found.ours)?, of(found.peer)?))
}

fn also(lost: &Finding<'_>) -> String {
    format!(
        "loses {}: {}\u{d7} that of {}",
        lost.figure.name(),
        times(lost.median),
        lost.peer.target
    )
}

/// Replaces spaces so that a figure and its unit stay on one line.
fn unbroken(figure: &str) -> String {
    figure.replace(' ', "\u{a0}")
}

/// Renders the picture with its legend.
pub(super) fn render(pairs: &[Pair<'_>]) -> Markup {
    let behind = pairs.iter().filter(|pair| pair.is_behind()).count();
    html! {
        section.picture aria-labelledby="picture" {
            h2 id="picture" { "Scurry beside the best peer that promises the same" }
            @if pairs.is_empty() {
                p { "No row here has a peer that promises the same." }
            } @else {
                p.note {
                    "Longer is better. Scurry is behind in " (behind) " of " (pairs.len()) " rows"
                    @if behind > 0 { ", which come first" }
                    "."
                }
                ul.legend {
                    li { span.swatch.bar-ours {} "Scurry ahead" }
                    li { span.swatch.bar-ours.lost {} "Scurry behind" }
                    li { span.swatch.bar-peer {} "best peer" }
                    li { span.swatch.bar-ours.doubt {} "no claim, or once" }
                }
                ol.pairs { @for pair in pairs { (pair.render()) } }
                p.note {
                    "The ratio, which the bars show, is the median over pairs of runs with the same number. \
                    Where a clock sets the rate, it is of CPU per operation. A row leads to its figures."
                }
            }
        }
    }
}
