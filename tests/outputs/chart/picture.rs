//! A chart's SVG, read back: its texts with the boxes they fill, and its shapes.

use std::path::Path;

use roxmltree::{Document, Node};
use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

/// A rectangle of pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) left: f32,
    pub(super) top: f32,
    pub(super) right: f32,
    pub(super) bottom: f32,
}

impl Area {
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    pub(super) fn height(&self) -> f32 {
        self.bottom - self.top
    }
}

/// A line of text.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) words: String,
    pub(super) area: Area,
}

/// A filled shape.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) fill: String,
    pub(super) area: Area,
}

/// What is on a chart.
pub(super) struct Picture {
    pub(super) label: String,
    pub(super) width: f32,
    pub(super) height: f32,
    pub(super) texts: Vec<Text>,
    /// Everything but the ground.
    pub(super) shapes: Vec<Shape>,
    /// The polylines: their colours and points.
    pub(super) lines: Vec<(String, Vec<(f32, f32)>)>,
    /// The polygons, likewise.
    polygons: Vec<(String, Vec<(f32, f32)>)>,
}

/// The height of the letters of a line, above and below its middle, for its size.
const HALF_HEIGHT: f32 = 0.45;

pub(super) fn read(svg: &str) -> Picture {
    let document = Document::parse(svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
    let root = document.root_element();
    assert_eq!(root.attribute("role"), Some("img"));
    let bytes =
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("fonts/Inter-Regular.otf"));
    let bytes = bytes.expect("the font");
    let font = FontRef::new(&bytes).expect("a font");
    let named = |name: &'static str| {
        root.descendants()
            .filter(move |node| node.has_tag_name(("http://www.w3.org/2000/svg", name)))
    };
    // Areas with words under the pointer are not seen.
    let rectangles = named("rect").filter(|node| !node.has_children());
    let shapes = rectangles.map(rectangle).chain(named("polygon").map(polygon));
    Picture {
        label: root.attribute("aria-label").expect("a label").to_owned(),
        width: number(root, "width"),
        height: number(root, "height"),
        texts: named("text").map(|node| text(node, &font)).collect(),
        shapes: shapes.skip(1).collect(),
        lines: named("polyline")
            .map(|node| (node.attribute("stroke").unwrap_or("").to_owned(), points(node)))
            .collect(),
        polygons: named("polygon")
            .map(|node| (node.attribute("fill").unwrap_or("").to_owned(), points(node)))
            .collect(),
    }
}

fn number(node: Node<'_, '_>, name: &str) -> f32 {
    let value = node.attribute(name).unwrap_or_else(|| panic!("{name} of {node:?}"));
    value.parse().unwrap_or_else(|_| panic!("{name}: {value}"))
}

fn text(node: Node<'_, '_>, font: &FontRef<'_>) -> Text {
    let words = node.text().unwrap_or("").trim().to_owned();
    let size = number(node, "font-size");
    let metrics = font.glyph_metrics(Size::new(size), LocationRef::default());
    let width: f32 = words
        .chars()
        .map(|one| font.charmap().map(one).and_then(|glyph| metrics.advance_width(glyph)))
        .map(|width| width.unwrap_or(size))
        .sum();
    let (x, y) = (number(node, "x"), number(node, "y"));
    let left = match node.attribute("text-anchor") {
        Some("end") => x - width,
        Some("middle") => x - width / 2.0,
        _ => x,
    };
    let half = size * HALF_HEIGHT;
    Text { words, area: Area { left, top: y - half, right: left + width, bottom: y + half } }
}

fn rectangle(node: Node<'_, '_>) -> Shape {
    let (left, top) = (number(node, "x"), number(node, "y"));
    let (right, bottom) = (left + number(node, "width"), top + number(node, "height"));
    let fill = node.attribute("fill").unwrap_or("").to_owned();
    Shape { fill, area: Area { left, top, right, bottom } }
}

fn polygon(node: Node<'_, '_>) -> Shape {
    let points = points(node);
    let across = points.iter().map(|point| point.0);
    let down = points.iter().map(|point| point.1);
    let area = Area {
        left: across.clone().fold(f32::MAX, f32::min),
        right: across.fold(f32::MIN, f32::max),
        top: down.clone().fold(f32::MAX, f32::min),
        bottom: down.fold(f32::MIN, f32::max),
    };
    Shape { fill: node.attribute("fill").unwrap_or("").to_owned(), area }
}

fn points(node: Node<'_, '_>) -> Vec<(f32, f32)> {
    let pairs = node.attribute("points").unwrap_or("").split_whitespace();
    let pair = |pair: &str| {
        let (x, y) = pair.split_once(',').expect("two numbers");
        (x.parse().expect("a number"), y.parse().expect("a number"))
    };
    pairs.map(pair).collect()
}

impl Picture {
    /// What no picture may have: text outside of it, on other text or on data, and shapes outside.
    pub(super) fn assert_readable(&self, what: &str) {
        let whole = Area { left: 0.0, top: 0.0, right: self.width, bottom: self.height };
        let is_inside = |area: &Area| {
            area.left >= whole.left
                && area.right <= whole.right
                && area.top >= whole.top
                && area.bottom <= whole.bottom
        };
        for (place, text) in self.texts.iter().enumerate() {
            assert!(is_inside(&text.area), "{what}: {text:?} is cut off");
            for other in &self.texts[..place] {
                assert!(!text.area.overlaps(&other.area), "{what}: {text:?} on {other:?}");
            }
            for shape in &self.shapes {
                assert!(!text.area.overlaps(&shape.area), "{what}: {text:?} on {shape:?}");
            }
        }
        for shape in &self.shapes {
            assert!(is_inside(&shape.area), "{what}: {shape:?} is cut off");
        }
    }

    pub(super) fn has_text(&self, words: &str) -> bool {
        self.texts.iter().any(|text| text.words.contains(words))
    }

    /// The shapes of a colour, from left to right.
    pub(super) fn filled(&self, fill: &str) -> Vec<Area> {
        let mut areas: Vec<Area> =
            self.shapes.iter().filter(|one| one.fill == fill).map(|one| one.area).collect();
        areas.sort_by(|one, other| one.left.total_cmp(&other.left));
        areas
    }

    /// The corners of the polygons of a colour.
    pub(super) fn points_of(&self, fill: &str) -> Vec<(f32, f32)> {
        let of_colour = self.polygons.iter().filter(|(colour, _)| colour == fill);
        of_colour.flat_map(|(_, points)| points.iter().copied()).collect()
    }

    /// Where the middle of a text stands, by its words.
    pub(super) fn middle_of(&self, words: &str) -> (f32, f32) {
        let text = self.texts.iter().find(|text| text.words == words);
        let area = text.unwrap_or_else(|| panic!("{words} is not there")).area;
        (f32::midpoint(area.left, area.right), f32::midpoint(area.top, area.bottom))
    }
}
