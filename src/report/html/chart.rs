//! Charts that stand in the page.

/// A chart: an SVG without style attributes, which the page's policy would refuse.
#[derive(Clone, Debug)]
pub struct PageChart {
    /// Which chart, and so in which section it stands: `strategies`, `cost`, `breaks`, `gaps`,
    /// `daily`, `turns`, `context` or `waterfall`.
    pub id: &'static str,
    /// Its caption.
    pub title: String,
    /// The drawing, as it is inserted.
    pub svg: String,
}

/// The charts with one of some ids, in the order of the ids.
pub(super) fn charts_of<'a>(charts: &'a [PageChart], ids: &[&str]) -> Vec<&'a PageChart> {
    ids.iter().flat_map(|id| charts.iter().filter(move |chart| chart.id == *id)).collect()
}
