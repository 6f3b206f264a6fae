//! State of a followed file between two looks, and its encoding in the cache folder: a line of JSON, forty bytes a
//! request, 32 bytes a break, and a hash of everything.

use serde::{Deserialize, Serialize};

use super::part::hash;
use super::seen::{About, Billed, FoundBreak, Next, Repairs};
use crate::base::{Millis, Ordered as _, Picodollars, Tokens};
use crate::explain::breaks::Cause;

/// Known state of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// Billing of the requests, in the order of their answers' first lines.
    pub requests: Vec<Billed>,
    /// Breaks in the file, by time.
    pub breaks: Vec<FoundBreak>,
    /// Forecast for the next message.
    pub next: Option<Next>,
    /// Known bytes of the file.
    pub bytes: u64,
    /// Bytes that the last look read, without the search for a new start. Not kept.
    pub read: u64,
    /// Session, project and sub-agent of the file. Not kept.
    pub about: Option<About>,
    /// Hashes of the identity and the state of the file; `None` if the system does not give them.
    pub(super) identity: Option<(u64, u64)>,
    pub(super) mark: Option<Mark>,
}

/// Place at which the next look starts to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    /// Offset of the first line that is read again.
    pub(super) from: u64,
    /// Offset of the first open line: everything before it is settled.
    pub(super) open: u64,
    /// Number of lines between the two offsets.
    pub(super) lines: u64,
    /// Number of settled requests.
    pub(super) settled: u64,
    /// Hash of the bytes between the two offsets.
    pub(super) hash: u64,
    /// Repairs from `from` on.
    pub(super) repairs: Repairs,
}

/// State without the requests and the breaks.
#[derive(Serialize, Deserialize)]
struct Header {
    /// Hash of everything besides the file that the figures depend on.
    of: u64,
    /// Number of requests.
    requests: usize,
    breaks: usize,
    /// Causes of the breaks, by name, each once; rows have their places in this list.
    causes: Vec<Cause>,
    next: Option<Next>,
    bytes: u64,
    identity: Option<(u64, u64)>,
    mark: Option<Mark>,
}

/// Numbers of a request or a break, eight bytes each. Reading them takes a tenth of the time of JSON.
type RequestRow = [u64; 5];
type BreakRow = [u64; 4];

/// Encoding of an unknown cost.
const UNKNOWN: u64 = u64::MAX;

impl Followed {
    /// First bytes of every encoding.
    pub const BEGINNING: &[u8; 6] = b"{\"of\":";

    /// Newest break in the file.
    pub fn last_break(&self) -> Option<FoundBreak> {
        self.breaks.last().copied()
    }

    /// Bytes for [`decode`](Self::decode). `of` is the hash of everything besides the file that the figures depend on.
    /// `None` if a request costs more than eighteen million dollars, for which a row has no room.
    pub fn encode(&self, of: u64) -> Option<Vec<u8>> {
        let Self { requests, breaks, next, bytes, identity, mark, read: _, about: _ } = self;
        let causes: Vec<Cause> = breaks.iter().map(|found| found.cause).ordered();
        let header = Header {
            of,
            requests: requests.len(),
            breaks: breaks.len(),
            causes: causes.clone(),
            next: next.clone(),
            bytes: *bytes,
            identity: *identity,
            mark: *mark,
        };
        let mut content = serde_json::to_vec(&header).ok()?;
        content.push(b'\n');
        content.reserve(rows_of(requests.len(), breaks.len())? + size_of::<u64>());
        for request in requests {
            content
                .extend_from_slice(row_of_request(request)?.map(u64::to_le_bytes).as_flattened());
        }
        for found in breaks {
            let row = row_of_break(found, &causes)?;
            content.extend_from_slice(row.map(u64::to_le_bytes).as_flattened());
        }
        let sum = hash(&content);
        content.extend_from_slice(&sum.to_le_bytes());
        Some(content)
    }

