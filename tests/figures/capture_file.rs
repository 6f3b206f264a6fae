//! Random capture files: conversations that grow, branch and change, with markers that are right and
//! wrong, written in many ways.

mod conversation;
mod noise;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// What a file starts with.
#[derive(Clone, Debug)]
struct Opening {
    is_opus: bool,
    tools: Vec<usize>,
    system: Vec<usize>,
    /// How far the system ends beyond the least that is cached, where it is filled up to that.
    beyond_minimum: Option<i64>,
    prompt: usize,
}

/// A request: where it goes on from, what is new in it, and how it is sent.
#[derive(Clone, Debug)]
struct Step {
    base: Base,
    /// The scope it is sent from, where that is not the one before.
    scope: Option<usize>,
    changes: Vec<Change>,
    growth: Vec<Growth>,
    marking: Marking,
    /// Milliseconds since the request before.
    gap: i64,
    /// Milliseconds until the response, where the record names them.
    delay: Option<i64>,
    /// The seed of white space, escapes and the order of keys.
    noise: u64,
}

#[derive(Clone, Debug)]
enum Base {
    Last,
    /// What the last request went on from.
    Sibling,
    Earlier(Index),
    /// The same tools and system, and a new conversation.
    Fresh(usize),
}

#[derive(Clone, Debug)]
enum Change {
    Setting(usize, usize),
    ToolText(usize),
    ToolOrder,
    ToolAdded(usize),
    DeferredTool(usize),
    EagerTool(usize),
    SystemText(usize),
}

#[derive(Clone, Debug)]
enum Growth {
    /// An answer and the next prompt.
    Turn(usize),
    /// So many messages of a few bytes.
    Chatter(usize),
    /// One message of so many small blocks.
    Blocks(usize),
    Calls {
        count: usize,
        is_spread: bool,
        seed: usize,
    },
    /// So many calls one after the other.
    Trips(usize),
    Thought {
        is_redacted: bool,
        is_last: bool,
    },
    Image {
        is_nested: bool,
    },
    Source {
        is_nested: bool,
        is_cited: bool,
    },
    /// The last messages are taken back.
    Cut(usize),
    /// A text with which the prompt ends so much beyond the least that is cached.
    UpToMinimum(i64),
    /// The last message comes from the other role.
    OtherRole,
    /// The last block of the last message becomes a message of its own, of the same role.
    Split,
    /// The keys of the last block come in the opposite order.
    KeysTurned,
}

#[derive(Clone, Debug)]
struct Marking {
    places: Vec<Place>,
    ttls: Ttls,
    globals: Globals,
    automatic: Automatic,
    /// Whether a marker stays on a block that cannot carry one.
    is_stubborn: bool,
    /// Whether the marker of a tool result stands in the last block of its content.
    is_inner: bool,
}

#[derive(Clone, Debug)]
enum Place {
    LastTool,
    FirstSystem,
    LastSystem,
    LastThought,
    /// So many blocks before the last.
    Back(usize),
    At(Index),
}

#[derive(Clone, Copy, Debug)]
enum Ttls {
    Five,
    Hour,
    /// An hour on tools and system.
    Mixed,
    /// A bit for each marker, so that the order may be refused.
    Any(u8),
}

#[derive(Clone, Copy, Debug)]
enum Globals {
    None,
    /// The markers on tools and system.
    Static,
    Any(u8),
}

#[derive(Clone, Copy, Debug)]
enum Automatic {
    No,
    Five,
    Hour,
}

fn opening() -> impl Strategy<Value = Opening> {
    let tools = prop::collection::vec(0_usize..12, 0..3);
    let system = prop::collection::vec(0_usize..12, 0..4);
    let beyond_minimum = prop::option::weighted(0.5, beyond_minimum());
    (any::<bool>(), tools, system, beyond_minimum, 0_usize..12).prop_map(
        |(is_opus, tools, system, beyond_minimum, prompt)| Opening {
            is_opus,
            tools,
            system,
            beyond_minimum,
            prompt,
        },
    )
}

