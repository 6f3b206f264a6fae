//! Drawing of charts: data to SVG to PNG.
//!
//! Everything is laid out in whole pixels with the metrics of the bundled font, so that a chart has the same bytes
//! everywhere. Shapes and text are drawn in inks, on plotters' SVG backend. The drawing then gets the styles and labels
//! for a reader's colours, fonts and screen reader.

mod bars;
mod frame;
mod lanes;
mod plot;
#[cfg(feature = "png")]
mod png;
mod typeface;

#[cfg(feature = "png")]
pub use png::{PngError, png};

use std::cell::RefCell;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plotters::coord::Shift;
use plotters::element::{Drawable, PathElement, PointCollection, Polygon, Rectangle};
use plotters::prelude::{DrawingArea, IntoDrawingArea, IntoFont, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, RGBColor, ShapeStyle, TextStyle};
use typeface::{FAMILY, LATIN_WOFF2, clean};

use crate::report::chart::Chart;
use crate::report::chart::ink::{Ink, Rgb};
use crate::report::{html_attribute, html_text};

/// Ratio of line height to font size: plotters takes the one and writes the other.
const LINE_HEIGHT: f64 = 1.24;

/// Position of a pixel.
type Place = (i32, i32);

/// Alignment of text to its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anchor {
    Start,
    Middle,
    End,
}

/// A picture in the making, with one colour for each ink.
struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
    colour_of: fn(Ink) -> Rgb,
    /// Elements drawn above all others: plotters has no tooltips.
    tooltips: RefCell<String>,
}

impl<'a> Canvas<'a> {
    fn new(svg: &'a mut String, size: (u32, u32), colour_of: fn(Ink) -> Rgb) -> Self {
        let area = SVGBackend::with_string(svg, size).into_drawing_area();
        let canvas = Self { area, colour_of, tooltips: RefCell::default() };
        let corner = |length: u32| i32::try_from(length).unwrap_or(i32::MAX);
        canvas.rectangle(Ink::Background, (0, 0), (corner(size.0), corner(size.1)));
        canvas
    }

    fn colour(&self, ink: Ink) -> RGBColor {
        let (red, green, blue) = (self.colour_of)(ink);
        RGBColor(red, green, blue)
    }

    /// # Panics
    /// Never: writing to a string cannot fail.
    fn draw<E>(&self, element: &E)
    where
        for<'b> &'b E: PointCollection<'b, Place>,
        E: Drawable<SVGBackend<'a>>,
    {
        self.area.draw(element).expect("a string takes everything");
    }

    /// A filled rectangle. Without width or height nothing is drawn.
    fn rectangle(&self, ink: Ink, from: Place, to: Place) {
        if from.0 < to.0 && from.1 < to.1 {
            self.draw(&Rectangle::new([from, to], self.colour(ink).filled()));
        }
    }

    fn polygon(&self, ink: Ink, corners: Vec<Place>) {
        self.draw(&Polygon::new(corners, self.colour(ink).filled()));
    }

    fn line(&self, ink: Ink, width: u32, points: Vec<Place>) {
        let style =
            ShapeStyle { color: self.colour(ink).to_rgba(), filled: false, stroke_width: width };
        self.draw(&PathElement::new(points, style));
    }

