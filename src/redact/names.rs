//! File and folder names with their words replaced, in the same order as before.
//!
//! Files are read in the order of their names, and that order decides some ties between requests.
//! So the replacement of a character sorts between the replacements of its neighbours, and names
//! keep common prefixes of the same length.

use std::collections::BTreeMap;
use std::ops::Range;

use super::escapes::escape_at;
use super::key::{Key, Prefix, Purpose};
use super::mapping::{Class, learn, members};
use super::vocabulary::{id_kind, is_folder, is_part_of_told_apart, is_told_apart};
use super::words::{SHORTEST_WORD, Words};
use crate::read::agent::SESSION_FOLDER;

/// Beginnings of the names of agent files and session folders. Readers look at them.
const BEGINNINGS: [&str; 2] = ["agent-", SESSION_FOLDER];

/// Endings of files that are read, and the empty one for every other name.
const ENDINGS: [&str; 8] =
    [".jsonl", ".jsonl.gz", ".jsonl.zst", ".json", ".har", ".csv", ".tsv", ""];

/// Limit on replacing all names again if one contains a word of the input by chance.
const MOST_ATTEMPTS: u64 = 64;

/// Parts of the labels of files, without their endings.
#[derive(Default)]
pub(super) struct Names {
    /// Each part with its replacement, which is empty until chosen.
    images: BTreeMap<String, String>,
}

/// Splits a name before the ending of a transcript.
fn split_ending(part: &str) -> (&str, &str) {
    let stem = ENDINGS.iter().find_map(|ending| part.strip_suffix(ending)).unwrap_or(part);
    part.split_at(stem.len())
}

impl Names {
    /// Adds the label of a file: names separated by `/`.
    pub(super) fn add(&mut self, label: &str, words: &mut Words) {
        for part in label.split('/') {
            let (stem, _) = split_ending(part);
            learn(words, stem.as_bytes());
            self.images.entry(stem.to_owned()).or_default();
        }
    }

    /// Chooses the replacements.
    pub(super) fn replace(&mut self, key: &Key, words: &Words) {
        let names: Vec<Name> =
            self.images.keys().map(|name| Name::new(name, self.stays(name))).collect();
        for attempt in 0..MOST_ATTEMPTS {
            let mut prefix = key.prefix(Purpose::FileName);
            prefix.add(attempt);
            let mut images: Vec<Vec<char>> =
                names.iter().map(|name| name.characters.clone()).collect();
            replace_behind(&names, &mut images, 0, prefix);
            let is_clear = images.iter().zip(self.images.keys()).all(|(image, name)| {
                self.stays(name) || !has_word(&image.iter().collect::<String>(), words)
            });
            // Kept even if a word is left: the last attempt has to do.
            for (image, slot) in images.iter().zip(self.images.values_mut()) {
                *slot = image.iter().collect();
            }
            if is_clear {
                return;
            }
        }
    }

    /// Returns true for a name that stays: one that readers look at, or a known folder's, if no other name
    /// shares its prefix.
    fn stays(&self, name: &str) -> bool {
        if is_told_apart(name) {
            return true;
        }
        let beginning: String = name.chars().take(SHORTEST_WORD as usize).collect();
        let others = self.images.range(beginning.clone()..);
        is_folder(name)
            && others.take_while(|(other, _)| other.starts_with(&beginning)).count() == 1
    }

    /// Replacement of a label.
    pub(super) fn label(&self, label: &str) -> String {
        let part = |part: &str| {
            let (stem, ending) = split_ending(part);
            let image = self.images.get(stem).map_or(stem, String::as_str);
            format!("{image}{ending}")
        };
        label.split('/').map(part).collect::<Vec<_>>().join("/")
    }

    /// All names with their replacements.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.images.iter().map(|(name, image)| (name.as_str(), image.as_str()))
    }
}

/// Characters of a name to replace, and their treatment.
struct Name {
    characters: Vec<char>,
    /// True for characters that stay.
    fixed: Vec<bool>,
    /// True for hexadecimal digits of escapes that become other digits.
    escaping: Vec<bool>,
    /// True for the hexadecimal id of a session or an agent.
    is_hexadecimal: bool,
}

