//! A chart as data: what stands where, in the units of its axes, before anybody thinks of pixels.

use super::axis::Axis;
use super::ink::Ink;

/// A chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// Of what, and how much of it: the figures that count, for those who cannot see it.
    pub subtitle: String,
    pub(super) legend: Vec<LegendEntry>,
    /// From top to bottom.
    pub(super) panels: Vec<Panel>,
    /// What has to be known to read it right.
    pub(super) notes: Vec<String>,
}

/// What a colour stands for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LegendEntry {
    pub(super) ink: Ink,
    pub(super) label: String,
}

/// A part of a chart as wide as the chart.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Panel {
    Plot(Plot),
    Bars(Bars),
    Lanes(Lanes),
    /// Why there is nothing to see.
    Nothing(String),
}

/// Two axes with what stands between them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plot {
    /// What the upright axis measures.
    pub(super) heading: String,
    /// In pixels, without the labels of the axis.
    pub(super) height: u16,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) columns: Columns,
    pub(super) lines: Vec<Line>,
    /// Upright lines.
    pub(super) rules: Vec<Rule>,
}

/// Stacked columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Columns {
    /// From the bottom to the top.
    pub(super) inks: Vec<Ink>,
    /// From left to right.
    pub(super) columns: Vec<Column>,
}

/// A column of a stack.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) from: f64,
    pub(super) to: f64,
    /// The heights of its parts, none of them negative.
    pub(super) parts: Vec<f64>,
    /// What stands above it where there is room, or nothing.
    pub(super) label: String,
}

/// A line, named where it ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) ink: Ink,
    pub(super) label: String,
    /// Its last value, in words.
    pub(super) value: String,
    pub(super) points: Vec<(f64, f64)>,
}

/// A place on an axis that has a meaning.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rule {
    pub(super) at: f64,
    pub(super) label: String,
}

/// Bars that lie one below the other.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bars {
    pub(super) heading: String,
    pub(super) x: Axis,
    /// From top to bottom.
    pub(super) rows: Vec<Bar>,
    pub(super) rule: Option<Rule>,
}

/// A bar.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bar {
    pub(super) label: String,
    /// Its figures, in words, after its end.
    pub(super) value: String,
    /// Where it begins.
    pub(super) from: f64,
    pub(super) parts: Vec<(Ink, f64)>,
}

/// Marks below a plot, on its upper axis, in lanes with a name each.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lanes {
    pub(super) x: Axis,
    pub(super) lanes: Vec<Lane>,
}

/// Marks of one meaning.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lane {
    pub(super) label: String,
    pub(super) ink: Ink,
    pub(super) marks: Vec<f64>,
}

impl Chart {
    pub(super) fn new(title: impl Into<String>, subtitle: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            subtitle: subtitle.into(),
            legend: Vec::new(),
            panels: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// A chart that has nothing to show, and says why.
    pub(super) fn without_data(title: &str, subtitle: &str, reason: &str) -> Self {
        let mut chart = Self::new(title, subtitle);
        chart.panels.push(Panel::Nothing(reason.to_owned()));
        chart
    }

    /// Adds what has to be known to read it right.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    pub(super) fn explain(&mut self, ink: Ink, label: impl Into<String>) {
        self.legend.push(LegendEntry { ink, label: label.into() });
    }
}

impl Columns {
    /// What an axis has to reach: the height of the highest column, with room for its label.
    pub(super) fn highest(&self) -> f64 {
        const LABEL_ROOM: f64 = 1.1;
        let highest = self.columns.iter().map(Column::height).fold(0.0, f64::max);
        let has_labels = self.columns.iter().any(|column| !column.label.is_empty());
        if has_labels { highest * LABEL_ROOM } else { highest }
    }
}

impl Column {
    pub(super) fn height(&self) -> f64 {
        self.parts.iter().sum()
    }
}
