//! `chart`: every kind over every fixture, its figures, its bytes, and what it refuses.

mod picture;

use std::fs;
use std::path::{Path, PathBuf};

use resvg::tiny_skia::Pixmap;
use serde_json::{Value, json};

use crate::common::{
    cachesim, fixtures, is_thorough, ledger, project, run, shared, stdout, text, transcripts,
};
use picture::{Area, Picture, read};

const KINDS: [&str; 8] =
    ["turns", "cost", "gaps", "strategies", "breaks", "context", "daily", "waterfall"];

/// The colours of the classes of tokens on light ground.
const READ: &str = "#8CB9E8";
const WRITTEN_5M: &str = "#F0A33C";
const WRITTEN_1H: &str = "#C2410C";

fn svg(kind: &str, path: &Path, more: &[&str]) -> String {
    let path = path.to_str().expect("a plain path");
    stdout(&[&["chart", kind, path, "-q"], more].concat())
}

fn chart(kind: &str, path: &Path, more: &[&str]) -> Picture {
    read(&svg(kind, path, more))
}

fn first_look() -> PathBuf {
    project("fixtures/first-look")
}

/// An answer of an invented session.
struct Answer<'a> {
    session: &'a str,
    number: usize,
    at: jiff::Timestamp,
    model: &'a str,
    /// Read, written for an hour, sent in full.
    prompt: (u64, u64, u64),
}

impl Answer<'_> {
    fn line(&self) -> Value {
        let (read, written, input) = self.prompt;
        let before = self.number.checked_sub(1).map(|before| format!("{}-{before}", self.session));
        json!({
            "type": "assistant", "uuid": format!("{}-{}", self.session, self.number),
            "parentUuid": before, "sessionId": self.session, "requestId": format!("r{}", self.number),
            "timestamp": self.at.to_string(),
            "message": {
                "id": format!("{}-m{}", self.session, self.number), "model": self.model,
                "stop_reason": "end_turn", "content": [{"type": "text", "text": "x"}],
                "usage": {
                    "input_tokens": input, "cache_read_input_tokens": read,
                    "cache_creation_input_tokens": written, "output_tokens": 10,
                    "cache_creation": {
                        "ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": written,
                    },
                },
            },
        })
    }
}

/// A session of so many turns, seconds apart, that loses its cache each hundred turns.
fn long_session(folder: &Path, turns: usize) -> PathBuf {
    let began: jiff::Timestamp = "2026-08-03T10:00:00Z".parse().expect("a moment");
    let mut end = 20_000_u64;
    let lines: Vec<String> = (0..turns)
        .map(|number| {
            let is_lost = number % 100 == 99;
            let read = if number == 0 {
                0
            } else if is_lost {
                16_000
            } else {
                end
            };
            end = if end > 180_000 { 30_000 } else { end + 300 };
            let seconds = i64::try_from(number * 20).expect("a few days");
            let at = began + jiff::SignedDuration::from_secs(seconds);
            let prompt = (read.min(end), end.saturating_sub(read), 3);
            let (session, model) = ("long", "claude-opus-5");
            Answer { session, number, at, model, prompt }.line().to_string()
        })
        .collect();
    let path = folder.join("long.jsonl");
    fs::write(&path, lines.join("\n")).expect("a file");
    path
}

