//! Names in lines of Claude Code that the program does not know, and clients newer than those that it knows.

use crate::base::ByKey;
use crate::explain::breaks::add_each;
use crate::read::transcript::{KNOWN_UNTIL, NovelPart};
use crate::requests::conversation::History;
use crate::requests::prompt::ClientVersion;

/// Lines with an unknown name by client version; of a newer client its requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Novelties(pub ByKey<(NovelPart, String), ByKey<String, u64>>);

impl Novelties {
    /// Unknown names of a history.
    pub fn of(history: &History) -> Self {
        let mut all = Self::default();
        let known = ClientVersion::parse(KNOWN_UNTIL);
        for request in history.of_transcripts() {
            let version = history.text(request.client_version).unwrap_or_default();
            if ClientVersion::parse(version) > known {
                all.add(NovelPart::Client, version, version, 1);
            }
        }
        for novelty in &history.novelties {
            let version = history.text(novelty.client_version).unwrap_or("unknown");
            let name = history.symbols.text(novelty.name);
            all.add(novelty.part, name, version, novelty.lines);
        }
        all
    }

    fn add(&mut self, part: NovelPart, name: &str, version: &str, lines: u64) {
        let by_version = self.0.entry((part, name.to_owned())).or_default();
        *by_version.entry(version.to_owned()).or_default() += lines;
    }

    /// Adds the unknown names of another history.
    pub fn absorb(&mut self, other: Self) {
        for (name, by_version) in other.0 {
            add_each(self.0.entry(name).or_default(), by_version);
        }
    }
}
