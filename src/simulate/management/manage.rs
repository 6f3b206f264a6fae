//! A trace → the trace under context management.

use super::Management;
use super::clearing::{Incoming, Moment, ResultBudget, clearing};
use super::compaction::{Compaction, SessionMemory, remembered, summarised};
use super::conversation::{Conversation, Conversations, Oldest, Round, Rounds, Transition};
use super::pieces::{
    AddedContents, Content, Contents, Piece, PieceId, PieceTree, fit, is_of_compaction, is_result,
    sum,
};
use super::rewrite::{Path, Rewrite, Sent, Sink, Sizes};
use crate::base::model::PrefixCheck;
use crate::base::units::{Millis, Tokens};
use crate::read::transcript::ContentKind;
use crate::read::transcript::ContentSource;
use crate::requests::content::Ratios;
use crate::requests::conversation::{History, Request, RequestIndex};
use crate::requests::prompt::{Level, Prompt, PromptTrace};

/// How many results, files or skills of one request are looked at one by one, newest first.
const MOST_PIECES: usize = 64;

/// The prompts of a history under context management.
#[derive(Debug)]
pub struct Managed {
    /// The recorded requests, with the prompts that they would have had.
    pub trace: PromptTrace,
    /// What is sent in addition.
    pub added: Vec<AddedPrompt>,
    /// What was done.
    pub effects: Effects,
}

/// A request that the management itself sends.
#[derive(Clone, Debug)]
pub struct AddedPrompt<P = Prompt> {
    /// The recorded request that it follows.
    pub after: usize,
    /// What it is for.
    pub reason: Reason,
    /// Its prompt.
    pub prompt: P,
    /// The size of its answer.
    pub output: Tokens,
}

/// Why the management sends a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The summary of a conversation.
    Summary,
    /// The memory of a conversation.
    Memory,
}

/// What context management did in all conversations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// How often it took something away.
    pub events: u64,
    /// How many results it cleared.
    pub results: u64,
    /// The tokens it took out of prompts at these events.
    pub tokens: Tokens,
    /// How often it rewrote what stands in front of thinking that stays, for a model that checks that.
    pub checked: u64,
    /// How often a request for a summary was too long and was sent again with less.
    pub retries: u64,
    /// How many compactions were given up.
    pub failures: u64,
}

/// Rewrites the prompts of transcripts. Captured ones stay as they are.
#[must_use]
pub(crate) fn manage(
    history: &History,
    ratios: &Ratios,
    trace: &PromptTrace,
    management: &Management,
) -> Managed {
    let mut manager = Manager::new(history, ratios, trace, management, Rewrite::new(trace));
    manager.manage_all();
    let Manager { sink, added, effects, .. } = manager;
    Managed { trace: sink.finish(), added, effects }
}

/// The sizes that prompts would have under context management, without the prompts themselves.
#[derive(Debug)]
pub struct Sketch {
    /// The size of each recorded request's prompt.
    pub totals: Vec<Tokens>,
    /// What is sent in addition: the recorded request that it follows, its prompt, and its answer.
    pub added: Vec<(usize, Tokens, Tokens)>,
    /// Whether every prompt is certainly sent as recorded, and nothing in addition.
    pub is_idle: bool,
}

/// Works out how large the prompts of transcripts would be, in a part of the time and memory that
/// [`manage`] takes.
#[must_use]
pub(crate) fn sketch(
    history: &History,
    ratios: &Ratios,
    trace: &PromptTrace,
    management: &Management,
) -> Sketch {
    let mut manager = Manager::new(history, ratios, trace, management, Sizes::new(trace));
    manager.manage_all();
    let Manager { sink, added, effects, .. } = manager;
    let added = added.into_iter().map(|added| (added.after, added.prompt, added.output)).collect();
    let is_idle = sink.is_as_recorded && effects == Effects::default();
    Sketch { totals: sink.finish(), added, is_idle }
}

struct Manager<'a, S: Sink> {
    history: &'a History,
    recorded: &'a PromptTrace,
    management: &'a Management,
    contents: Contents<'a>,
    pieces: PieceTree,
    conversations: Conversations,
    rounds: Rounds,
    sink: S,
    added: Vec<AddedPrompt<S::Prompt>>,
    effects: Effects,
}

