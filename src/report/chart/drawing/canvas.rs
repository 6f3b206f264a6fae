//! What is drawn with: shapes and text in inks, on plotters' SVG backend.

use plotters::coord::Shift;
use plotters::element::{Drawable, PathElement, PointCollection, Polygon, Rectangle};
use plotters::prelude::{DrawingArea, IntoDrawingArea, IntoFont, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, RGBColor, ShapeStyle, TextStyle};

use super::typeface::FAMILY;
use crate::report::chart::ink::{Ink, Rgb};

/// Plotters takes a size for the height of a line, and writes this part of it.
const LINE_HEIGHT: f64 = 1.24;

/// A pixel.
pub(super) type Place = (i32, i32);

/// Which way text goes from its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// An empty picture of a size, in which each ink has one colour.
pub(super) struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
    colour_of: fn(Ink) -> Rgb,
}

impl<'a> Canvas<'a> {
    pub(super) fn new(svg: &'a mut String, size: (u32, u32), colour_of: fn(Ink) -> Rgb) -> Self {
        let area = SVGBackend::with_string(svg, size).into_drawing_area();
        let canvas = Self { area, colour_of };
        let corner = |length: u32| i32::try_from(length).unwrap_or(i32::MAX);
        canvas.rectangle(Ink::Background, (0, 0), (corner(size.0), corner(size.1)));
        canvas
    }

    fn colour(&self, ink: Ink) -> RGBColor {
        let (red, green, blue) = (self.colour_of)(ink);
        RGBColor(red, green, blue)
    }

    /// # Panics
    /// Never: a string takes everything.
    fn draw<E>(&self, element: &E)
    where
        for<'b> &'b E: PointCollection<'b, Place>,
        E: Drawable<SVGBackend<'a>>,
    {
        self.area.draw(element).expect("a string takes everything");
    }

    /// A filled rectangle; one without width or height is not drawn.
    pub(super) fn rectangle(&self, ink: Ink, from: Place, to: Place) {
        if from.0 < to.0 && from.1 < to.1 {
            self.draw(&Rectangle::new([from, to], self.colour(ink).filled()));
        }
    }

    pub(super) fn polygon(&self, ink: Ink, corners: Vec<Place>) {
        self.draw(&Polygon::new(corners, self.colour(ink).filled()));
    }

    pub(super) fn line(&self, ink: Ink, width: u32, points: Vec<Place>) {
        let style =
            ShapeStyle { color: self.colour(ink).to_rgba(), filled: false, stroke_width: width };
        self.draw(&PathElement::new(points, style));
    }

    /// A line of text; `place` is in the middle of its height.
    ///
    /// # Panics
    /// Never: a string takes everything.
    pub(super) fn text(&self, ink: Ink, size: u8, anchor: Anchor, place: Place, text: &str) {
        let horizontal = match anchor {
            Anchor::Start => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::End => HPos::Right,
        };
        let size = f64::from(size) * LINE_HEIGHT;
        let font = FontDesc::new(FontFamily::Name(FAMILY), size, FontStyle::Normal).into_font();
        let colour = self.colour(ink);
        let style = TextStyle::from(font).color(&colour).pos(Pos::new(horizontal, VPos::Center));
        self.area.draw_text(text, &style, place).expect("a string takes everything");
    }

    /// # Panics
    /// Never: a string takes everything.
    pub(super) fn finish(self) {
        self.area.present().expect("a string takes everything");
    }
}