    /// Decodes bytes that were encoded with the same `of`. `None` for damage, another version or other prices.
    pub fn decode(bytes: &[u8], of: u64) -> Option<Self> {
        let (content, sum) = bytes.split_last_chunk()?;
        if hash(content) != u64::from_le_bytes(*sum) {
            return None;
        }
        let end = memchr::memchr(b'\n', content)?;
        let header: Header = serde_json::from_slice(&content[..end]).ok()?;
        let rows = &content[end + 1..];
        if header.of != of || rows_of(header.requests, header.breaks)? != rows.len() {
            return None;
        }
        let (requests, breaks) = rows.split_at(header.requests * size_of::<RequestRow>());
        let requests = rows_in(requests).map(request).collect();
        let found_break = |row| found_break(row, &header.causes);
        let breaks = rows_in(breaks).map(found_break).collect::<Option<_>>()?;
        let Header { next, bytes, identity, mark, .. } = header;
        // A right hash does not make the numbers sound: a faulty program may have written both.
        let is_sound = mark.is_none_or(|mark| {
            let is_known = mark.settled <= header.requests as u64;
            mark.from <= mark.open && mark.open <= bytes && is_known
        });
        let kept = Self { requests, breaks, next, bytes, identity, mark, ..Self::default() };
        is_sound.then_some(kept)
    }
}

/// Bytes of the rows of requests and breaks. `None` if the number overflows.
fn rows_of(requests: usize, breaks: usize) -> Option<usize> {
    let requests = requests.checked_mul(size_of::<RequestRow>())?;
    breaks.checked_mul(size_of::<BreakRow>())?.checked_add(requests)
}

/// Rows in bytes whose length is a multiple of the row's.
fn rows_in<const NUMBERS: usize>(bytes: &[u8]) -> impl Iterator<Item = [u64; NUMBERS]> {
    let (numbers, _) = bytes.as_chunks();
    numbers.as_chunks().0.iter().map(|row| row.map(u64::from_le_bytes))
}

fn row_of_request(request: &Billed) -> Option<RequestRow> {
    let Billed { id, at, cost, read, prompt } = request;
    Some([*id, at.get().cast_unsigned(), number_of(*cost)?, read.0, prompt.0])
}

fn request([id, at, cost, read, prompt]: RequestRow) -> Billed {
    Billed {
        id,
        at: Millis::new(at.cast_signed()),
        cost: cost_of(cost),
        read: Tokens(read),
        prompt: Tokens(prompt),
    }
}

/// Encodes a break, with the place of its cause among those of the header.
fn row_of_break(found: &FoundBreak, causes: &[Cause]) -> Option<BreakRow> {
    let FoundBreak { request, sent, cause, excess } = found;
    let cause = causes.iter().position(|one| one == cause)?;
    Some([*request, sent.get().cast_unsigned(), cause as u64, number_of(*excess)?])
}

fn found_break([request, sent, cause, excess]: BreakRow, causes: &[Cause]) -> Option<FoundBreak> {
    let cause = *causes.get(usize::try_from(cause).ok()?)?;
    Some(FoundBreak {
        request,
        sent: Millis::new(sent.cast_signed()),
        cause,
        excess: cost_of(excess),
    })
}

/// Encodes a cost. `None` if it does not fit.
fn number_of(cost: Option<Picodollars>) -> Option<u64> {
    cost.map_or(Some(UNKNOWN), |cost| u64::try_from(cost.0).ok().filter(|cost| *cost != UNKNOWN))
}