impl<'a, S: Sink> Manager<'a, S> {
    fn new(
        history: &'a History,
        ratios: &'a Ratios,
        trace: &'a PromptTrace,
        management: &'a Management,
        sink: S,
    ) -> Self {
        Self {
            history,
            recorded: trace,
            management,
            contents: Contents::new(history, ratios, management.placeholder()),
            pieces: PieceTree::default(),
            conversations: Conversations::new(history.of_transcripts()),
            rounds: Rounds::with_capacity(trace.prompts.len()),
            sink,
            added: Vec::new(),
            effects: Effects::default(),
        }
    }

    fn manage_all(&mut self) {
        for (index, request) in self.history.of_transcripts().iter().enumerate() {
            self.manage(index, request);
        }
    }

    fn manage(&mut self, index: usize, request: &Request) {
        let (mut conversation, contents) = match request.predecessor {
            None => self.open(index, request),
            Some(before) => self.go_on(index, request, before),
        };
        let mut path = if self.undoes(request) { Path::Joined } else { Path::Recorded };
        self.note_pieces(index, &mut conversation, &contents);
        self.note_round(index, request, &conversation, &contents);
        let is_concerned = self.management.concerns(request.agent.is_some());
        if is_concerned && self.shrink(index, request, &mut conversation, &contents) {
            path = Path::Parted;
        }
        let before = request.predecessor.map(|before| self.conversations.at(before));
        self.sink.push(&conversation, before, path);
        if let Management::SessionMemory(memory) = self.management
            && is_concerned
        {
            self.update_memory(memory, index, request, &mut conversation, &contents);
        }
        self.conversations.keep(index, request, conversation);
    }

    /// Shrinks a prompt. Returns whether that changes bytes of what the previous prompt had.
    fn shrink(
        &mut self,
        index: usize,
        request: &Request,
        now: &mut Conversation,
        contents: &[Content],
    ) -> bool {
        match self.management {
            Management::Microcompaction(_) | Management::ToolResultClearing { .. } => {
                self.clear(index, request, now)
            }
            Management::ResultBudget(budget) => {
                self.replace(*budget, now, contents);
                false
            }
            Management::Compaction(_) | Management::SessionMemory(_) => {
                self.compact(index, request, now, contents)
            }
        }
    }

    /// The first request of a conversation. What its contents do not explain comes before the
    /// messages.
    fn open(&self, index: usize, request: &Request) -> (Conversation, AddedContents) {
        let contents = self.bounded(request);
        let total = request.prompt_total();
        let unexplained = total.saturating_sub(sum(&contents));
        // Where the beginning of a conversation is missing, only tools and system prompt come
        // before it.
        let front = if request.between.has_hole {
            unexplained.min(self.recorded.prompts[index].system_prefix)
        } else {
            unexplained
        };
        (Conversation::open(index, total, front), contents)
    }

