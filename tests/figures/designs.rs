//! Prompt designs on small captures: what each request reads, writes and sends in full as sent and as
//! designed, worked out by hand from the rules. A token is a byte of a block's canonical JSON, and
//! every block is made as long as it says.

use std::num::NonZeroU64;

use cachesim::base::ttl::Lifetimes;
use cachesim::read::capture::{AttributionKey, BlockParts, TokenCounting};
use cachesim::read::input::{Discovered, Source};
use cachesim::requests::conversation::{History, ReadOptions, read};
use cachesim::requests::prompt::{PromptTrace, SharedPrefix, build, steps};
use cachesim::simulate::cache::{
    BetaKey, Lookback, Markers, Outcome, Policy, Reading, TtlChange, simulate,
};
use cachesim::simulate::design::{
    Attribution, Deferred, PromptDesign, Reminders, Scopes, Settings, SystemPrompt, Tools, redesign,
};

/// The recorded requests under the rules.
pub(crate) const RULES: Policy = Policy {
    markers: Markers::AsRecorded,
    keeps_breaks: false,
    ttl_grace: 0,
    lookback: Lookback::Positions,
    shares_sessions: true,
    reading: Reading::Literal,
    ttl_change: TtlChange::Keeps,
    betas: BetaKey::Key,
    lifetimes: Lifetimes::ANTHROPIC,
};

const AS_SENT: PromptDesign = PromptDesign {
    tools: Tools::AsSent,
    system: SystemPrompt::AsSent,
    scopes: Scopes::AsSent,
    settings: Settings::AsSent,
    attribution: Attribution::AsSent,
    reminders: Reminders::AsSent,
    deferred_tools: Deferred::AsSent,
    tool_search: None,
};
const SORTED: PromptDesign = PromptDesign { tools: Tools::Sorted, ..AS_SENT };
const STATIC_FIRST: PromptDesign = PromptDesign { system: SystemPrompt::StaticFirst, ..AS_SENT };
const SCOPES_OFF: PromptDesign = PromptDesign { scopes: Scopes::Off, ..AS_SENT };
const SCOPES_ON: PromptDesign = PromptDesign { scopes: Scopes::On, ..AS_SENT };
const LATCHED: PromptDesign = PromptDesign { settings: Settings::Latched, ..AS_SENT };
const STABLE: PromptDesign = PromptDesign { attribution: Attribution::Stable, ..AS_SENT };

const FIVE: &str = r#","cache_control":{"type":"ephemeral"}"#;
const HOUR: &str = r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#;
const GLOBAL: &str = r#","cache_control":{"type":"ephemeral","scope":"global"}"#;

/// Captured requests with their bytes kept, a byte a token.
pub(crate) fn read_bytes(lines: &[String]) -> History {
    read_counted(lines, TokenCounting::Bytes(NonZeroU64::MIN), true)
}

fn read_counted(lines: &[String], counting: TokenCounting, keeps_bytes: bool) -> History {
    let parts = BlockParts::Landmarks;
    let attribution = AttributionKey::Literal;
    read_with(
        lines,
        ReadOptions { counting, keeps_bytes, parts, attribution, ..ReadOptions::default() },
    )
}

fn read_with(lines: &[String], options: ReadOptions) -> History {
    let sources = vec![Source::in_memory("capture.jsonl", lines.join("\n").as_bytes())];
    read(Discovered { sources, ..Discovered::default() }, options, |_| ())
}

/// The trace of what was sent under the rules of markers, as sent and as a design sends it.
pub(crate) fn traces(history: &History, design: PromptDesign) -> [PromptTrace; 2] {
    let steps = steps(history);
    let as_sent = build(history, &steps, SharedPrefix::Auto);
    let as_sent = as_sent.first(history.sent_with_markers().len());
    let designed = redesign(history, &steps, &as_sent, design).trace;
    [as_sent, designed]
}

/// Read, written for five minutes and for an hour, and sent in full.
type Figures = [u64; 4];

