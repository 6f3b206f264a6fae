//! Sessions whose requests are in one file of a folder, and whose messages are in another.

use std::path::{Path, PathBuf};

use rustc_hash::FxHashMap;

use super::{AgentFile, Piece, PieceId, Vendor};
use crate::base::id::Moved;
use crate::base::{HasSymbols, Millis, Order as _, Symbol, Symbols, UNKNOWN_MODEL, has_symbols};
use crate::read::input::Kind;

/// Part of a session that a file holds.
#[derive(Debug, Default)]
pub enum Half {
    /// Whole session.
    #[default]
    Whole,
    /// Requests, and the times of the unanswered ones, in file order.
    Requests(Vec<Millis>),
    /// Messages that were sent, in file order.
    Messages(Vec<Said>),
    /// Models of the requests, in file order.
    Models(Vec<Used>),
}

/// Model of the requests from some time on.
#[derive(Clone, Copy, Debug)]
pub struct Used {
    pub(super) from: Millis,
    pub(super) model: Symbol,
}

has_symbols!(Used { model } beside { from });

/// Message of the client, whose request is in another file.
#[derive(Clone, Copy, Debug)]
pub struct Said {
    /// Time of the message: after the entry of its request, and before that of the next one.
    pub(super) at: Millis,
    /// Newest of its pieces of content.
    pub(super) brought: Option<PieceId>,
    /// Model that the message is meant for, if it names one.
    pub(super) model: Option<Symbol>,
    /// True for a summary, which replaces all messages before it.
    pub(super) is_summary: bool,
}

has_symbols!(Said { model } beside { at, brought, is_summary });

/// Messages from the other file of a folder.
struct Messages {
    /// Index of that file among all files.
    file: usize,
    said: Vec<Said>,
    pieces: Vec<Piece>,
    symbols: Symbols,
}

/// Moves the messages of each session to its requests, which are in another file of the folder.
///
/// The files of the messages remain, but empty.
pub(crate) fn join_halves(files: &mut [AgentFile]) {
    let models = models(files);
    let mut messages: FxHashMap<PathBuf, Messages> = FxHashMap::default();
    let mut twice = Vec::new();
    for (number, file) in files.iter_mut().enumerate() {
        if let Half::Messages(said) = &mut file.half {
            let said = std::mem::take(said);
            let pieces = std::mem::take(&mut file.pieces);
            let symbols = std::mem::take(&mut file.symbols);
            let own = Messages { file: number, said, pieces, symbols };
            if let Some(earlier) = messages.insert(folder(file), own) {
                twice.push(earlier.file);
            }
        }
    }
    for file in twice {
        let detail = "another file of the folder has messages, which are used";
        files[file].reject(Kind::Contradiction, 0, detail);
    }
    if messages.is_empty() && models.is_empty() {
        return;
    }
    for file in files.iter_mut() {
        let Half::Requests(unanswered) = std::mem::take(&mut file.half) else { continue };
        if let Some(other) = messages.remove(&folder(file)) {
            file.take_messages(other, unanswered);
        }
        if let Some((used, symbols)) = models.get(&folder(file)) {
            file.take_models(used.clone(), symbols.clone());
        }
    }
    for Messages { file, .. } in messages.into_values() {
        files[file].reject(Kind::MissingUsage, 0, "messages without the file of their requests");
    }
}

/// Models of the requests in each folder.
fn models(files: &mut [AgentFile]) -> FxHashMap<PathBuf, (Vec<Used>, Symbols)> {
    let mut models = FxHashMap::default();
    for file in files {
        if let Half::Models(used) = &mut file.half {
            let used = std::mem::take(used);
            models.insert(folder(file), (used, std::mem::take(&mut file.symbols)));
        }
    }
    models
}

fn folder(file: &AgentFile) -> PathBuf {
    Path::new(&*file.label).parent().map(Path::to_owned).unwrap_or_default()
}

impl AgentFile {
    /// Adds messages to the requests that they were sent with.
    ///
    /// Messages of an unanswered request were sent again with the next one.
    fn take_messages(&mut self, other: Messages, unanswered: Vec<Millis>) {
        let Messages { mut said, pieces, symbols, .. } = other;
        let moved = self.symbols.absorb(symbols);
        said.move_symbols(&moved);
        said.order_by_key(|one| one.at);
        let first = self.add_pieces(pieces, &moved);
        let mut sent: Vec<(Millis, Option<usize>)> = Vec::new();
        sent.extend(self.requests.iter().enumerate().map(|(place, one)| (one.start, Some(place))));
        sent.extend(unanswered.into_iter().map(|at| (at, None)));
        sent.order_by_key(|(at, _)| *at);
        let mut waiting: Vec<Said> = Vec::new();
        let mut said = said.into_iter().peekable();
        for (number, (_, place)) in sent.iter().enumerate() {
            let next = sent.get(number + 1).map(|(at, _)| *at);
            // A message is stamped right after the entry of its request, so it is older than the next
            // entry.
            while let Some(one) = said.next_if(|one| next.is_none_or(|next| one.at < next)) {
                waiting.push(one);
            }
            if let Some(place) = *place {
                for one in waiting.drain(..) {
                    self.take_message(place, one, first);
                }
            }
        }
    }

    /// Appends the pieces of another file, and returns the number of pieces before them.
    fn add_pieces(&mut self, pieces: Vec<Piece>, moved: &Moved) -> usize {
        let first = self.pieces.len();
        self.pieces.extend(pieces.into_iter().map(|mut piece| {
            piece.move_symbols(moved);
            piece.before = piece.before.and_then(|id| after(id, first));
            piece
        }));
        first
    }

    /// Adds a message to the request at an index. Its pieces take the line of the request.
    fn take_message(&mut self, place: usize, said: Said, first: usize) {
        let brought = said.brought.and_then(|id| after(id, first));
        let request = &self.requests[place];
        let (line, mut earlier) = (request.line, request.brought);
        if said.is_summary {
            // The prompt no longer holds the content that a summary replaces.
            earlier = None;
        }
        let mut piece = brought;
        while let Some(one) = piece.and_then(|id| self.pieces.get_mut(id.get() as usize - 1)) {
            one.line = line;
            piece = one.before;
        }
        let brought = self.join_pieces(earlier, brought);
        let request = &mut self.requests[place];
        request.brought = brought;
        request.is_after_compaction |= said.is_summary;
        if let Some(model) = said.model {
            self.name_model(place, model);
        }
    }

    /// Names the models of the requests that name none.
    fn take_models(&mut self, mut used: Vec<Used>, symbols: Symbols) {
        let moved = self.symbols.absorb(symbols);
        used.move_symbols(&moved);
        used.order_by_key(|one| one.from);
        for place in 0..self.requests.len() {
            let start = self.requests[place].start;
            let known = used.iter().rfind(|one| one.from <= start).or(used.first());
            if let Some(one) = known.copied() {
                self.name_model(place, one.model);
            }
        }
    }

    /// Names the model of a request, unless it has one.
    fn name_model(&mut self, place: usize, model: Symbol) {
        let request = &mut self.requests[place];
        if self.symbols.text(request.model) == UNKNOWN_MODEL {
            request.model = model;
            let vendor = Vendor::of(self.symbols.text(model));
            request.vendor = if vendor == Vendor::Other { request.vendor } else { vendor };
        }
    }
}

/// Id of a piece after `others` pieces are put in front.
fn after(id: PieceId, others: usize) -> Option<PieceId> {
    id.checked_add(u32::try_from(others).ok()?)
}
