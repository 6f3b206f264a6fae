//! Charts: data first (`kinds/`), then pictures (`drawing/`).
//!
//! Charts are data before they are pictures: a kind (`kinds/`) says what stands where in the units
//! of its axes, and knows no pixel; the drawing (`drawing/`) gives each part a place of its own,
//! measured in the bundled font, so that nothing covers anything; a test reads every picture back
//! and looks for what overlaps. Plotters draws shapes on whole pixels; PNGs are that SVG,
//! rasterised. Colours are roles (`ink.rs`): on light ground each has one of its own, by which a
//! style sheet finds it where the ground is dark. Of more requests than columns can be told apart
//! `turns` shows the worst of each column at its true figures, and what happened stands in lanes
//! below. Several strategies are panels on one scale.
//!
//! A chart as data: what stands where, in the units of its axes, before anybody thinks of pixels.

mod axis;
mod drawing;
mod ink;
mod kinds;

#[cfg(feature = "png")]
pub use drawing::{PngError, png};
pub use drawing::{Theme, page_style, svg};
pub use kinds::{
    UNDRAWN_STRATEGY, WINDOW_KINDS, breaks_chart, context_chart, cost_chart, daily_chart,
    dearest_session, gaps_chart, strategies_chart, turns_chart, waterfall_chart,
};

use axis::Axis;
use ink::Ink;

/// A chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// Of what, and how much of it: the figures that count, for those who cannot see it.
    pub subtitle: String,
    legend: Vec<LegendEntry>,
    /// From top to bottom.
    panels: Vec<Panel>,
    /// What has to be known to read it right.
    notes: Vec<String>,
}

/// What a colour stands for.
#[derive(Clone, Debug, PartialEq)]
struct LegendEntry {
    ink: Ink,
    label: String,
}

/// A part of a chart as wide as the chart.
#[derive(Clone, Debug, PartialEq)]
enum Panel {
    Plot(Plot),
    Bars(Bars),
    Lanes(Lanes),
    /// Why there is nothing to see.
    Nothing(String),
}

/// Two axes with what stands between them.
#[derive(Clone, Debug, PartialEq)]
struct Plot {
    /// What the upright axis measures.
    heading: String,
    /// In pixels, without the labels of the axis.
    height: u16,
    x: Axis,
    y: Axis,
    columns: Columns,
    lines: Vec<ValueLine>,
    /// Upright lines.
    rules: Vec<AxisRule>,
}

/// Stacked columns.
#[derive(Clone, Debug, Default, PartialEq)]
struct Columns {
    /// From the bottom to the top.
    inks: Vec<Ink>,
    /// From left to right.
    columns: Vec<Column>,
}

/// A column of a stack.
#[derive(Clone, Debug, PartialEq)]
struct Column {
    from: f64,
    to: f64,
    /// The heights of its parts, none of them negative.
    parts: Vec<f64>,
    /// What stands above it where there is room, or nothing.
    label: String,
}

/// A line, named where it ends.
#[derive(Clone, Debug, PartialEq)]
struct ValueLine {
    ink: Ink,
    label: String,
    /// Its last value, in words.
    value: String,
    points: Vec<(f64, f64)>,
}

/// A place on an axis that has a meaning.
#[derive(Clone, Debug, PartialEq)]
struct AxisRule {
    at: f64,
    label: String,
}

/// Bars that lie one below the other.
#[derive(Clone, Debug, PartialEq)]
struct Bars {
    heading: String,
    x: Axis,
    /// From top to bottom.
    rows: Vec<Bar>,
    rule: Option<AxisRule>,
}

/// A bar.
#[derive(Clone, Debug, PartialEq)]
struct Bar {
    label: String,
    /// Its figures, in words, after its end.
    value: String,
    /// Where it begins.
    from: f64,
    parts: Vec<(Ink, f64)>,
}

/// Marks below a plot, on its upper axis, in lanes with a name each.
#[derive(Clone, Debug, PartialEq)]
struct Lanes {
    x: Axis,
    lanes: Vec<Lane>,
}

/// Marks of one meaning.
#[derive(Clone, Debug, PartialEq)]
struct Lane {
    label: String,
    ink: Ink,
    marks: Vec<f64>,
}

impl Chart {
    fn new(title: impl Into<String>, subtitle: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            subtitle: subtitle.into(),
            legend: Vec::new(),
            panels: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// A chart that has nothing to show, and says why.
    fn without_data(title: &str, subtitle: &str, reason: &str) -> Self {
        let mut chart = Self::new(title, subtitle);
        chart.panels.push(Panel::Nothing(reason.to_owned()));
        chart
    }

    /// Adds what has to be known to read it right.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    fn explain(&mut self, ink: Ink, label: impl Into<String>) {
        self.legend.push(LegendEntry { ink, label: label.into() });
    }
}

impl Columns {
    /// What an axis has to reach: the height of the highest column, with room for its label.
    fn highest(&self) -> f64 {
        const LABEL_ROOM: f64 = 1.1;
        let highest = self.columns.iter().map(Column::height).fold(0.0, f64::max);
        let has_labels = self.columns.iter().any(|column| !column.label.is_empty());
        if has_labels { highest * LABEL_ROOM } else { highest }
    }
}

impl Column {
    fn height(&self) -> f64 {
        self.parts.iter().sum()
    }
}
