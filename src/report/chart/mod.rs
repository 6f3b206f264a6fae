//! Charts: first as data (`kinds/`), then as pictures (`drawing/`).
//!
//! A kind decides the places of things in the units of its axes, and knows no pixels. The drawing gives each part its
//! own place, measured in the bundled font, so that nothing overlaps. A test reads every picture back and looks for
//! overlaps. Plotters draws shapes on whole pixels, and PNGs are rasterised from that SVG. Colours are roles
//! (`ink.rs`): each has its own colour on a light background, by which a style sheet finds it on a dark one. If there
//! are more requests than distinguishable columns, `turns` shows the worst request of each column with its true
//! figures, and events are in lanes below. Several strategies are panels on one scale.

mod axis;
mod drawing;
mod ink;
mod kinds;

#[cfg(feature = "png")]
pub use drawing::{PngError, png};
pub use drawing::{Theme, page_style, svg};
pub use kinds::{
    UNDRAWN_STRATEGY, WINDOW_KINDS, breaks_chart, context_chart, cost_chart, daily_chart,
    dearest_session, gaps_chart, run_charts, strategies_chart, turns_chart, waterfall_chart,
};

use axis::Axis;
use ink::Ink;

/// A chart as data.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Title of the chart.
    pub title: String,
    /// Requests covered and the most important figures, for those who cannot see the chart.
    pub subtitle: String,
    legend: Vec<LegendEntry>,
    /// Panels from top to bottom.
    panels: Vec<Panel>,
    /// Facts that a correct reading needs.
    notes: Vec<String>,
}

/// Meaning of a colour.
#[derive(Clone, Debug, PartialEq)]
struct LegendEntry {
    ink: Ink,
    label: String,
}

/// Part of a chart, over its whole width.
#[derive(Clone, Debug, PartialEq)]
enum Panel {
    Plot(Plot),
    Bars(Bars),
    Lanes(Lanes),
    /// Panel without data, with the reason.
    Nothing(String),
}

/// Two axes, and the data between them.
#[derive(Clone, Debug, PartialEq)]
struct Plot {
    /// Quantity of the vertical axis.
    heading: String,
    /// Height in pixels, without the labels of the axis.
    height: u16,
    x: Axis,
    y: Axis,
    columns: Columns,
    lines: Vec<ValueLine>,
    /// Vertical lines.
    rules: Vec<AxisRule>,
}

/// Stacked columns.
#[derive(Clone, Debug, Default, PartialEq)]
struct Columns {
    /// Inks from bottom to top.
    inks: Vec<Ink>,
    /// Columns from left to right.
    columns: Vec<Column>,
}

/// A column of stacked parts.
#[derive(Clone, Debug, PartialEq)]
struct Column {
    from: f64,
    to: f64,
    /// Heights of the parts, none of them negative.
    parts: Vec<f64>,
    /// Text above the column if there is room. May be empty.
    label: String,
}

/// A line, with its name at its end.
#[derive(Clone, Debug, PartialEq)]
struct ValueLine {
    ink: Ink,
    label: String,
    /// Last value, in words.
    value: String,
    points: Vec<(f64, f64)>,
}

/// A position on an axis with a meaning.
#[derive(Clone, Debug, PartialEq)]
struct AxisRule {
    at: f64,
    label: String,
}

/// Bars below each other.
#[derive(Clone, Debug, PartialEq)]
struct Bars {
    heading: String,
    x: Axis,
    /// Bars from top to bottom.
    rows: Vec<Bar>,
    rule: Option<AxisRule>,
}

#[derive(Clone, Debug, PartialEq)]
struct Bar {
    /// Colour of what the bar is about in other charts, as a mark before the name.
    mark: Option<Ink>,
    label: String,
    /// Figures of the bar in words, after its end.
    value: String,
    /// Start of the bar on the axis.
    from: f64,
    parts: Vec<(Ink, f64)>,
}

/// Marks below a plot, on its horizontal axis, in named lanes.
#[derive(Clone, Debug, PartialEq)]
struct Lanes {
    x: Axis,
    lanes: Vec<Lane>,
}

/// Marks with one meaning.
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

    /// A chart without data, with the reason.
    fn without_data(title: &str, subtitle: &str, reason: &str) -> Self {
        let mut chart = Self::new(title, subtitle);
        chart.panels.push(Panel::Nothing(reason.to_owned()));
        chart
    }

    /// Adds a fact that a correct reading needs.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    fn explain(&mut self, ink: Ink, label: impl Into<String>) {
        self.legend.push(LegendEntry { ink, label: label.into() });
    }
}

impl Columns {
    /// Height that an axis must reach: that of the highest column, with room for its label.
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