fn cost_of(number: u64) -> Option<Picodollars> {
    (number != UNKNOWN).then(|| Picodollars(number.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Ttl;

    fn followed() -> Followed {
        let found = FoundBreak {
            request: u64::MAX,
            sent: Millis::new(1_789_999_999_999),
            cause: Cause::ToolsChanged,
            excess: None,
        };
        let request = Billed {
            id: 7,
            at: Millis::new(-1),
            cost: Some(Picodollars(440_000_000_000)),
            read: Tokens(90_000),
            prompt: Tokens(100_000),
        };
        Followed {
            requests: vec![request, Billed { cost: None, ..request }],
            breaks: vec![found, FoundBreak { excess: Some(Picodollars(1)), ..found }],
            next: Some(Next {
                is_main: true,
                model: "claude-sonnet-5".to_owned(),
                ttl: Ttl::OneHour,
                warm_until: Millis::new(1_790_000_000_000),
                prompt: Tokens(100_200),
                warm: Some(Picodollars(1)),
                cold: None,
                compaction: [Some(Picodollars(2)), None],
                window: Some(Tokens(200_000)),
            }),
            bytes: 2_000,
            read: 0,
            about: None,
            identity: Some((3, 4)),
            mark: Some(Mark {
                from: 10,
                open: 1_900,
                lines: 4,
                settled: 1,
                hash: 5,
                repairs: [1; 6],
            }),
        }
    }

    #[test]
    fn what_is_kept_comes_back() {
        for one in [followed(), Followed::default()] {
            let bytes = one.encode(1).expect("room");
            assert_eq!(Followed::decode(&bytes, 1), Some(one));
        }
    }

    /// A state outlives the order in which the causes are declared.
    #[test]
    fn causes_are_kept_by_name() {
        let bytes = followed().encode(1).expect("room");
        let causes = b"\"causes\":[\"tools_changed\"]";
        assert!(memchr::memmem::find(&bytes, causes).is_some());
    }

    #[test]
    fn no_damage_is_believed() {
        let bytes = followed().encode(1).expect("room");
        assert_eq!(Followed::decode(&bytes, 2), None);
        for length in 0..bytes.len() {
            assert_eq!(Followed::decode(&bytes[..length], 1), None, "{length}");
        }
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 0x20;
            assert_eq!(Followed::decode(&damaged, 1), None, "{place}");
        }
    }

    /// Bytes with a right hash, as a faulty program would write them.
    #[test]
    fn rows_that_do_not_fit_the_header_are_not_believed() {
        let bytes = followed().encode(1).expect("room");
        let content = &bytes[..bytes.len() - size_of::<u64>()];
        let hashed = |mut content: Vec<u8>| {
            content.extend_from_slice(&hash(&content).to_le_bytes());
            Followed::decode(&content, 1)
        };
        assert_eq!(hashed(content.to_vec()), Some(followed()));
        assert_eq!(hashed([content, &[0; 8]].concat()), None);
        let replaced = |from: &str, to: &str| {
            let at = memchr::memmem::find(content, from.as_bytes()).expect("in the header");
            hashed([&content[..at], to.as_bytes(), &content[at + from.len()..]].concat())
        };
        for requests in ["3", "461168601842738790", "18446744073709551615"] {
            assert_eq!(replaced("\"requests\":2", &format!("\"requests\":{requests}")), None);
        }
        let mut other_cause = content.to_vec();
        let at = content.len() - 2 * size_of::<u64>();
        other_cause[at..at + size_of::<u64>()].copy_from_slice(&99_u64.to_le_bytes());
        assert_eq!(hashed(other_cause), None);
    }

    #[test]
    fn numbers_that_do_not_fit_one_another_are_not_believed() {
        let mark = followed().mark;
        let with = |change: fn(&mut Mark)| {
            let mark = mark.map(|mut mark| {
                change(&mut mark);
                mark
            });
            let bytes = Followed { mark, ..followed() }.encode(1).expect("room");
            Followed::decode(&bytes, 1)
        };
        assert!(with(|_| {}).is_some());
        assert_eq!(with(|mark| mark.settled = 3), None);
        assert_eq!(with(|mark| mark.open = 2_001), None);
        assert_eq!(with(|mark| mark.from = 1_901), None);
    }
}
