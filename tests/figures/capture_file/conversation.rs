//! Conversations that grow, branch and change, and the requests that are sent of them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use cachesim::base::units::Millis;

use super::noise::{Dice, write};
use super::{Automatic, Base, Change, Globals, Growth, Marking, Opening, Place, Step, Ttls};
use crate::naive::Json;

const START: i64 = 1_777_629_600_000;

/// The settings that are part of the key, and what each may be. The first is what a request has
/// that says nothing; effort is never given as a model's default may be.
const SETTINGS: [(&str, [&str; 4]); 6] = [
    (
        "model",
        [
            r#""claude-sonnet-4-5""#,
            r#""claude-opus-5""#,
            r#""claude-sonnet-4-5""#,
            r#""claude-opus-5""#,
        ],
    ),
    ("speed", ["", r#""standard""#, r#""fast""#, ""]),
    (
        "tool_choice",
        [
            "",
            r#"{"type":"auto"}"#,
            r#"{"type":"any"}"#,
            r#"{"type":"auto","disable_parallel_tool_use":true}"#,
        ],
    ),
    (
        "thinking",
        [
            "",
            r#"{"type":"disabled"}"#,
            r#"{"type":"enabled","budget_tokens":4000}"#,
            r#"{"type":"enabled","budget_tokens":8000}"#,
        ],
    ),
    ("effort", ["", r#""low""#, r#""medium""#, ""]),
    (
        "format",
        [
            "",
            r#"{"type":"json_schema","schema":{"type":"object"}}"#,
            r#"{"type":"json_schema","schema":{"type":"object","properties":{}}}"#,
            "",
        ],
    ),
];

const SIZES: [usize; 12] = [1, 8, 20, 30, 60, 120, 250, 400, 700, 1_000, 1_500, 2_500];

const WORDS: [&str; 16] = [
    "the",
    "cache",
    "of",
    "naïve",
    "缓存",
    "😀",
    "\"quoted\"",
    "back\\slash",
    "line\nbreak",
    "tab\t",
    "\u{8}\u{c}\r",
    "\u{1}\u{1f}\u{7f}",
    "\u{2028}\u{feff}",
    "</a>",
    "\"cache_control\":{",
    "e\u{301}",
];

/// A conversation at one moment.
#[derive(Clone, Debug)]
struct Conversation {
    /// The value of each of `SETTINGS`.
    settings: [usize; 6],
    scope: usize,
    tools: Vec<Json>,
    system: Vec<Json>,
    messages: Vec<(&'static str, Vec<Json>)>,
}

/// The records that these steps send, in time order.
pub(super) fn records(opening: &Opening, steps: &[Step]) -> Vec<String> {
    let mut now = START;
    let mut last = Conversation::open(opening);
    let mut before_last = last.clone();
    let mut sent: Vec<Conversation> = Vec::new();
    let mut lines = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        now += step.gap;
        let base = match &step.base {
            Base::Last => last,
            Base::Sibling => before_last,
            Base::Earlier(_) if sent.is_empty() => last,
            Base::Earlier(index) => index.get(&sent).clone(),
            Base::Fresh(seed) => Conversation { messages: vec![said("user", *seed)], ..last },
        };
        let mut conversation = base.clone();
        conversation.scope = step.scope.unwrap_or(conversation.scope);
        for change in &step.changes {
            conversation.change(change);
        }
        for growth in &step.growth {
            conversation.grow(growth);
        }
        lines.push(conversation.record(number, now, step));
        sent.push(conversation.clone());
        (before_last, last) = (base, conversation);
    }
    lines
}

impl Conversation {
    fn open(opening: &Opening) -> Self {
        let mut settings = [0; 6];
        settings[0] = usize::from(opening.is_opus);
        let mut conversation = Self {
            settings,
            scope: 0,
            tools: opening.tools.iter().map(|seed| tool(*seed)).collect(),
            system: opening.system.iter().map(|seed| text_block(*seed)).collect(),
            messages: Vec::new(),
        };
        if let Some(beyond) = opening.beyond_minimum
            && let Some(padding) = conversation.padding(beyond)
        {
            conversation.system.push(padding);
        }
        conversation.messages.push(said("user", opening.prompt));
        conversation
    }

    fn change(&mut self, change: &Change) {
        match change {
            Change::Setting(which, value) => self.settings[*which] = *value,
            Change::ToolText(seed) => {
                if let Some(last) = self.tools.last_mut() {
                    *last = tool(*seed);
                }
            }
            Change::ToolOrder => self.tools.reverse(),
            Change::ToolAdded(seed) => self.tools.push(tool(*seed)),
            Change::DeferredTool(seed) => {
                self.tools.insert(0, with(tool(*seed), "defer_loading", Json::Bool(true)));
            }
            Change::EagerTool(seed) => {
                self.tools.push(with(tool(*seed), "defer_loading", Json::Bool(false)));
            }
            Change::SystemText(seed) => {
                self.system.pop();
                self.system.push(text_block(*seed));
            }
        }
    }

    fn grow(&mut self, growth: &Growth) {
        match growth {
            Growth::Turn(seed) => {
                self.messages.push(said("assistant", *seed));
                let role = if seed % 12 == 11 { "system" } else { "user" };
                self.messages.push(said(role, seed / 2));
            }
            Growth::Chatter(count) => {
                for number in 0..*count {
                    let role = if number % 2 == 0 { "assistant" } else { "user" };
                    self.messages.push(said(role, number % 3));
                }
            }
            Growth::Blocks(count) => {
                self.messages
                    .push(("user", (0..*count).map(|seed| text_block(seed % 4)).collect()));
            }
            Growth::Calls { count, is_spread, seed } => self.call(*count, *is_spread, *seed),
            Growth::Trips(count) => (0..*count).for_each(|seed| self.call(1, false, seed)),
            Growth::Thought { is_redacted, is_last } => {
                let mut blocks = vec![thought(*is_redacted)];
                if !is_last {
                    blocks.push(text_block(2));
                }
                self.messages.push(("assistant", blocks));
            }
            Growth::Image { is_nested } => self.attach(image(), *is_nested),
            Growth::Source { is_nested, is_cited } => self.attach(source(*is_cited), *is_nested),
            Growth::Cut(count) => {
                let kept = self.messages.len().saturating_sub(*count).max(1);
                self.messages.truncate(kept);
            }
            Growth::UpToMinimum(beyond) => {
                if let Some(padding) = self.padding(*beyond) {
                    self.messages.push(("user", vec![padding]));
                }
            }
            Growth::OtherRole => {
                if let Some((role, _)) = self.messages.last_mut() {
                    *role = if *role == "user" { "assistant" } else { "user" };
                }
            }
            Growth::Split => {
                if let Some((role, blocks)) = self.messages.last_mut()
                    && blocks.len() > 1
                {
                    let alone = (*role, blocks.split_off(blocks.len() - 1));
                    self.messages.push(alone);
                }
            }
            Growth::KeysTurned => {
                if let Some((_, blocks)) = self.messages.last_mut()
                    && let Some(Json::Object(members)) = blocks.last_mut()
                {
                    members.reverse();
                }
            }
        }
    }

    /// Parallel calls and their results, these in one message or one message each.
    fn call(&mut self, count: usize, is_spread: bool, seed: usize) {
        let calls = (0..count).map(|number| call(seed + number)).collect();
        self.messages.push(("assistant", calls));
        let mut results: Vec<Json> = (0..count).map(|number| result(seed + number)).collect();
        if is_spread {
            self.messages.extend(results.into_iter().map(|result| ("user", vec![result])));
        } else {
            if seed % 3 == 2 {
                results.push(text_block(seed));
            }
            self.messages.push(("user", results));
        }
    }

    fn attach(&mut self, block: Json, is_nested: bool) {
        let blocks = if is_nested {
            vec![result_of(0, Json::List(vec![text_block(3), block]))]
        } else {
            vec![block, text_block(3)]
        };
        self.messages.push(("user", blocks));
    }

    /// A block with which the prefix is so much beyond the least that is cached.
    fn padding(&self, beyond: i64) -> Option<Json> {
        let minimum = if self.settings[0] % 2 == 1 { 512 } else { 1_024 };
        let size = |block: &Json| block.canonical().len();
        let messages = self.messages.iter().flat_map(|(_, blocks)| blocks);
        let before: usize = self.prefix_tools().chain(&self.system).chain(messages).map(size).sum();
        let frame = size(&block("text", [("text", text(""))]));
        let missing = minimum + beyond - i64::try_from(before + frame).ok()?;
        Some(block("text", [("text", text(&"p".repeat(usize::try_from(missing).ok()?)))]))
    }

    fn prefix_tools(&self) -> impl Iterator<Item = &Json> {
        self.tools.iter().filter(|tool| tool.get("defer_loading") != Some(&Json::Bool(true)))
    }

    /// The request that sends this conversation.
    fn record(&self, number: usize, now: i64, step: &Step) -> String {
        let mut dice = Dice::new(step.noise);
        let mut marked = self.clone();
        marked.mark(&step.marking, &mut dice);
        let body = marked.body(&step.marking, &mut dice);
        let mut record = vec![
            member("timestamp", text(&Millis::new(now).to_string())),
            member("request_id", text(&format!("r{number}"))),
            member("request", body),
        ];
        if let Some(delay) = step.delay {
            record.push(member("response_started_at", text(&Millis::new(now + delay).to_string())));
        }
        if self.scope > 0 {
            record.push(member("scope", text(["default", "a", "b"][self.scope - 1])));
        }
        if dice.chance(300) {
            record.push(member("session_id", text(["s1", "s2"][dice.below(2)])));
            record.push(member("agent_id", Json::Null));
        }
        dice.shuffle(&mut record);
        write(&Json::Object(record), &mut dice)
    }

    fn mark(&mut self, marking: &Marking, dice: &mut Dice) {
        let tools = self.prefix_tools().count();
        let static_blocks = tools + self.system.len();
        let system = &mut self.system;
        let messages = self.messages.iter_mut().flat_map(|(_, blocks)| blocks);
        let is_loaded = |tool: &&mut Json| tool.get("defer_loading") != Some(&Json::Bool(true));
        let mut blocks: Vec<&mut Json> =
            self.tools.iter_mut().filter(is_loaded).chain(system).chain(messages).collect();
        let places: BTreeSet<usize> = marking
            .places
            .iter()
            .filter_map(|place| match place {
                Place::LastTool => tools.checked_sub(1),
                Place::FirstSystem => (static_blocks > tools).then_some(tools),
                Place::LastSystem => static_blocks.checked_sub(1),
                Place::LastThought => blocks.iter().rposition(|block| is_thought(block)),
                Place::Back(back) => blocks.len().checked_sub(1 + back),
                Place::At(index) => Some(index.index(blocks.len())),
            })
            .filter_map(|place| {
                let markable = |place: &usize| marking.is_stubborn || !is_thought(blocks[*place]);
                (0..=place).rev().find(markable)
            })
            .collect();
        for (number, place) in places.into_iter().enumerate() {
            let is_hour = match marking.ttls {
                Ttls::Five => false,
                Ttls::Hour => true,
                Ttls::Mixed => place < static_blocks,
                Ttls::Any(bits) => bits >> number & 1 == 1,
            };
            let is_global = match marking.globals {
                Globals::None => false,
                Globals::Static => place < static_blocks,
                Globals::Any(bits) => bits >> number & 1 == 1,
            };
            put_marker(blocks[place], &marker(is_hour, is_global, dice), marking.is_inner, dice);
        }
    }

    /// The body as sent; single texts may be written as strings.
    fn body(self, marking: &Marking, dice: &mut Dice) -> Json {
        let mut members = vec![
            member("max_tokens", Json::Number("1024".to_owned())),
            member("system", content(self.system, dice)),
        ];
        let messages = self.messages.into_iter().map(|(role, blocks)| {
            Json::Object(vec![member("role", text(role)), member("content", content(blocks, dice))])
        });
        members.push(member("messages", Json::List(messages.collect())));
        if !self.tools.is_empty() || dice.chance(500) {
            members.push(member("tools", Json::List(self.tools)));
        }
        let mut output = Vec::new();
        for ((name, values), value) in SETTINGS.iter().zip(self.settings) {
            match (*name, values[value]) {
                (_, "") => {}
                ("effort" | "format", written) => output.push(member(name, Json::parse(written))),
                (_, written) => members.push(member(name, Json::parse(written))),
            }
        }
        if !output.is_empty() {
            members.push(member("output_config", Json::Object(output)));
        }
        match marking.automatic {
            Automatic::No => {}
            Automatic::Five => members.push(member("cache_control", marker(false, false, dice))),
            Automatic::Hour => members.push(member("cache_control", marker(true, false, dice))),
        }
        dice.shuffle(&mut members);
        Json::Object(members)
    }
}

fn put_marker(block: &mut Json, marker: &Json, is_inner: bool, dice: &mut Dice) {
    let Json::Object(members) = block else { return };
    if is_inner && members.contains(&member("type", text("tool_result"))) {
        let inner = members.iter_mut().find_map(|(name, value)| match value {
            Json::List(items) if name == "content" => items.last_mut(),
            _ => None,
        });
        if let Some(inner) = inner {
            *inner = with(inner.clone(), "cache_control", marker.clone());
            return;
        }
    }
    let place = members.len() - dice.below(members.len() + 1);
    members.insert(place, member("cache_control", marker.clone()));
}

fn marker(is_hour: bool, is_global: bool, dice: &mut Dice) -> Json {
    let mut members = vec![member("type", text("ephemeral"))];
    if is_hour || dice.chance(300) {
        members.push(member("ttl", text(if is_hour { "1h" } else { "5m" })));
    }
    if is_global {
        members.push(member("scope", text("global")));
    }
    dice.shuffle(&mut members);
    Json::Object(members)
}

fn content(mut blocks: Vec<Json>, dice: &mut Dice) -> Json {
    if let [Json::Object(members)] = &mut *blocks
        && let [(first, kind), (second, _)] = &**members
        && (first.as_str(), kind, second.as_str()) == ("type", &text("text"), "text")
        && dice.chance(400)
    {
        return members.remove(1).1;
    }
    Json::List(blocks)
}

fn text(text: &str) -> Json {
    Json::Text(text.to_owned())
}

fn member(name: &str, value: Json) -> (String, Json) {
    (name.to_owned(), value)
}

fn with(object: Json, name: &str, value: Json) -> Json {
    let Json::Object(mut members) = object else { return object };
    members.push(member(name, value));
    Json::Object(members)
}

fn block<const N: usize>(kind: &str, members: [(&str, Json); N]) -> Json {
    let first = member("type", text(kind));
    let others = members.map(|(name, value)| member(name, value));
    Json::Object([first].into_iter().chain(others).collect())
}

/// Words of about the size that belongs to the seed.
fn words(seed: usize) -> String {
    let size = SIZES[seed % SIZES.len()];
    let mut dice = Dice::new(seed as u64 + 1);
    let mut words = format!("{seed}");
    while words.len() < size {
        write!(words, " {}", WORDS[dice.below(WORDS.len())]).expect("a string takes everything");
    }
    words
}

fn text_block(seed: usize) -> Json {
    let words = text(&words(seed));
    if seed % 9 == 8 {
        return Json::Object(vec![member("text", words), member("type", text("text"))]);
    }
    block("text", [("text", words)])
}

fn said(role: &'static str, seed: usize) -> (&'static str, Vec<Json>) {
    (role, vec![text_block(seed)])
}

fn tool(seed: usize) -> Json {
    let schema = r#"{"type":"object","properties":{"cache_control":{"type":"string"},"n":{"minimum":0.50}}}"#;
    Json::Object(vec![
        member("name", text(&format!("tool{seed}"))),
        member("description", text(&words(seed))),
        member("input_schema", Json::parse(schema)),
    ])
}

fn call(seed: usize) -> Json {
    let input = [
        r#"{"n":1.0,"list":[]}"#,
        r#"{"n":1,"list":[ ]}"#,
        r#"{"n":-1E+5,"path":"C:\\a/b","none":null}"#,
        r#"{"cache_control":{"type":"ephemeral"},"n":12345678901234567890123}"#,
    ][seed % 4];
    let id = text(&format!("t{seed}"));
    block("tool_use", [("id", id), ("name", text("tool0")), ("input", Json::parse(input))])
}

fn result(seed: usize) -> Json {
    let content = match seed % 3 {
        0 => text(&words(seed)),
        1 => Json::List(vec![text_block(seed)]),
        _ => Json::List(vec![text_block(1), text_block(seed)]),
    };
    result_of(seed, content)
}

fn result_of(seed: usize, content: Json) -> Json {
    block("tool_result", [("tool_use_id", text(&format!("t{seed}"))), ("content", content)])
}

fn thought(is_redacted: bool) -> Json {
    if is_redacted {
        return block("redacted_thinking", [("data", text("EmwKAhgB/x=="))]);
    }
    block("thinking", [("thinking", text(&words(5))), ("signature", text("g"))])
}

fn is_thought(block: &Json) -> bool {
    block.text("type").is_some_and(|kind| kind.ends_with("thinking"))
}

fn image() -> Json {
    let source = r#"{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}"#;
    block("image", [("source", Json::parse(source))])
}

/// A document or a search result.
fn source(is_cited: bool) -> Json {
    let citations = Json::parse(&format!(r#"{{"enabled":{is_cited}}}"#));
    let title = text("a title");
    if is_cited {
        let content = Json::List(vec![text_block(4)]);
        return block(
            "search_result",
            [
                ("source", text("a")),
                ("title", title),
                ("content", content),
                ("citations", citations),
            ],
        );
    }
    let source = Json::parse(r#"{"type":"text","media_type":"text/plain","data":"d"}"#);
    block("document", [("source", source), ("title", title), ("citations", citations)])
}