/// Mostly none: a prefix that is just long enough.
fn beyond_minimum() -> impl Strategy<Value = i64> {
    prop_oneof![2 => Just(0_i64), 1 => -2_i64..3]
}

fn base() -> impl Strategy<Value = Base> {
    prop_oneof![
        12 => Just(Base::Last),
        3 => Just(Base::Sibling),
        3 => any::<Index>().prop_map(Base::Earlier),
        1 => (0_usize..12).prop_map(Base::Fresh),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        8 => (0_usize..6, 0_usize..4).prop_map(|(which, value)| Change::Setting(which, value)),
        1 => (0_usize..12).prop_map(Change::ToolText),
        1 => Just(Change::ToolOrder),
        1 => (0_usize..12).prop_map(Change::ToolAdded),
        2 => (0_usize..12).prop_map(Change::DeferredTool),
        1 => (0_usize..12).prop_map(Change::EagerTool),
        2 => (0_usize..12).prop_map(Change::SystemText),
    ]
}

fn growth() -> impl Strategy<Value = Growth> {
    let count = || prop_oneof![5 => 1_usize..5, 1 => 15_usize..30];
    prop_oneof![
        8 => (0_usize..24).prop_map(Growth::Turn),
        3 => prop_oneof![1 => 10_usize..24, 3 => 18_usize..22].prop_map(Growth::Chatter),
        2 => count().prop_map(Growth::Blocks),
        4 => (count(), any::<bool>(), 0_usize..6)
            .prop_map(|(count, is_spread, seed)| Growth::Calls { count, is_spread, seed }),
        2 => (1_usize..13).prop_map(Growth::Trips),
        3 => (any::<bool>(), any::<bool>())
            .prop_map(|(is_redacted, is_last)| Growth::Thought { is_redacted, is_last }),
        1 => any::<bool>().prop_map(|is_nested| Growth::Image { is_nested }),
        1 => (any::<bool>(), any::<bool>())
            .prop_map(|(is_nested, is_cited)| Growth::Source { is_nested, is_cited }),
        3 => (1_usize..4).prop_map(Growth::Cut),
        2 => beyond_minimum().prop_map(Growth::UpToMinimum),
        1 => Just(Growth::OtherRole),
        2 => Just(Growth::Split),
        1 => Just(Growth::KeysTurned),
    ]
}

fn places() -> impl Strategy<Value = Vec<Place>> {
    let any_place = || {
        prop_oneof![
            1 => Just(Place::LastTool),
            1 => Just(Place::FirstSystem),
            1 => Just(Place::LastThought),
            2 => Just(Place::LastSystem),
            4 => (0_usize..8).prop_map(Place::Back),
            2 => any::<Index>().prop_map(Place::At),
        ]
    };
    prop_oneof![
        6 => Just(vec![Place::LastSystem, Place::Back(0)]),
        5 => Just(vec![Place::Back(0)]),
        1 => Just(vec![Place::LastSystem]),
        2 => Just(vec![Place::LastTool, Place::LastSystem, Place::Back(0)]),
        2 => (1_usize..25).prop_map(|back| vec![Place::LastSystem, Place::Back(back), Place::Back(0)]),
        4 => prop::collection::vec(any_place(), 0..5),
        1 => prop::collection::vec(any_place(), 5..9),
    ]
}

fn marking() -> impl Strategy<Value = Marking> {
    let ttls = prop_oneof![
        5 => Just(Ttls::Five),
        4 => Just(Ttls::Hour),
        3 => Just(Ttls::Mixed),
        2 => any::<u8>().prop_map(Ttls::Any),
    ];
    let globals = prop_oneof![
        6 => Just(Globals::None),
        3 => Just(Globals::Static),
        2 => any::<u8>().prop_map(Globals::Any),
    ];
    let automatic = prop_oneof![18 => Just(Automatic::No), 2 => Just(Automatic::Five), 1 => Just(Automatic::Hour)];
    (places(), ttls, globals, automatic, prop::bool::weighted(0.4), prop::bool::weighted(0.3))
        .prop_map(|(places, ttls, globals, automatic, is_stubborn, is_inner)| Marking {
            places,
            ttls,
            globals,
            automatic,
            is_stubborn,
            is_inner,
        })
}

