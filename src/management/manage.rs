//! A trace → the trace under context management.

use super::clearing::{Moment, cleared_until};
use super::compaction::{Round, remembered, summarised};
use super::contents::{Content, Contents, fit, is_of_compaction, sum};
use super::conversation::{Conversation, Transition};
use super::pieces::{Piece, PieceId, PieceTree};
use super::rewrite::{Path, Rewrite};
use super::rule::Management;
use crate::capture::TokenizerFamily;
use crate::conversation::{ContentSource, History, Request, RequestIndex};
use crate::prompt::{Level, Prompt, PromptTrace, steps};
use crate::transcript::ContentKind;
use crate::units::Tokens;

/// So many results, files or skills of one request are looked at one by one, the newest.
const MOST_PIECES: usize = 64;

/// The prompts of a history under context management.
#[derive(Debug)]
pub struct Managed {
    /// The recorded requests, with the prompts that they would have had.
    pub trace: PromptTrace,
    /// What is sent besides.
    pub added: Vec<AddedPrompt>,
    /// What was done.
    pub effects: Effects,
}

/// A request that the management itself sends: one that summarises a conversation.
#[derive(Clone, Debug)]
pub struct AddedPrompt {
    /// The recorded request that it follows.
    pub after: usize,
    /// Its prompt.
    pub prompt: Prompt,
    /// What it answers.
    pub output: Tokens,
}

/// What context management did, in all conversations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// How often it took something away.
    pub events: u64,
    /// The results that it cleared.
    pub results: u64,
    /// What it took out of prompts when it did, in all.
    pub tokens: Tokens,
}

/// Rewrites the prompts of transcripts; captured ones stay as they are.
#[must_use]
pub fn manage(history: &History, trace: &PromptTrace, management: &Management) -> Managed {
    let deletes = matches!(management, Management::CachedMicrocompaction { .. });
    let mut manager = Manager {
        history,
        recorded: trace,
        management,
        contents: Contents::new(history, &steps(history)),
        pieces: PieceTree::default(),
        conversations: Vec::with_capacity(trace.prompts.len()),
        rounds: Vec::with_capacity(trace.prompts.len()),
        rewrite: Rewrite::new(trace, deletes),
        added: Vec::new(),
        effects: Effects::default(),
    };
    for (index, request) in history.of_transcripts().iter().enumerate() {
        manager.manage(index, request);
    }
    Managed { trace: manager.rewrite.finish(), added: manager.added, effects: manager.effects }
}

struct Manager<'a> {
    history: &'a History,
    recorded: &'a PromptTrace,
    management: &'a Management,
    contents: Contents<'a>,
    pieces: PieceTree,
    /// Of each request so far.
    conversations: Vec<Conversation>,
    rounds: Vec<Round>,
    rewrite: Rewrite<'a>,
    added: Vec<AddedPrompt>,
    effects: Effects,
}

impl<'a> Manager<'a> {
    fn manage(&mut self, index: usize, request: &Request) {
        let (mut conversation, contents) = match request.predecessor {
            None => self.open(index, request),
            Some(before) => self.go_on(index, request, before),
        };
        let mut path = if self.undoes(request) { Path::Joined } else { Path::Recorded };
        self.note_pieces(index, &mut conversation, &contents);
        self.note_round(request, &conversation, &contents);
        if self.management.concerns(request.agent.is_some())
            && (self.clear(index, request, &mut conversation)
                || self.compact(index, request, &mut conversation, &contents))
        {
            path = Path::Parted;
        }
        let before = request.predecessor.map(|before| &self.conversations[before.0]);
        self.rewrite.push(&conversation, before, path);
        self.conversations.push(conversation);
    }

    /// The first request of a conversation: what its contents do not explain stands in front.
    fn open(&self, index: usize, request: &Request) -> (Conversation, Vec<Content>) {
        let contents = self.bounded(request);
        let total = request.prompt_total();
        let unexplained = total.saturating_sub(sum(&contents));
        // Where the beginning of a conversation is missing, only tools and system prompt do.
        let front = if request.between.has_hole {
            unexplained.min(self.recorded.prompts[index].system_prefix)
        } else {
            unexplained
        };
        (Conversation::open(index, total, front), contents)
    }

    /// The conversation as the next request finds it, before anything is taken away.
    fn go_on(
        &mut self,
        index: usize,
        request: &Request,
        before: RequestIndex,
    ) -> (Conversation, Vec<Content>) {
        let previous = self.history.request(before);
        let mut transition = self.transition(index, request, previous);
        let mut contents = if transition == Transition::Grown {
            self.contents.measured(request, previous)
        } else {
            self.bounded(request)
        };
        if self.undoes(request) {
            contents.retain(|content| !is_of_compaction(content));
            transition = Transition::Undone(previous.recorded().output + sum(&contents));
            self.rewrite.go_on(index, before.0);
        }
        let mut conversation =
            self.conversations[before.0].next(index, request.prompt_total(), transition);
        conversation.breaker.step();
        (conversation, contents)
    }

    /// Whether a request was recorded behind a compaction that this design does not make.
    fn undoes(&self, request: &Request) -> bool {
        request.between.has_compaction
            && request.predecessor.is_some()
            && self.management.threshold().is_some()
            && self.management.concerns(request.agent.is_some())
    }

