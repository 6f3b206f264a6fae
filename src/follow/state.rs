//! What is kept of a followed file between two looks at it, and its bytes in the cache folder: a line of JSON,
//! forty bytes a request, and a hash of both.

use serde::{Deserialize, Serialize};

use super::part::hash;
use super::seen::{About, Billed, FoundBreak, Next, Repairs};
use crate::base::units::{Millis, Picodollars, Tokens};

/// What is known of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    /// What was billed for its requests, in the order of their answers' first lines.
    pub requests: Vec<Billed>,
    /// The breaks in it, by time.
    pub breaks: Vec<FoundBreak>,
    /// What the next message costs.
    pub next: Option<Next>,
    /// How many bytes of it are known.
    pub bytes: u64,
    /// How many were read by the last look at it, beside searching for where reading goes on. Not kept.
    pub read: u64,
    /// Whose requests it has. Not kept.
    pub about: Option<About>,
    /// Which file it was, and in which state, as hashes; `None` where the system does not say.
    pub(super) identity: Option<(u64, u64)>,
    pub(super) mark: Option<Mark>,
}

/// Where reading goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    /// The offset of the first line that is read again.
    pub(super) from: u64,
    /// The offset of the first line that is open: what is before it is settled.
    pub(super) open: u64,
    /// How many lines are between the two.
    pub(super) lines: u64,
    /// How many requests are settled.
    pub(super) settled: u64,
    /// The hash of the bytes between the two.
    pub(super) hash: u64,
    /// How many lines were mended from `from` on.
    pub(super) repairs: Repairs,
}

/// Everything but the requests.
#[derive(Serialize, Deserialize)]
struct Header {
    /// The hash of all that the figures depend on beside the file.
    of: u64,
    requests: u64,
    breaks: Vec<FoundBreak>,
    next: Option<Next>,
    bytes: u64,
    identity: Option<(u64, u64)>,
    mark: Option<Mark>,
}

/// Eight bytes each.
const NUMBERS_OF_REQUEST: usize = 5;

/// No cost.
const UNKNOWN: u64 = u64::MAX;

impl Followed {
    /// The newest break in it.
    #[must_use]
    pub fn last_break(&self) -> Option<FoundBreak> {
        self.breaks.last().copied()
    }

    /// The bytes that [`decode`](Self::decode) takes. `of` is the hash of all that the figures depend on beside the
    /// file. `None` of what they have no room for: a request of more than eighteen million dollars.
    #[must_use]
    pub fn encode(&self, of: u64) -> Option<Vec<u8>> {
        let Self { requests, breaks, next, bytes, identity, mark, read: _, about: _ } = self;
        let header = Header {
            of,
            requests: requests.len() as u64,
            breaks: breaks.clone(),
            next: next.clone(),
            bytes: *bytes,
            identity: *identity,
            mark: *mark,
        };
        let mut content = serde_json::to_vec(&header).ok()?;
        content.push(b'\n');
        content.reserve((requests.len() * NUMBERS_OF_REQUEST + 1) * size_of::<u64>());
        for request in requests {
            for number in numbers(request)? {
                content.extend_from_slice(&number.to_le_bytes());
            }
        }
        let sum = hash(&content);
        content.extend_from_slice(&sum.to_le_bytes());
        Some(content)
    }

    /// What was encoded with the same `of`. `None` of everything else: damage, another version's, other prices.
    #[must_use]
    pub fn decode(bytes: &[u8], of: u64) -> Option<Self> {
        let (content, sum) = bytes.split_last_chunk()?;
        if hash(content) != u64::from_le_bytes(*sum) {
            return None;
        }
        let end = memchr::memchr(b'\n', content)?;
        let header: Header = serde_json::from_slice(&content[..end]).ok()?;
        let (numbers, []) = content[end + 1..].as_chunks() else { return None };
        let numbers: Vec<u64> = numbers.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        let (rows, []) = numbers.as_chunks() else { return None };
        let Header { of: own, requests, breaks, next, bytes, identity, mark } = header;
        let is_sound = own == of
            && requests == rows.len() as u64
            && mark.is_none_or(|mark| {
                mark.from <= mark.open && mark.open <= bytes && mark.settled <= requests
            });
        let requests = rows.iter().copied().map(request).collect();
        let kept = Self { requests, breaks, next, bytes, identity, mark, ..Self::default() };
        is_sound.then_some(kept)
    }
}

fn numbers(request: &Billed) -> Option<[u64; NUMBERS_OF_REQUEST]> {
    let Billed { id, at, cost, read, prompt } = request;
    let cost = match cost {
        None => UNKNOWN,
        Some(cost) => u64::try_from(cost.0).ok().filter(|cost| *cost != UNKNOWN)?,
    };
    Some([*id, at.get().cast_unsigned(), cost, read.0, prompt.0])
}

fn request([id, at, cost, read, prompt]: [u64; NUMBERS_OF_REQUEST]) -> Billed {
    Billed {
        id,
        at: Millis::new(at.cast_signed()),
        cost: (cost != UNKNOWN).then(|| Picodollars(cost.into())),
        read: Tokens(read),
        prompt: Tokens(prompt),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ttl::Ttl;
    use crate::explain::breaks::Cause;

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