fn figures(outcome: &Outcome) -> Figures {
    assert_eq!(outcome.refusal, None);
    [outcome.read.0, outcome.write_5m.0, outcome.write_1h.0, outcome.input.0]
}

fn under(design: PromptDesign, lines: &[String]) -> Vec<Figures> {
    let history = read_bytes(lines);
    assert_eq!(history.requests.len(), lines.len());
    let [_, designed] = traces(&history, design);
    simulate(&designed, &RULES).iter().map(figures).collect()
}

/// A text block of so many bytes: 25 of them are not the text.
fn text(size: usize, letter: &str, marker: &str) -> String {
    format!(r#"{{"type":"text","text":"{}"{marker}}}"#, letter.repeat(size - 25))
}

/// A tool of so many bytes: 28 of them are neither name nor description.
fn tool(size: usize, name: &str, marker: &str) -> String {
    let description = "d".repeat(size - 28 - name.len());
    format!(r#"{{"name":"{name}","description":"{description}"{marker}}}"#)
}

/// An attribution line of so many bytes: 53 of them are frame and name.
fn attribution(size: usize, letter: &str) -> String {
    let version = letter.repeat(size - 53);
    format!(r#"{{"type":"text","text":"x-anthropic-billing-header: {version}"}}"#)
}

/// One request.
struct Sent<'a> {
    minute: usize,
    session: &'a str,
    scope: &'a str,
    /// Further members of the body, with a comma after each.
    settings: &'a str,
    tools: Vec<String>,
    system: Vec<String>,
    /// Blocks of the user and of the model in turn, the user's first.
    messages: Vec<String>,
    /// What the record says of the answer, with a comma in front.
    usage: &'a str,
}

const BARE: Sent<'_> = Sent {
    minute: 0,
    session: "s1",
    scope: "a",
    settings: "",
    tools: Vec::new(),
    system: Vec::new(),
    messages: Vec::new(),
    usage: "",
};

impl Sent<'_> {
    fn line(&self) -> String {
        let Self { minute, session, scope, settings, usage, .. } = self;
        let message = |(number, block): (usize, &String)| {
            let role = ["user", "assistant"][number % 2];
            format!(r#"{{"role":"{role}","content":[{block}]}}"#)
        };
        let messages: Vec<String> = self.messages.iter().enumerate().map(message).collect();
        let (tools, system, messages) =
            (self.tools.join(","), self.system.join(","), messages.join(","));
        format!(
            r#"{{"timestamp":"2026-09-01T10:{minute:02}:00Z","request_id":"r{minute}","session_id":"{session}","scope":"{scope}","request":{{"model":"claude-opus-5",{settings}"tools":[{tools}],"system":[{system}],"messages":[{messages}]}}{usage}}}"#
        )
    }
}

/// The messages of the first request, and those of the second one, which goes on from it.
fn first_messages() -> Vec<String> {
    vec![text(100, "a", FIVE)]
}

fn next_messages() -> Vec<String> {
    vec![text(100, "a", ""), text(50, "b", ""), text(70, "c", FIVE)]
}

fn lines(sent: &[Sent<'_>]) -> Vec<String> {
    sent.iter().map(Sent::line).collect()
}

/// Tools of 1,000, 1,500 and 2,000 bytes, a system prompt of 500.
fn with_tools(orders: [[&str; 3]; 2], usages: [&'static str; 2]) -> Vec<String> {
    let sized = |name: &&str| match *name {
        "Bash" => tool(1_000, name, ""),
        "Read" => tool(1_500, name, ""),
        other => tool(2_000, other, ""),
    };
    let [first, next] = orders.map(|names| names.iter().map(sized).collect());
    let system = || vec![text(500, "s", FIVE)];
    lines(&[
        Sent {
            tools: first,
            system: system(),
            messages: first_messages(),
            usage: usages[0],
            ..BARE
        },
        Sent {
            minute: 1,
            tools: next,
            system: system(),
            messages: next_messages(),
            usage: usages[1],
            ..BARE
        },
    ])
}

const MIXED_TOOLS: [[&str; 3]; 2] = [["mcp__a__b", "Read", "Bash"], ["Bash", "mcp__a__b", "Read"]];

#[test]
fn sorted_tools_are_read_whatever_their_order_was() {
    let sent = with_tools(MIXED_TOOLS, [""; 2]);
    // 4,500 of tools, 500 and 100 are written; then nothing is the same, and 50 and 70 are new.
    let expected = [[0, 5_100, 0, 0], [0, 5_220, 0, 0]];
    assert_eq!(under(AS_SENT, &sent), expected);
    // The same tools in the same order: all that was written is read.
    assert_eq!(under(SORTED, &sent), [[0, 5_100, 0, 0], [5_100, 120, 0, 0]]);
}

/// A tool that comes later stands after the built-in ones, whose prefix is marked by position.
#[test]
fn a_marker_stays_at_its_position_among_the_tools() {
    let system = || vec![text(500, "s", "")];
    let sent = lines(&[
        Sent {
            tools: vec![tool(1_500, "Read", ""), tool(1_000, "Bash", FIVE)],
            system: system(),
            messages: first_messages(),
            ..BARE
        },
        Sent {
            minute: 1,
            tools: vec![
                tool(2_000, "mcp__a__b", ""),
                tool(1_000, "Bash", ""),
                tool(1_500, "Read", FIVE),
            ],
            system: system(),
            messages: next_messages(),
            ..BARE
        },
    ]);
    assert_eq!(under(AS_SENT, &sent), [[0, 3_100, 0, 0], [0, 5_220, 0, 0]]);
    // Bash and Read, 2,500, are an entry; the marker after the third tool finds it.
    assert_eq!(under(SORTED, &sent), [[0, 3_100, 0, 0], [2_500, 2_720, 0, 0]]);
}

#[test]
fn static_blocks_in_front_are_read_behind_a_clock() {
    let system = |clock: &str| vec![text(90, clock, ""), text(900, "s", HOUR), text(80, "t", "")];
    let sent = lines(&[
        Sent { system: system("1"), messages: first_messages(), ..BARE },
        Sent { minute: 1, system: system("2"), messages: next_messages(), ..BARE },
    ]);
    // The clock stands in front: 990 for an hour, then 180 and, with 50 and 70 more, 300.
    assert_eq!(under(AS_SENT, &sent), [[0, 180, 990, 0], [0, 300, 990, 0]]);
    // 900 and 80 in front of the clock, with the marker after them: 980 for an hour, and the 90 of
    // the clock with the messages.
    assert_eq!(under(STATIC_FIRST, &sent), [[0, 190, 980, 0], [980, 310, 0, 0]]);
}

/// Of two markers the first one moves, and TTLs stay in their order.
#[test]
fn the_number_of_markers_stays() {
    let system = |clock: &str| {
        vec![text(90, clock, HOUR), text(900, "s", ""), text(60, "t", ""), text(80, clock, FIVE)]
    };
    let sent = lines(&[
        Sent { system: system("1"), messages: first_messages(), ..BARE },
        Sent { minute: 1, system: system("2"), messages: next_messages(), ..BARE },
    ]);
    // The prefix of 90 is too short to be cached: all is written for five minutes.
    assert_eq!(under(AS_SENT, &sent), [[0, 1_230, 0, 0], [0, 1_350, 0, 0]]);
    // 900 and 60 for an hour; 90 and 80 of clocks after them for five minutes, with the messages.
    assert_eq!(under(STATIC_FIRST, &sent), [[0, 270, 960, 0], [960, 390, 0, 0]]);
}

#[test]
fn what_never_changes_stays_as_sent() {
    let system = || vec![text(600, "s", FIVE), text(90, "t", "")];
    let sent = lines(&[
        Sent { system: system(), messages: first_messages(), ..BARE },
        Sent { minute: 1, system: system(), messages: next_messages(), ..BARE },
        Sent { minute: 2, session: "s2", system: system(), messages: next_messages(), ..BARE },
    ]);
    let expected = [[0, 790, 0, 0], [790, 120, 0, 0], [910, 0, 0, 0]];
    assert_eq!(under(AS_SENT, &sent), expected);
    assert_eq!(under(STATIC_FIRST, &sent), expected);
}

#[test]
fn scopes_share_what_is_static() {
    let system = |own: &str| vec![text(1_000, "s", ""), text(100, own, HOUR)];
    let of = |minute, session, scope, own| Sent {
        minute,
        session,
        scope,
        system: system(own),
        messages: first_messages(),
        ..BARE
    };
    let sent = lines(&[of(0, "s1", "a", "1"), of(1, "s2", "b", "2")]);
    assert_eq!(under(AS_SENT, &sent), [[0, 100, 1_100, 0]; 2]);
    // One marker after the 1,000 for everyone; the 100 and the message's 100 are written after.
    assert_eq!(under(SCOPES_ON, &sent), [[0, 200, 1_000, 0], [1_000, 200, 0, 0]]);
    assert_eq!(under(SCOPES_OFF, &sent), [[0, 100, 1_100, 0]; 2]);
}

#[test]
fn a_session_alone_shows_nothing_static() {
    let system = || vec![text(1_000, "s", HOUR)];
    let sent = lines(&[
        Sent { system: system(), messages: first_messages(), ..BARE },
        Sent { minute: 1, scope: "b", system: system(), messages: next_messages(), ..BARE },
    ]);
    let expected = [[0, 100, 1_000, 0], [0, 220, 1_000, 0]];
    assert_eq!(under(AS_SENT, &sent), expected);
    assert_eq!(under(SCOPES_ON, &sent), expected);
}

#[test]
fn without_scopes_each_caches_for_itself() {
    let of = |minute, session, scope| Sent {
        minute,
        session,
        scope,
        system: vec![text(1_000, "s", GLOBAL)],
        messages: first_messages(),
        ..BARE
    };
    let sent = lines(&[of(0, "s1", "a"), of(1, "s2", "b")]);
    assert_eq!(under(AS_SENT, &sent), [[0, 1_100, 0, 0], [1_000, 100, 0, 0]]);
    assert_eq!(under(SCOPES_ON, &sent), [[0, 1_100, 0, 0], [1_000, 100, 0, 0]]);
    assert_eq!(under(SCOPES_OFF, &sent), [[0, 1_100, 0, 0]; 2]);
}

/// A bundle whose system prompt has 975 bytes of text before the boundary and 75 after it, and whose
/// message has 75.
fn bundle(minute: usize, session: &str, scope: &str) -> String {
    let [common, own, message] =
        [("s", 975), (session, 75), ("m", 75)].map(|(text, size)| text.repeat(size / text.len()));
    format!(
        r#"{{"timestamp":"2026-09-01T10:{minute:02}:00Z","request_id":"r{minute}","session_id":"{session}","scope":"{scope}","prompt":{{"model":"claude-opus-5","system":["{common}","__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__","{own}"],"messages":[{{"role":"user","content":"{message}"}}]}}}}"#
    )
}

#[test]
fn a_bundle_is_placed_with_scopes_or_without() {
    let bundles = [bundle(0, "1", "a"), bundle(1, "2", "b")];
    let placed = |global_scope| {
        let counting = TokenCounting::Bytes(NonZeroU64::MIN);
        let history = read_with(
            &bundles,
            ReadOptions { global_scope, counting, keeps_bytes: true, ..ReadOptions::default() },
        );
        let [as_sent, _] = traces(&history, AS_SENT);
        simulate(&as_sent, &RULES).iter().map(figures).collect::<Vec<_>>()
    };
    // A block of 1,000 for everyone; 100 after the boundary and 100 of the message for an hour.
    let scoped = [[0, 0, 1_200, 0], [1_000, 0, 200, 0]];
    assert_eq!(placed(None), scoped);
    assert_eq!(placed(Some(true)), scoped);
    // One block of 975, a blank line in four bytes, and 75; 25 around it.
    assert_eq!(placed(Some(false)), [[0, 0, 1_179, 0]; 2]);
}

/// Three requests that go on from one another, with a setting each.
fn with_settings(settings: [&'static str; 3]) -> Vec<String> {
    let system = || vec![text(1_000, "s", FIVE)];
    let mut last = next_messages();
    last[2] = text(70, "c", "");
    last.extend([text(30, "d", ""), text(40, "e", FIVE)]);
    let messages = [first_messages(), next_messages(), last];
    let sent = |(minute, (settings, messages))| {
        Sent { minute, settings, system: system(), messages, ..BARE }.line()
    };
    settings.into_iter().zip(messages).enumerate().map(sent).collect()
}

#[test]
fn a_latched_setting_does_not_flip() {
    let on = r#""thinking":{"type":"enabled","budget_tokens":4000},"#;
    let other = r#""thinking":{"type":"enabled","budget_tokens":8000},"#;
    let off = r#""thinking":{"type":"disabled"},"#;
    let sent = with_settings([on, off, other]);
    // Thinking stands in front of the messages: the system prompt alone is read.
    let expected = [[0, 1_100, 0, 0], [1_000, 220, 0, 0], [1_000, 290, 0, 0]];
    assert_eq!(under(AS_SENT, &sent), expected);
    let expected = [[0, 1_100, 0, 0], [1_100, 120, 0, 0], [1_220, 70, 0, 0]];
    assert_eq!(under(LATCHED, &sent), expected);
}

#[test]
fn a_latch_begins_with_the_first_request_that_is_on() {
    let sent = with_settings(["", r#""speed":"fast","#, ""]);
    // Speed stands in front of the system prompt. The third request finds the first one's entry.
    let expected = [[0, 1_100, 0, 0], [0, 1_220, 0, 0], [1_100, 190, 0, 0]];
    assert_eq!(under(AS_SENT, &sent), expected);
    let expected = [[0, 1_100, 0, 0], [0, 1_220, 0, 0], [1_220, 70, 0, 0]];
    assert_eq!(under(LATCHED, &sent), expected);
}

#[test]
fn a_latch_ends_where_the_messages_begin_anew() {
    let system = || vec![text(1_000, "s", FIVE)];
    let fast = r#""speed":"fast","#;
    let sent = lines(&[
        Sent { system: system(), messages: first_messages(), ..BARE },
        Sent { minute: 1, settings: fast, system: system(), messages: next_messages(), ..BARE },
        Sent { minute: 2, system: system(), messages: vec![text(60, "z", FIVE)], ..BARE },
    ]);
    // The system prompt of the first request is as warm as ever.
    let expected = [[0, 1_100, 0, 0], [0, 1_220, 0, 0], [1_000, 60, 0, 0]];
    assert_eq!(under(AS_SENT, &sent), expected);
    assert_eq!(under(LATCHED, &sent), expected);
}

#[test]
fn a_stable_attribution_is_the_first_of_its_session() {
    let of = |minute, session, line| Sent {
        minute,
        session,
        system: vec![line, text(1_000, "s", FIVE)],
        messages: if minute == 1 { next_messages() } else { first_messages() },
        ..BARE
    };
    let sent = lines(&[
        of(0, "s1", attribution(80, "1")),
        of(1, "s1", attribution(95, "2")),
        of(2, "s2", attribution(95, "2")),
    ]);
    let expected = [[0, 1_180, 0, 0], [0, 1_315, 0, 0], [1_095, 100, 0, 0]];
    assert_eq!(under(AS_SENT, &sent), expected);
    // The second request has the line of 80 bytes, too, and 15 fewer in all; the other session has
    // its own line, which nobody sent before.
    let expected = [[0, 1_180, 0, 0], [1_180, 120, 0, 0], [0, 1_195, 0, 0]];
    assert_eq!(under(STABLE, &sent), expected);
}

/// A design of several parts: the stable line is static, and thinking no longer flips.
#[test]
fn designs_combine() {
    let off = r#""thinking":{"type":"disabled"},"#;
    let on = r#""thinking":{"type":"adaptive"},"#;
    let system = |line: &str, clock: &str| {
        vec![text(90, clock, ""), attribution(80, line), text(900, "s", FIVE)]
    };
    let sent = lines(&[
        Sent {
            settings: on,
            tools: vec![tool(200, "b", ""), tool(100, "a", "")],
            system: system("1", "1"),
            messages: first_messages(),
            ..BARE
        },
        Sent {
            minute: 1,
            settings: off,
            tools: vec![tool(100, "a", ""), tool(200, "b", "")],
            system: system("2", "1"),
            messages: next_messages(),
            ..BARE
        },
    ]);
    assert_eq!(under(AS_SENT, &sent), [[0, 1_470, 0, 0], [0, 1_590, 0, 0]]);
    let all = PromptDesign {
        tools: Tools::Sorted,
        system: SystemPrompt::StaticFirst,
        settings: Settings::Latched,
        attribution: Attribution::Stable,
        ..AS_SENT
    };
    assert_eq!(under(all, &sent), [[0, 1_470, 0, 0], [1_470, 120, 0, 0]]);
    let without_latch = PromptDesign { settings: Settings::AsSent, ..all };
    // Tools and system prompt are 1,370.
    assert_eq!(under(without_latch, &sent), [[0, 1_470, 0, 0], [1_370, 220, 0, 0]]);
}

/// What was recorded: all was written, and once more a minute later.
const BROKEN: [&str; 2] = [
    r#","usage":{"input_tokens":3,"cache_read_input_tokens":0,"cache_creation_input_tokens":20000,"output_tokens":9}"#,
    r#","usage":{"input_tokens":3,"cache_read_input_tokens":0,"cache_creation_input_tokens":20100,"output_tokens":9}"#,
];

/// Simulated in tokens, as a counterfactual that keeps recorded breaks.
fn in_tokens(design: PromptDesign, lines: &[String]) -> Vec<Figures> {
    let history = read_counted(lines, TokenCounting::Estimated, true);
    let [_, designed] = traces(&history, design);
    let policy = Policy { keeps_breaks: true, ..RULES };
    simulate(&designed, &policy).iter().map(figures).collect()
}

#[test]
fn a_break_that_a_design_prevents_is_not_kept() {
    let sent = with_tools(MIXED_TOOLS, BROKEN);
    let broken = [[0, 20_001, 0, 2], [0, 20_100, 0, 3]];
    assert_eq!(in_tokens(AS_SENT, &sent), broken);
    // Before any usage is known, two tokens are taken to stand after the last marker.
    // Totals are those recorded: 20,000 of the second prompt are the first one.
    assert_eq!(in_tokens(SORTED, &sent), [[0, 20_001, 0, 2], [20_000, 100, 0, 3]]);
    // Nothing but the service explains this one.
    let same = with_tools([MIXED_TOOLS[0]; 2], BROKEN);
    assert_eq!(in_tokens(SORTED, &same), broken);
}

#[test]
fn latched_beta_features_prevent_a_break() {
    let features = [r#""betas":["a","b"],"#, r#""betas":["b"],"#];
    let sent = |minute: usize, messages| Sent {
        minute,
        settings: features[minute],
        system: vec![text(500, "s", FIVE)],
        messages,
        usage: BROKEN[minute],
        ..BARE
    };
    let sent = lines(&[sent(0, first_messages()), sent(1, next_messages())]);
    let broken = [[0, 20_001, 0, 2], [0, 20_100, 0, 3]];
    assert_eq!(in_tokens(AS_SENT, &sent), broken);
    assert_eq!(in_tokens(SORTED, &sent), broken);
    assert_eq!(in_tokens(LATCHED, &sent), [[0, 20_001, 0, 2], [20_000, 100, 0, 3]]);
}

#[test]
fn without_bytes_everything_stays_as_sent() {
    let sent = with_tools(MIXED_TOOLS, [""; 2]);
    let history = read_counted(&sent, TokenCounting::Bytes(NonZeroU64::MIN), false);
    let [as_sent, designed] = traces(&history, SORTED);
    assert_eq!(simulate(&as_sent, &RULES), simulate(&designed, &RULES));
}