    fn transition(&self, index: usize, request: &Request, previous: &Request) -> Transition {
        let family =
            |request: &Request| TokenizerFamily::of(self.history.symbols.text(request.model));
        if request.between.has_compaction {
            Transition::Compacted
        } else if self.is_cut(index)
            || request.between.rewrite.is_told()
            || family(request) != family(previous)
        {
            Transition::Rewritten
        } else {
            Transition::Grown
        }
    }

    /// Whether a request's recorded messages share nothing with those of the one before it.
    fn is_cut(&self, index: usize) -> bool {
        let prompt = &self.recorded.prompts[index];
        let node = prompt.background.map_or(prompt.node, |background| background.node);
        let parent = self.recorded.node(node).parent;
        parent.is_some_and(|parent| self.recorded.node(parent).level == Level::System)
    }

    /// What came in with a request of whose growth nothing is known.
    fn bounded(&self, request: &Request) -> Vec<Content> {
        let mut contents = self.contents.estimated(request);
        let total = request.prompt_total();
        if sum(&contents) > total {
            fit(&mut contents, total);
        }
        contents
    }

    fn note_pieces(&mut self, index: usize, to: &mut Conversation, contents: &[Content]) {
        if self.management.threshold().is_some() {
            to.files = self.add_pieces(index, to.files, contents, Contents::is_file);
            to.skills = self.add_pieces(index, to.skills, contents, |_, content| {
                content.source == ContentSource::Text(ContentKind::Skill)
            });
        } else {
            to.results = self.add_pieces(index, to.results, contents, Contents::is_compactable);
        }
    }

    fn add_pieces(
        &mut self,
        request: usize,
        before: Option<PieceId>,
        contents: &[Content],
        is_wanted: impl Fn(&Contents<'a>, &Content) -> bool,
    ) -> Option<PieceId> {
        let wanted = contents.iter().rev().filter(|content| is_wanted(&self.contents, content));
        let newest: Vec<&Content> = wanted.take(MOST_PIECES).collect();
        newest.into_iter().rev().fold(before, |last, content| {
            let (tokens, cleared) = (content.tokens, content.placeholder);
            Some(self.pieces.add(last, Piece { request, tokens, cleared }))
        })
    }

    fn note_round(&mut self, request: &Request, now: &Conversation, contents: &[Content]) {
        let previous = request.predecessor;
        let before = previous.map_or(now.front, |before| self.conversations[before.0].total);
        let ends_turn = previous.is_some_and(|before| self.history.request(before).ends_turn);
        let tokens = now.total.saturating_sub(before);
        self.rounds.push(Round::new(tokens, contents, ends_turn));
    }

    /// Clears the results that the rule clears now; says whether bytes of the prefix change by that.
    fn clear(&mut self, index: usize, request: &Request, now: &mut Conversation) -> bool {
        let Some(previous) = self.history.predecessor(request) else { return false };
        let moment = Moment { index, idle: request.start.since(previous.finished) };
        let Some(until) = cleared_until(self.management, &self.pieces, now, &moment) else {
            return false;
        };
        let before = now.cleared.replace(until);
        let count = self.pieces.count(before);
        let saved = self.pieces.savings(Some(until)).saturating_sub(self.pieces.savings(before));
        let saved = saved.min(now.total.saturating_sub(now.front));
        now.total = now.total.saturating_sub(saved);
        self.effects.events += 1;
        self.effects.results += u64::from(self.pieces.count(Some(until)) - count);
        self.effects.tokens += saved;
        if matches!(self.management, Management::CachedMicrocompaction { .. }) {
            return false;
        }
        let first = self.pieces.newest(Some(until), |stretch| stretch.count <= count + 1);
        let came_in = first.map_or(index, |first| self.pieces.get(first).piece.request);
        self.rewrite.part(index, came_in.max(now.rewritten));
        now.rewritten = index;
        true
    }

    /// Compacts a conversation that has reached the threshold, before a request.
    fn compact(
        &mut self,
        index: usize,
        request: &Request,
        now: &mut Conversation,
        contents: &[Content],
    ) -> bool {
        let (Some(threshold), Some(before)) = (self.management.threshold(), request.predecessor)
        else {
            return false;
        };
        let output = self.history.request(before).recorded().output;
        let answered = self.conversations[before.0].total + output;
        let rough: Tokens = contents.iter().map(|content| content.rough).sum();
        if answered + rough < threshold {
            return false;
        }
        let Some((total, oldest)) = self.compacted(index, now) else { return false };
        if total >= now.total || !now.breaker.lets_pass() {
            return false;
        }
        if let Management::Compaction(compaction) = self.management {
            let size = answered + sum(contents);
            let request = self.rewrite.summarise(before.0, request.start, size, compaction.summary);
            self.added.push(request);
        }
        self.effects.events += 1;
        self.effects.tokens += now.total.saturating_sub(total);
        *now = Conversation { total, oldest, rewritten: index, ..*now };
        self.rewrite.restart(index);
        true
    }

    /// The size of a prompt behind a compaction, and the oldest request whose contents stay.
    fn compacted(&self, index: usize, now: &Conversation) -> Option<(Tokens, usize)> {
        match self.management {
            Management::Compaction(compaction) => {
                Some((summarised(compaction, now, &self.pieces), index))
            }
            Management::SessionMemory(memory) => {
                Some(remembered(memory, now, &self.rounds, self.history))
            }
            Management::TimeBasedMicrocompaction { .. }
            | Management::CachedMicrocompaction { .. }
            | Management::ToolResultClearing { .. } => None,
        }
    }
}