    /// Draws a line of text. `place` is at the middle of its height.
    ///
    /// # Panics
    /// Never: writing to a string cannot fail.
    fn text(&self, ink: Ink, size: u8, anchor: Anchor, place: Place, text: &str) {
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

    /// Gives an area words that a browser shows while the pointer is over it.
    fn tooltip(&self, from: Place, to: Place, words: &str) {
        let (width, height) = (to.0 - from.0, to.1 - from.1);
        if width > 0 && height > 0 && !words.is_empty() {
            // Writing to a string cannot fail.
            let _infallible = writeln!(
                self.tooltips.borrow_mut(),
                "<rect x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{height}\">\
                 <title>{}</title></rect>",
                from.0,
                from.1,
                html_text(words)
            );
        }
    }

    /// Ends the drawing, and returns the elements to add above it.
    ///
    /// # Panics
    /// Never: writing to a string cannot fail.
    fn finish(self) -> String {
        self.area.present().expect("a string takes everything");
        self.tooltips.into_inner()
    }
}

/// Attribute that marks a file as an SVG.
const NAMESPACE: &str = " xmlns=\"http://www.w3.org/2000/svg\"";

/// Background of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Preference of the reader.
    Auto,
    /// Light background.
    Light,
    /// Dark background.
    Dark,
    /// Background of the surrounding page, which includes [`page_style`].
    Page,
    /// The same, in the width of a telephone.
    NarrowPage,
}

/// Draws a chart.
pub fn svg(chart: &Chart, theme: Theme) -> String {
    let is_narrow = theme == Theme::NarrowPage;
    let is_in_page = theme == Theme::Page || is_narrow;
    let colour_of = if theme == Theme::Dark { Ink::on_dark } else { Ink::on_light };
    let drawn = frame::draw(chart, is_narrow, colour_of);
    let label = format!("{}. {}", clean(&chart.title), clean(&chart.subtitle));
    let mut head = String::new();
    if !is_in_page {
        // Fixed themes are drawn in their colours, and need only the font.
        let style = if theme == Theme::Auto { chart_style() } else { font_face() };
        head = format!("<style>{style}</style>\n");
    }
    let class = if is_narrow { "chart narrow" } else { "chart" };
    let label = html_attribute(&label);
    let opening = format!("<svg role=\"img\" aria-label=\"{label}\" class=\"{class}\" ");
    // The drawing is plotters' text: attributes are added to its first tag.
    let mut drawn = drawn.replacen("<svg ", &opening, 1);
    if is_in_page {
        // Inside HTML the namespace is implied.
        drawn = drawn.replacen(NAMESPACE, "", 1);
    }
    // The opening tag ends at the first line end.
    match drawn.split_once(">\n") {
        Some((tag, rest)) => format!("{tag}>\n{head}{rest}"),
        None => drawn,
    }
}

/// Style rules for a page that shows charts and draws others itself: the font of their layout, their colours on a dark
/// background, and the colours of the classes of tokens as variables.
pub fn page_style() -> String {
    let variables = |colour_of: fn(Ink) -> Rgb| {
        let inks = [
            ("read", Ink::Read),
            ("write5m", Ink::Written5m),
            ("write1h", Ink::Written1h),
            ("input", Ink::Input),
        ];
        let variable = |(name, ink)| format!("--{name}:{};", hexadecimal(colour_of(ink)));
        inks.into_iter().map(variable).collect::<String>()
    };
    let (light, dark) = (variables(Ink::on_light), variables(Ink::on_dark));
    let style = chart_style();
    format!(
        "{style}:root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
    )
}

/// Font of the charts' layout, and their colours on a dark background.
fn chart_style() -> String {
    let mut style = font_face();
    style.push_str("@media screen and (prefers-color-scheme:dark){");
    for ink in Ink::all() {
        let (light, dark) = (hexadecimal(ink.on_light()), hexadecimal(ink.on_dark()));
        for property in ["fill", "stroke"] {
            // Writing to a string cannot fail.
            let _infallible = write!(style, ".chart [{property}=\"{light}\"]{{{property}:{dark}}}");
        }
    }
    style.push('}');
    style
}

fn font_face() -> String {
    let font = STANDARD.encode(LATIN_WOFF2);
    format!(
        "@font-face{{font-family:{FAMILY};src:url(data:font/woff2;base64,{font})}}\
         .chart text{{font-family:{FAMILY},system-ui,sans-serif}}"
    )
}

/// Colour in the notation of the drawing.
fn hexadecimal((red, green, blue): Rgb) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}