impl Name {
    fn new(name: &str, stays: bool) -> Self {
        let rest = behind_beginning(name);
        let characters: Vec<char> = name.chars().collect();
        let beginning = if stays { characters.len() } else { name.len() - rest.len() };
        let mut fixed: Vec<bool> = (0..characters.len()).map(|at| at < beginning).collect();
        let mut escaping = vec![false; characters.len()];
        for (place, (at, _)) in name.char_indices().enumerate() {
            let Some(byte) = escape_at(name.as_bytes(), at) else { continue };
            // The first digit decides the kind of the byte. It stays, so that text stays text.
            fixed[place..place + 2].fill(true);
            let is_inside = (0x80..0xc0).contains(&byte);
            fixed[place + 2] |= !is_inside;
            escaping[place + 2] = is_inside;
        }
        let is_digit = |one: char| matches!(one, '0'..='9' | 'a'..='f' | '-');
        Self { characters, fixed, escaping, is_hexadecimal: rest.chars().all(is_digit) }
    }

    fn at(&self, depth: usize) -> Option<char> {
        self.characters.get(depth).copied()
    }
}

/// Replaces the characters from `depth` on of sorted names that are equal before it.
fn replace_behind(names: &[Name], images: &mut [Vec<char>], depth: usize, prefix: Prefix) {
    let starts: Vec<usize> = (0..names.len())
        .filter(|at| names[*at].characters.len() > depth)
        .filter(|at| *at == 0 || names[*at].at(depth) != names[*at - 1].at(depth))
        .collect();
    let mut before: Option<char> = None;
    for (order, start) in starts.iter().enumerate() {
        let end = starts.get(order + 1).copied().unwrap_or(names.len());
        let character = names[*start].characters[depth];
        let next = starts.get(order + 1).map(|start| names[*start].characters[depth]);
        let mut here = prefix;
        here.add(u64::from(u32::from(character)));
        let group = &names[*start..end];
        let image = if group.iter().any(|name| name.fixed[depth]) {
            character
        } else {
            let is_hexadecimal = group.iter().all(|name| name.is_hexadecimal)
                || group.iter().any(|name| name.escaping[depth]);
            let class = class_of(character, is_hexadecimal);
            image_between(character, &class, before..next, here.choice())
        };
        images[*start..end].iter_mut().for_each(|name| name[depth] = image);
        before = Some(image);
        // Names with this character in common keep a common prefix.
        replace_behind(&names[*start..end], &mut images[*start..end], depth + 1, here);
    }
}

/// Character of `class` that sorts between two others, and differs from the original if possible.
fn image_between(
    original: char,
    class: &[char],
    between: Range<Option<char>>,
    choice: u64,
) -> char {
    let is_between = |one: char| {
        between.start.is_none_or(|before| one > before) && between.end.is_none_or(|next| one < next)
    };
    let candidates: Vec<char> =
        class.iter().copied().filter(|one| *one != original && is_between(*one)).collect();
    let place = usize::try_from(choice % candidates.len().max(1) as u64).unwrap_or(0);
    candidates.get(place).copied().unwrap_or(original)
}

fn class_of(character: char, is_hexadecimal: bool) -> Vec<char> {
    match Class::of(character) {
        Class::Kept => Vec::new(),
        Class::Lower(_) if is_hexadecimal => ('a'..='f').collect(),
        Class::Lower(_) => ('a'..='z').collect(),
        Class::Upper(_) if is_hexadecimal => ('A'..='F').collect(),
        Class::Upper(_) => ('A'..='Z').collect(),
        Class::Digit(_) => ('0'..='9').collect(),
        Class::Other(class, _) => members(class).to_vec(),
    }
}

fn has_word(name: &str, words: &Words) -> bool {
    let mut runs = behind_beginning(name).split(|one: char| !one.is_alphabetic());
    // A name that shares its beginning with one that stays keeps the words of that one, too.
    runs.any(|run| {
        run.chars().count() >= SHORTEST_WORD as usize
            && words.contains(run)
            && !is_part_of_told_apart(run)
    })
}