    /// The conversation as the next request finds it, before anything is taken out.
    fn go_on(
        &mut self,
        index: usize,
        request: &Request,
        before: RequestIndex,
    ) -> (Conversation, AddedContents) {
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
            self.sink.go_on(index, before.get());
        }
        let mut conversation =
            self.conversations.at(before).next(index, request.prompt_total(), transition);
        conversation.breaker.step();
        (conversation, contents)
    }

    /// Whether a request was recorded after a compaction that this design does not make.
    fn undoes(&self, request: &Request) -> bool {
        request.between.has_compaction
            && request.predecessor.is_some()
            && self.management.trigger().is_some()
            && self.management.concerns(request.agent.is_some())
    }

    fn transition(&self, index: usize, request: &Request, previous: &Request) -> Transition {
        let tokenizer = |request: &Request| &self.history.facts(request.model).tokenizer;
        if request.between.has_compaction {
            Transition::Compacted
        } else if self.is_cut(index)
            || request.between.rewrite.is_told()
            || (request.model != previous.model && tokenizer(request) != tokenizer(previous))
        {
            Transition::Rewritten
        } else {
            Transition::Grown
        }
    }

    /// Whether a request's recorded messages share nothing with those of its predecessor.
    fn is_cut(&self, index: usize) -> bool {
        let prompt = &self.recorded.prompts[index];
        let node = prompt.background().map_or(prompt.node, |background| background.node);
        let parent = self.recorded.node(node).parent;
        parent.is_some_and(|parent| self.recorded.node(parent).level == Level::System)
    }

    /// What came in with a request whose growth is unknown.
    fn bounded(&self, request: &Request) -> AddedContents {
        let mut contents = self.contents.estimated(request);
        let total = request.prompt_total();
        if sum(&contents) > total {
            fit(&mut contents, total);
        }
        contents
    }

    fn note_pieces(&mut self, index: usize, to: &mut Conversation, contents: &[Content]) {
        if self.management.trigger().is_some() {
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

    fn note_round(
        &mut self,
        index: usize,
        request: &Request,
        now: &Conversation,
        contents: &[Content],
    ) {
        let before = request.predecessor.filter(|_| now.oldest.request != index);
        let round = match before {
            None => Round::whole(now.total.saturating_sub(now.front), contents),
            Some(before) => {
                let growth = now.total.saturating_sub(self.conversations.at(before).total);
                Round::new(growth, contents, self.history.request(before))
            }
        };
        self.rounds.push(round);
    }

    /// Clears what the rule clears now. Returns whether that changes bytes of the prefix.
    fn clear(&mut self, index: usize, request: &Request, now: &mut Conversation) -> bool {
        let Some(previous) = self.history.predecessor(request) else { return false };
        let moment = Moment { index, idle: request.start.since(previous.finished) };
        let Some(clearing) = clearing(self.management, &self.pieces, now, &moment) else {
            return false;
        };
        let pieces = &self.pieces;
        let (before, until) = (now.cleared, Some(clearing.until));
        let least = now.front.min(now.total);
        let uncleared = now.total + pieces.savings(before);
        let total = uncleared.saturating_sub(pieces.savings(until)).max(least).min(now.sent());
        let saved = now.total.saturating_sub(total);
        self.effects.events += 1;
        self.effects.results += u64::from(pieces.count(until).saturating_sub(pieces.count(before)));
        self.effects.tokens += saved;
        now.total = total;
        now.cleared = until;
        if clearing.is_deletion {
            now.deleted += saved;
            return false;
        }
        let is_by_service = matches!(self.management, Management::ToolResultClearing { .. });
        self.effects.checked += u64::from(!is_by_service && self.checks_thinking(request));
        // The path parts before the first result that becomes a placeholder now.
        let replaced = pieces.count(now.replaced);
        let first = pieces.newest(until, |stretch| stretch.count <= replaced + 1);
        let came_in = first.map_or(index, |first| pieces.get(first).piece.request);
        self.sink.part(index, came_in.max(now.rewritten));
        now.deleted = Tokens::ZERO;
        now.replaced = until;
        now.rewritten = index;
        true
    }

    /// Whether a model minds that what stands in front of kept thinking changes, as far as the conversation has
    /// any: its answers think or not all along.
    fn checks_thinking(&self, request: &Request) -> bool {
        let before = self.history.predecessor(request);
        let thinks = before.is_some_and(|before| before.has_thinking) || request.has_thinking;
        thinks && self.history.facts(request.model).prefix_check != PrefixCheck::None
    }

    /// Replaces large results that come in with a request by previews.
    fn replace(&mut self, budget: ResultBudget, now: &mut Conversation, contents: &[Content]) {
        let results = contents.iter().filter(|content| is_result(content));
        let results: Vec<Incoming<'_>> = results
            .map(|content| Incoming { content, is_replaceable: !self.contents.is_read(content) })
            .collect();
        let replaced = budget.replace(&results);
        let saved = replaced.tokens.min(now.total.saturating_sub(now.front));
        now.total = now.total.saturating_sub(saved);
        self.effects.events += u64::from(replaced.results > 0);
        self.effects.results += replaced.results;
        self.effects.tokens += saved;
    }

    /// Compacts a conversation that has reached the threshold, before a request.
    fn compact(
        &mut self,
        index: usize,
        request: &Request,
        now: &mut Conversation,
        contents: &[Content],
    ) -> bool {
        let (Some(trigger), Some(before)) = (self.management.trigger(), request.predecessor) else {
            return false;
        };
        let output = self.history.request(before).recorded().output;
        let answered = self.conversations.at(before).total + output;
        let rough: Tokens = contents.iter().map(|content| content.rough).sum();
        if answered + rough < trigger.threshold() {
            return false;
        }
        let Some((total, oldest)) = self.compacted(index, now) else { return false };
        // A compaction that would not shrink the prompt is not made.
        if total >= now.total {
            return false;
        }
        let is_made = match self.management {
            Management::Compaction(compaction) => {
                let size = answered + sum(contents);
                self.summarise(compaction, before, request.start, size, now)
            }
            _ => now.breaker.lets_try(u32::MAX) && now.breaker.lets_pass(),
        };
        if !is_made {
            return false;
        }
        self.effects.events += 1;
        let keeps_turns = oldest.request != index;
        self.effects.checked += u64::from(keeps_turns && self.checks_thinking(request));
        self.effects.tokens += now.total.saturating_sub(total);
        now.memory.size = now.memory.size.min(total);
        *now = Conversation { total, oldest, rewritten: index, ..*now };
        if matches!(self.management, Management::Compaction(_)) {
            self.rounds.join_last(total.saturating_sub(now.front));
        }
        self.sink.restart(index);
        true
    }

    /// The size of a prompt after a compaction, and the oldest message that stays. `None` where
    /// nothing can replace the others.
    fn compacted(&self, index: usize, now: &Conversation) -> Option<(Tokens, Oldest)> {
        match self.management {
            Management::Compaction(compaction) => {
                let oldest = Oldest { request: index, has_answer: false };
                Some((summarised(compaction, now, &self.pieces), oldest))
            }
            Management::SessionMemory(memory) => {
                now.memory.is_written.then(|| remembered(memory, now, &self.rounds, self.history))
            }
            Management::Microcompaction(_)
            | Management::ToolResultClearing { .. }
            | Management::ResultBudget(_) => None,
        }
    }

    /// Sends the request for a summary of a conversation of this size, unless the breaker or its
    /// length prevents it.
    fn summarise(
        &mut self,
        compaction: &Compaction,
        before: RequestIndex,
        now: Millis,
        size: Tokens,
        conversation: &mut Conversation,
    ) -> bool {
        let Compaction { attempt, summary, .. } = compaction;
        if !conversation.breaker.lets_try(attempt.failures) {
            return false;
        }
        let rounds = self.rounds.back_from_last(conversation.oldest, self.history);
        let attempted = attempt.ask(size, rounds.map(|(_, round)| round.tokens()));
        let Some(sent) = attempted.size else {
            conversation.breaker.fail();
            self.effects.failures += 1;
            self.effects.retries += u64::from(attempted.retries);
            return false;
        };
        if !conversation.breaker.lets_pass() {
            return false;
        }
        self.effects.retries += u64::from(attempted.retries);
        let prompt = self.sink.send(&Sent {
            before: before.get(),
            // Just before the request that finds the conversation compacted.
            at: Millis::new(now.get().saturating_sub(1)),
            total: sent + attempt.request,
            keeps_messages: attempted.retries == 0,
        });
        let output = *summary + attempt.analysis;
        self.added.push(AddedPrompt {
            after: before.get(),
            reason: Reason::Summary,
            prompt,
            output,
        });
        true
    }

    /// Lets a fork write the conversation's memory after a request, if it is due.
    fn update_memory(
        &mut self,
        memory: &SessionMemory,
        index: usize,
        request: &Request,
        now: &mut Conversation,
        contents: &[Content],
    ) {
        let results = contents.iter().filter(|content| is_result(content)).count();
        let calls = u32::try_from(results).unwrap_or(u32::MAX);
        now.memory.calls = now.memory.calls.saturating_add(calls);
        let size = now.total + request.recorded().output;
        if !memory.updates.is_due(&mut now.memory, size) {
            return;
        }
        let prompt = self.sink.send(&Sent {
            before: index,
            at: request.finished,
            total: size + memory.updates.request,
            keeps_messages: true,
        });
        let output = memory.updates.output;
        self.added.push(AddedPrompt { after: index, reason: Reason::Memory, prompt, output });
    }
}