/// A step that is so likely the last request once more, with other markers, from another scope and
/// often as a sibling.
fn step(again: f64) -> impl Strategy<Value = Step> {
    let changes = prop_oneof![
        8 => Just(Vec::new()),
        2 => change().prop_map(|change| vec![change]),
        1 => prop::collection::vec(change(), 2..4),
    ];
    // Responses begin within the shortest life of an entry.
    let delay = prop_oneof![
        3 => Just(None),
        3 => (500_i64..3_000).prop_map(Some),
        3 => (3_000_i64..60_000).prop_map(Some),
        3 => (60_000_i64..299_000).prop_map(Some),
    ];
    let gap = prop_oneof![
        2 => Just(0_i64),
        5 => Just(1_000),
        8 => 1_000_i64..60_000,
        2 => Just(60_000),
        8 => 100_000_i64..299_000,
        1 => Just(299_999),
        1 => Just(300_000),
        4 => 290_000_i64..310_000,
        1 => 400_000_i64..3_500_000,
        1 => Just(3_600_000),
        2 => 3_590_000_i64..3_610_000,
    ];
    let noise = prop_oneof![Just(0), any::<u64>()];
    let growth = prop::collection::vec(growth(), 0..3);
    let soon = prop::option::weighted(0.5, 0_i64..30_000);
    let again = prop::option::weighted(again, soon);
    let scope = prop::option::weighted(0.2, 0_usize..4);
    (base(), scope, changes, growth, marking(), gap, delay, noise, again).prop_map(
        |(base, scope, changes, growth, marking, gap, delay, noise, again)| match again {
            None => Step { base, scope, changes, growth, marking, gap, delay, noise },
            Some(soon) => {
                let (changes, growth) = (Vec::new(), Vec::new());
                let gap = soon.unwrap_or(gap);
                Step { base: Base::Last, scope, changes, growth, marking, gap, delay, noise }
            }
        },
    )
}

/// A random capture file of up to so many requests, a record a line. Their ids are `r0`, `r1`, … in
/// time order; in some files the lines stand in another one.
pub(crate) fn capture_file(most_requests: usize) -> impl Strategy<Value = Vec<String>> {
    // Most steps are taken; a failing file shrinks by leaving out all but the first.
    let steps = |again| {
        let others = prop::option::weighted(0.85, step(again));
        (step(again), prop::collection::vec(others, most_requests - 1))
    };
    let steps = prop_oneof![3 => steps(0.15), 1 => steps(0.8)];
    let order = prop_oneof![3 => Just(0), 1 => any::<u64>()];
    (opening(), steps, order).prop_map(|(opening, steps, order)| {
        let (first, others) = steps;
        let steps: Vec<Step> = [first].into_iter().chain(others.into_iter().flatten()).collect();
        let mut lines = conversation::records(&opening, &steps);
        noise::Dice::new(order).shuffle(&mut lines);
        lines
    })
}

/// The random capture file that belongs to a seed.
pub(crate) fn random_file(seed: u64, most_requests: usize) -> Vec<String> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    file_of(TestRng::from_seed(RngAlgorithm::ChaCha, &bytes), most_requests)
}

/// The capture file that belongs to such bytes: a seed, and then what becomes of its lines, which are left
/// out or change places.
pub(crate) fn decided_file(bytes: &[u8], most_requests: usize) -> Vec<String> {
    let (seed, decisions) = bytes.split_at(bytes.len().min(32));
    let mut padded = [0; 32];
    padded[..seed.len()].copy_from_slice(seed);
    let mut lines = file_of(TestRng::from_seed(RngAlgorithm::ChaCha, &padded), most_requests);
    for decision in decisions.iter().map(|decision| usize::from(*decision)) {
        let at = decision / 2 % lines.len();
        if decision % 2 == 0 && lines.len() > 1 {
            lines.remove(at);
        } else {
            lines.swap(0, at);
        }
    }
    lines
}

fn file_of(random: TestRng, most_requests: usize) -> Vec<String> {
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    capture_file(most_requests).new_tree(&mut runner).expect("a file").current()
}