/// Name without the beginning that readers look at, such as that of a message's or a thread's id.
fn behind_beginning(name: &str) -> &str {
    let known = BEGINNINGS.iter().find_map(|beginning| name.strip_prefix(beginning));
    known.unwrap_or(&name[id_kind(name)..])
}

#[cfg(test)]
mod tests {
    use super::super::key::KeyMaker;
    use super::*;

    fn replaced(labels: &[&str]) -> Vec<String> {
        let (mut names, mut words) = (Names::default(), Words::default());
        for label in labels {
            names.add(label, &mut words);
        }
        names.replace(&KeyMaker::default().finish(), &words);
        labels.iter().map(|label| names.label(label)).collect()
    }

    #[test]
    fn names_that_readers_look_at_stay() {
        let labels = [
            "home/.openclaw/agents/acme/sessions/a.jsonl",
            "wd_acme/session_5e1f0000-0000-4000-8000-000000000001/agents/main/wire.jsonl",
            "wd_acme/session_5e1f0000-0000-4000-8000-000000000001/agents/mainly/wire.jsonl",
            "rooveterinaryinc.roo-cline/tasks/private/ui_messages.json",
            "tasks/private/ui_messages_private.json",
            "storage/message/ses_b73e01/msg_b73e02.json",
        ];
        let images = replaced(&labels);
        let held = [
            "/.openclaw/agents/",
            "/agents/main/",
            "/agents/main",
            "rooveterinaryinc.roo-cline/",
            "/ui_messages_",
            "/ses_",
        ];
        for (image, held) in images.iter().zip(held) {
            assert!(image.contains(held), "{held} in {image}");
        }
        assert!(images[1].contains("/session_") && !images[1].contains("5e1f"), "{images:?}");
        assert!(images[3].ends_with("/ui_messages.json"), "{images:?}");
        assert_eq!(split_ending(&images[4]).1, ".json");
        assert!(images[5].contains("/msg_") && !images[5].contains("b73e"), "{images:?}");
        let gone = ["acme", "home", "private", "mainly", "tasks"];
        assert!(
            gone.iter().all(|word| images.iter().all(|image| !image.contains(word))),
            "{images:?}"
        );
    }

    #[test]
    fn escapes_in_names_stay_escapes() {
        let image = replaced(&["%2Fhome%2Fann%20b/%D0%BF%D1%80%D0%B8/T-5e1f.json"]).concat();
        let decoded = percent_encoding::percent_decode_str(&image).decode_utf8().expect("text");
        assert!(image.starts_with("%2F") && image.contains("/T-"), "{image}");
        assert!(!decoded.contains("home") && !decoded.contains('п'), "{decoded}");
    }

    #[test]
    fn names_lose_their_words_and_keep_their_order_and_endings() {
        let labels = [
            "-home-ann-secret/5e1f0000-0000-4000-8000-000000000001/subagents/agent-a1b2.jsonl",
            "-home-ann-secret/5e1f0000-0000-4000-8000-000000000001/subagents/agent-a1b3.jsonl.gz",
            "-home-ann-secret/5e1f0000-0000-4000-8000-000000000001.jsonl",
            "-home-ann-secret/session.jsonl.zst",
            "-home-ann-work/Grüße.jsonl",
        ];
        let images = replaced(&labels);
        let parts = |label: &str| label.split('/').map(str::to_owned).collect::<Vec<_>>();
        assert!(images.iter().map(|image| parts(image)).is_sorted(), "{images:?}");
        for (label, image) in labels.iter().zip(&images) {
            assert_eq!(image.len(), label.len());
            assert_eq!(split_ending(image).1, split_ending(label).1);
            let words = ["home", "secret", "session", "work", "Grüße", "5e1f"];
            assert!(words.iter().all(|word| !image.contains(word)), "{image}");
        }
        assert!(images[1].contains("/subagents/agent-"), "{}", images[1]);
        assert_eq!(images[2].strip_suffix(".jsonl"), images[0].split("/subagents").next());
    }
}