fn write_session(folder: &Path, answers: &[Answer<'_>]) -> PathBuf {
    let lines: Vec<String> = answers.iter().map(|answer| answer.line().to_string()).collect();
    let path = folder.join("session.jsonl");
    fs::write(&path, lines.join("\n")).expect("a file");
    path
}

fn temporary() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn no_chart_of_any_fixture_covers_or_cuts_anything() {
    if !is_thorough() {
        return;
    }
    let mut folders = fixtures();
    folders.push(project("fixtures"));
    for folder in folders {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or("").to_owned();
        for kind in KINDS {
            let output = run(&["chart", kind, folder.to_str().expect("a plain path"), "-q"]);
            // Some fixtures hold nothing that is read without more options.
            if output.status.code() == Some(3) {
                continue;
            }
            assert!(output.status.success(), "{kind} of {name}: {}", text(&output.stderr));
            let svg = text(&output.stdout);
            read(&svg).assert_readable(&format!("{kind} of {name}"));
        }
    }
}

#[test]
fn no_chart_of_five_thousand_turns_or_of_the_largest_real_session_does() {
    let folder = temporary();
    let mut paths = vec![long_session(folder.path(), 5_000)];
    paths.extend(shared("corpus/entireio__git-sync/0c/2a854b8908/0/full.jsonl"));
    paths.extend(shared("corpus"));
    for path in paths {
        for kind in KINDS {
            let svg = svg(kind, &path, &[]);
            read(&svg).assert_readable(&format!("{kind} of {}", path.display()));
            // A third of it is tooltips.
            assert!(svg.len() < 180_000, "{kind} of {}: {} bytes", path.display(), svg.len());
        }
    }
}

/// The columns' heights in pixels, turned into tokens by two labels of the axis, are the tokens of the
/// ledger.
#[test]
fn columns_are_as_high_as_the_tokens_of_their_requests() {
    let picture = chart("turns", &first_look(), &[]);
    let (_, zero) = picture.middle_of("0");
    let (_, ten) = picture.middle_of("10k");
    let tokens_per_pixel = 10_000.0 / (zero - ten);
    let rows = ledger(&first_look(), &["--strategy", "billed"]);
    assert_eq!(rows.len(), 6);
    let count = |row: &Value, name: &str| {
        #[allow(clippy::cast_precision_loss)] // a few thousand tokens
        let tokens = row[name].as_u64().expect("tokens") as f32;
        tokens
    };
    for (colour, class) in
        [(READ, "cache_read_input_tokens"), (WRITTEN_1H, "ephemeral_1h_input_tokens")]
    {
        // The square of the legend stands right of the columns.
        let areas = picture.filled(colour);
        assert_eq!(areas.len(), 7, "{class}");
        for (area, row) in areas.iter().zip(&rows) {
            let shown = area.height() * tokens_per_pixel;
            assert!((shown - count(row, class)).abs() < 2.0 * tokens_per_pixel, "{class}: {shown}");
        }
    }
    assert!(picture.filled(WRITTEN_5M).is_empty(), "nothing was written for five minutes");
    // Both breaks have a lane with their cause and what they cost (README: $0.1340 and $0.1197).
    assert!(picture.has_text("1 break, $0.1340: an entry for an hour expired"));
    assert!(picture.has_text("1 break, $0.1197: the service dropped the entry"));
    // The square of the legend is no mark.
    let is_mark = |area: &Area| area.height() > 12.0;
    let marks: Vec<Area> = picture.filled("#8E1550").into_iter().filter(is_mark).collect();
    let column = picture.filled(READ)[4];
    assert_eq!(marks.len(), 1);
    assert!(marks[0].left > column.left && marks[0].right < column.right, "below the fifth");
}

#[test]
fn columns_say_the_tokens_of_their_requests() {
    let picture = svg("turns", &first_look(), &[]);
    let titles = picture.split("<title>").skip(1).filter_map(|rest| rest.split_once("</title>"));
    let titles: Vec<String> = titles.map(|(words, _)| words.replace(',', "")).collect();
    let rows = ledger(&first_look(), &["--strategy", "billed"]);
    let classes = [
        ("cache_read_input_tokens", "read from cache"),
        ("ephemeral_5m_input_tokens", "written for 5 min"),
        ("ephemeral_1h_input_tokens", "written for 1 h"),
        ("input_tokens", "sent in full"),
    ];
    let expected = rows.iter().zip(1..).map(|(row, number)| {
        let parts = classes.iter().map(|(key, name)| (row[key].as_u64().expect("tokens"), name));
        let parts = parts.filter(|(tokens, _)| *tokens > 0);
        let parts: Vec<String> = parts.map(|(tokens, name)| format!("{tokens} {name}")).collect();
        format!("{number}: {}", parts.join(" "))
    });
    assert!(!rows.is_empty() && titles.into_iter().eq(expected));
}

/// 902 requests are columns of three. Request 451 reads 37,995 of 455,985 tokens and writes the rest,
/// between two that read 455,000 of 455,903.
#[test]
fn a_break_among_many_requests_stands_at_its_true_figures() {
    let folder = temporary();
    let began: jiff::Timestamp = "2026-08-03T10:00:00Z".parse().expect("a moment");
    let answers: Vec<Answer<'_>> = (0..902)
        .map(|number| Answer {
            session: "s",
            number,
            at: began + jiff::SignedDuration::from_secs(20 * i64::try_from(number).expect("small")),
            model: "claude-opus-5",
            prompt: if number == 451 { (37_995, 417_990, 0) } else { (455_000, 900, 3) },
        })
        .collect();
    let picture = chart("turns", &write_session(folder.path(), &answers), &[]);
    let (_, zero) = picture.middle_of("0");
    let (_, hundred) = picture.middle_of("0.1M");
    let tokens_per_pixel = 100_000.0 / (zero - hundred);
    // The columns of what was read are one shape. Their upper edge dips once.
    let read = picture.points_of(READ);
    let upper = read.iter().map(|(_, y)| (zero - y) * tokens_per_pixel);
    let upper: Vec<f32> = upper.filter(|tokens| *tokens > 2.0 * tokens_per_pixel).collect();
    let lowest = upper.iter().copied().fold(f32::MAX, f32::min);
    assert!((lowest - 37_995.0).abs() < tokens_per_pixel, "{lowest}");
    let highest = upper.iter().copied().fold(0.0, f32::max);
    assert!((highest - 455_000.0).abs() < tokens_per_pixel, "{highest}");
    // What was written stands on it, up to the whole prompt.
    let written = picture.points_of(WRITTEN_1H);
    let top = written.iter().map(|(_, y)| (zero - y) * tokens_per_pixel).fold(0.0, f32::max);
    assert!((top - 455_985.0).abs() < tokens_per_pixel, "{top}");
    assert!(picture.has_text("of each 3 requests the one that sent or wrote most"));
}

/// The costs are those of the README. What 5m writes for five minutes and 1h for an hour stands on one
/// scale.
#[test]
fn several_strategies_are_panels_on_one_scale() {
    let picture = chart("turns", &first_look(), &["--strategy", "billed,5m,1h"]);
    picture.assert_readable("turns of three strategies");
    let named = ["billed, $0.5753: tokens of the prompt", "5m, $0.4822", "1h, $0.5753"];
    let tops = named.map(|words| picture.middle_of(words).1);
    assert!(tops[0] < tops[1] && tops[1] < tops[2], "in the order asked for: {tops:?}");
    for tick in ["0", "20k"] {
        let heights: Vec<f32> = picture
            .texts
            .iter()
            .filter(|text| text.words == tick)
            .map(|text| text.area.top)
            .collect();
        assert_eq!(heights.len(), 3, "{tick}");
        assert!((heights[1] - heights[0] - (heights[2] - heights[1])).abs() < 1.0, "{tick}");
    }
    let is_between = |area: &&Area| area.top > tops[1] && area.bottom < tops[2];
    let written_5m = picture.filled(WRITTEN_5M);
    assert!(written_5m.iter().filter(is_between).count() > 0, "5m writes for five minutes");
    let written_1h = picture.filled(WRITTEN_1H);
    assert_eq!(written_1h.iter().filter(is_between).count(), 0, "and nothing for an hour");
    assert!(picture.label.contains("billed $0.5753, 5m $0.4822, 1h $0.5753. 2 breaks."));
}

/// The figures are those that README has of `breaks`. Steps hang between what was there and what is left.
#[test]
fn a_waterfall_leads_from_what_was_spent_to_the_cheapest_possible() {
    let picture = chart("waterfall", &first_look(), &[]);
    picture.assert_readable("waterfall");
    let (zero, _) = picture.middle_of("$0.0");
    let (most, _) = picture.middle_of("$0.6");
    let dollars_per_pixel = 0.6 / (most - zero);
    let rows: [(&str, &str, f32, f32); 7] = [
        ("spent", "$0.5753", 0.0, 0.5753),
        ("breaks beyond the rules", "-$0.1197", 0.4556, 0.5753),
        ("unexplained", "$0.0000", 0.4556, 0.4556),
        ("expected by the rules", "$0.4556", 0.0, 0.4556),
        ("5m for every marker", "-$0.0459", 0.4098, 0.4556),
        ("best markers, lifetimes and pings", "-$0.1162", 0.2936, 0.4098),
        ("best caching", "$0.2936", 0.0, 0.2936),
    ];
    for (name, value, from, to) in rows {
        // The legend, which comes first, has names of rows, too.
        let row = picture.texts.iter().rfind(|text| text.words == name).expect(name).area;
        let row = f32::midpoint(row.top, row.bottom);
        let is_beside = |area: &Area| area.top < row && row < area.bottom;
        assert!(
            picture.texts.iter().any(|text| text.words == value && is_beside(&text.area)),
            "{value} stands beside {name}"
        );
        let bars = picture.shapes.iter().map(|shape| shape.area);
        let is_bar = |area: &Area| is_beside(area) && area.height() > 12.0;
        let Some(bar) = bars.rev().find(is_bar) else {
            assert!((to - from).abs() < f32::EPSILON, "{name} has no bar");
            continue;
        };
        for (edge, amount) in [(bar.left, from), (bar.right, to)] {
            let shown = (edge - zero) * dollars_per_pixel;
            assert!((shown - amount).abs() < 2.0 * dollars_per_pixel, "{name}: {shown}");
        }
    }
    assert!(picture.label.contains("best caching: $0.2936, 49.0 % less"), "{}", picture.label);
}

/// Costs in labels are those of the README's session; lines end as high as the costs.
#[test]
fn lines_end_at_the_costs_of_their_strategies() {
    let picture = chart("cost", &first_look(), &["--strategy", "billed,replay,none,5m"]);
    // As in the legend, by cost.
    let costs =
        [("expected by the rules", 0.4556), ("5m", 0.4822), ("billed", 0.5753), ("none", 0.9121)];
    let (_, zero) = picture.middle_of("$0.0");
    let (_, half) = picture.middle_of("$0.4");
    let dollars_per_pixel = 0.4 / f64::from(zero - half);
    let ends: Vec<f64> = picture
        .lines
        .iter()
        .filter(|(_, points)| points.len() == 7)
        .map(|(_, points)| f64::from(zero - points[6].1) * dollars_per_pixel)
        .collect();
    assert_eq!(ends.len(), 4);
    for ((name, cost), end) in costs.into_iter().zip(ends) {
        assert!((cost - end).abs() < 2.0 * dollars_per_pixel, "{name} ends at {end}");
        assert!(picture.has_text(&format!("{name} ${cost:.4}")), "{name}");
    }
}

#[test]
fn bars_are_as_long_as_the_costs_of_their_strategies() {
    let picture = chart("strategies", &first_look(), &["--strategy", "billed,replay,none,1h"]);
    let (zero, _) = picture.middle_of("$0.0");
    let (half, _) = picture.middle_of("$0.4");
    let dollars_per_pixel = 0.4 / f64::from(half - zero);
    // The dearest first: none $0.9121, billed and 1h $0.5753, replay $0.4556.
    let (_, row) = picture.middle_of("none");
    // Squares of the legend are no higher than 12 pixels.
    let is_of_bar = |area: &Area| area.height() > 12.0 && area.top < row && row < area.bottom;
    let bar = picture.shapes.iter().filter(|shape| is_of_bar(&shape.area));
    let end = bar.map(|shape| shape.area.right).fold(0.0, f32::max);
    assert!((f64::from(end - zero) * dollars_per_pixel - 0.9121).abs() < 2.0 * dollars_per_pixel);
    for words in ["$0.9121 +58.5 %", "$0.4556 -20.8 %", "optimal $"] {
        assert!(
            picture.texts.iter().any(|text| text.words.replace("  ", " ").contains(words)),
            "{words}"
        );
    }
    let order = ["none", "expected by the rules"].map(|name| picture.middle_of(name).1);
    assert!(order[0] < order[1], "the dearest is above");
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    for kind in KINDS {
        let fixtures = project("fixtures");
        let once = svg(kind, &fixtures, &["--jobs", "1"]);
        assert_eq!(once, svg(kind, &fixtures, &["--jobs", "8"]), "{kind}");
    }
    let folder = temporary();
    let png = |name: &str| {
        let path = folder.path().join(name);
        let place = path.to_str().expect("a plain path");
        stdout(&["chart", "turns", first_look().to_str().expect("a plain path"), "-o", place]);
        fs::read(path).expect("a PNG")
    };
    assert_eq!(png("one.png"), png("other.PNG"));
}

#[test]
fn pictures_are_drawn_on_the_ground_that_is_asked_for() {
    let folder = temporary();
    for (theme, ground) in
        [("light", [255, 255, 255]), ("auto", [255, 255, 255]), ("dark", [13, 17, 23])]
    {
        let path = folder.path().join(format!("{theme}.png"));
        let place = path.to_str().expect("a plain path");
        let input = first_look();
        let input = input.to_str().expect("a plain path");
        stdout(&["chart", "breaks", input, "--theme", theme, "--scale", "1", "-o", place]);
        let picture = Pixmap::decode_png(&fs::read(&path).expect("a file")).expect("a PNG");
        assert_eq!(picture.width(), 1_200);
        let corner = picture.pixels()[0];
        assert_eq!([corner.red(), corner.green(), corner.blue()], ground, "{theme}");
        let others = picture.pixels().iter().filter(|pixel| **pixel != corner).count();
        assert!(others > 5_000, "{theme}: text and bars are drawn: {others}");
    }
    let auto = svg("breaks", &first_look(), &[]);
    assert!(auto.contains("prefers-color-scheme:dark") && auto.contains("@font-face"));
    let dark = svg("breaks", &first_look(), &["--theme", "dark"]);
    assert!(!dark.contains("prefers-color-scheme") && dark.contains("fill=\"#0D1117\""));
}

#[test]
fn names_of_others_are_text_and_nothing_else() {
    let folder = temporary();
    let hostile = "</text><script>alert(1)</script>\"'&\u{1b}[31m\u{202e}\u{fffe}";
    let at: jiff::Timestamp = "2026-08-03T10:00:00Z".parse().expect("a moment");
    let answers = [0, 1].map(|number| Answer {
        session: hostile,
        number,
        at,
        model: if number == 0 { "claude-opus-5" } else { hostile },
        prompt: (0, 5_000, 3),
    });
    let path = write_session(folder.path(), &answers);
    for kind in KINDS {
        let svg = svg(kind, &path, &[]);
        assert!(!svg.contains("<script"), "{kind}");
        assert!(!svg.contains(['\u{1b}', '\u{202e}', '\u{fffe}']), "{kind}");
        read(&svg).assert_readable(kind);
    }
    let turns = chart("turns", &path, &[]);
    assert!(turns.label.contains("script"), "the name is shown: {}", turns.label);
}

#[test]
fn what_is_not_known_is_said() {
    let folder = temporary();
    let at: jiff::Timestamp = "2026-08-03T10:00:00Z".parse().expect("a moment");
    let one = |model, prompt| [Answer { session: "s", number: 0, at, model, prompt }];
    // A model without a price.
    let path = write_session(folder.path(), &one("glm-4.7", (0, 5_000, 3)));
    for kind in ["cost", "strategies", "daily"] {
        let picture = chart(kind, &path, &[]);
        assert!(picture.has_text("No price is known of glm-4.7 (1)"), "{kind}");
    }
    assert!(chart("turns", &path, &[]).label.contains("unknown"));
    // One request: no gap and no break.
    assert!(chart("gaps", &path, &[]).has_text("there are no gaps"));
    assert!(chart("breaks", &path, &[]).has_text("No request could be compared"));
    // No tokens at all.
    let path = write_session(folder.path(), &one("claude-opus-5", (0, 0, 0)));
    for kind in KINDS {
        chart(kind, &path, &[]).assert_readable(kind);
    }
}

/// The fixture's first sampling was refused and billed apart: all its rows are on the bill.
#[test]
fn samplings_that_were_billed_apart_are_on_the_bill() {
    let fixture = project("fixtures/refusal-fallback");
    let rows = ledger(&fixture, &["--strategy", "billed"]);
    let cost = |row: &Value| -> f64 {
        row["cost_usd"].as_str().expect("a cost").parse().expect("a number")
    };
    let billed: f64 = rows.iter().map(cost).sum();
    let apart: f64 = rows.iter().filter(|row| !row["iteration"].is_null()).map(cost).sum();
    assert!(apart > 0.0 && apart < billed);
    let turns = chart("turns", &fixture, &[]);
    assert!(turns.label.contains(&format!("${billed:.4} billed")), "{}", turns.label);
    let apart = format!("${apart:.4} for samplings billed apart");
    for kind in ["turns", "cost", "strategies"] {
        assert!(chart(kind, &fixture, &[]).has_text(&apart), "{kind}");
    }
}

#[test]
fn of_many_strategies_the_cheapest_are_drawn_and_the_others_named() {
    let names = "billed,replay,none,5m,1h,mixed,optimal,1h-main-5m-agents,as-recorded,compact-100k,\
                 microcompact-60m,cached-microcompact,clear-results-180k,session-memory-100k";
    let picture = chart("cost", &project("reports/sessions"), &["--strategy", names]);
    picture.assert_readable("cost of many strategies");
    assert!(picture.has_text("billed $"));
    assert!(picture.has_text(
        "Not drawn, since they cost more: as-recorded, compact-100k, session-memory-100k, none."
    ));
    // A dash in front of each name is a line of two points.
    let dashes = picture.lines.iter().filter(|(_, points)| points.len() == 2);
    let names = dashes.filter(|(colour, _)| colour != "#E3E7EB" && colour != "#59636E").count();
    assert_eq!(names, 9, "the record and eight simulations");
    let bars = chart("strategies", &project("reports/sessions"), &["--strategy", "5m,1h"]);
    assert!(bars.has_text("All of these are simulated.") && !bars.has_text("measured"));
}

/// Of a session without a price nothing is known, and in the bin of its gap nothing is claimed.
#[test]
fn a_loss_without_a_price_is_unknown() {
    let folder = temporary();
    let answer = |session, number, at: &str, model| Answer {
        session,
        number,
        at: at.parse().expect("a moment"),
        model,
        prompt: (0, 51_000, 3),
    };
    let answers = [
        answer("a", 0, "2026-08-03T10:00:00Z", "claude-opus-5"),
        answer("a", 1, "2026-08-03T12:00:00Z", "claude-opus-5"),
        answer("b", 0, "2026-08-03T10:00:00Z", "glm-4.7"),
        answer("b", 1, "2026-08-05T10:00:00Z", "glm-4.7"),
    ];
    let gaps = chart("gaps", &write_session(folder.path(), &answers), &[]);
    assert!(gaps.texts.iter().any(|text| text.words == "?"), "{}", gaps.label);
    assert!(!gaps.texts.iter().any(|text| text.words == "$0.0000"));
    assert!(gaps.has_text("1 request of models without a price"));
}

#[test]
fn months_between_requests_are_no_smear() {
    let folder = temporary();
    let answers = ["2024-01-01T10:00:00Z", "2026-03-05T10:00:00Z", "2026-03-05T10:00:09Z"];
    let answers: Vec<Answer<'_>> = answers
        .iter()
        .enumerate()
        .map(|(number, at)| Answer {
            session: "s",
            number,
            at: at.parse().expect("a moment"),
            model: "claude-opus-5",
            prompt: (0, 50_000, 3),
        })
        .collect();
    let path = write_session(folder.path(), &answers);
    let daily = chart("daily", &path, &[]);
    daily.assert_readable("daily");
    assert!(daily.has_text("What was paid each month") && daily.has_text("2024-01"));
    let gaps = chart("gaps", &path, &[]);
    gaps.assert_readable("gaps");
    assert!(gaps.has_text("1 year"), "the axis reaches to the longest gap");
    assert!(gaps.has_text("2 gaps: 1 of 5 minutes or more, 1 of an hour or more"));
}

/// Figures that other commands give for the same sessions.
#[test]
fn charts_of_the_corpus_name_its_figures() {
    let Some(corpus) = transcripts("corpus") else { return };
    let label = |kind| chart(kind, &corpus, &[]).label;
    let lost = "$161.64 (19,143,245 tokens sent again)";
    assert!(label("gaps").contains(lost), "{}", label("gaps"));
    assert!(label("daily").contains("billed: $1,240.56"), "{}", label("daily"));
    let breaks = chart("breaks", &corpus, &[]);
    assert!(
        breaks.label.contains("296 breaks cost $161.64") && breaks.has_text("$85.38, 49 breaks")
    );
    let strategies = chart("strategies", &corpus, &[]);
    for words in ["$1,240.56", "$1,428.29", "$1,232.35", "optimal $1,115.91"] {
        assert!(strategies.has_text(words), "{words}");
    }
}

#[test]
fn one_session_of_several_is_shown_and_named() {
    let fixtures = project("fixtures");
    let dearest = chart("turns", &fixtures, &[]);
    assert!(dearest.label.contains("the most expensive of"), "{}", dearest.label);
    let output = run(&["chart", "turns", "fixtures", "--session", "nobody"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("`nobody` is not in the input, which has"));
    let output = run(&["chart", "turns", "fixtures", "--session", "5e1f"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("give more of it"), "{}", text(&output.stderr));
}

#[test]
fn what_cannot_be_drawn_is_refused_with_what_to_do() {
    let refused = |arguments: &[&str], words: &str| {
        let output = cachesim().args(arguments).output().expect("the program runs");
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(words), "{arguments:?}: {error}");
    };
    refused(&["chart", "turn", "fixtures/first-look"], "'turns'");
    refused(&["chart", "stategies", "fixtures/first-look"], "'strategies'");
    refused(&["chart", "cost", "fixtures/first-look", "--strategy", "6m"], "5m");
    refused(
        &["chart", "turns", "fixtures/first-look", "-o", "missing/folder/a.svg"],
        "missing/folder",
    );
    let folder = temporary();
    let input = folder.path().join("session.jsonl");
    fs::copy(first_look().join("session.jsonl"), &input).expect("a copy");
    let input = input.to_str().expect("a plain path");
    refused(&["chart", "turns", input, "-o", input], "is an input");
}

#[test]
fn what_stood_there_outlives_an_error() {
    let folder = temporary();
    let output = folder.path().join("chart.svg");
    fs::write(&output, "before").expect("a file");
    let place = output.to_str().expect("a plain path");
    let failed =
        run(&["chart", "turns", "fixtures/first-look", "--session", "nobody", "-o", place]);
    assert_eq!(failed.status.code(), Some(3));
    assert_eq!(fs::read_to_string(&output).expect("the file"), "before");
    stdout(&["chart", "turns", "fixtures/first-look", "-o", place]);
    assert!(fs::read_to_string(&output).expect("the file").starts_with("<svg "));
}
