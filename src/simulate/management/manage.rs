//! Application of context management to a trace.

use super::clearing::{Incoming, Moment, clearing};
use super::compaction::{Compaction, SessionMemory, remembered, summarised};
use super::conversation::{Conversations, Oldest, Round, Rounds, Transition};
use super::pieces::{AddedContents, Contents, Piece, fit, is_of_compaction, is_result, sum};
use super::rewrite::{Path, Rewrite, Sent, Sink, Sizes};
use super::{Content, Conversation, Management, Parts, PieceId, PieceTree, ResultBudget, Trigger};
use crate::base::model::PrefixCheck;
use crate::base::{Millis, Tokens};
use crate::read::transcript::{ContentKind, ContentSource};
use crate::requests::content::Ratios;
use crate::requests::conversation::{History, Request, RequestIndex};
use crate::requests::prompt::{Level, Prompt, PromptTrace};

/// Largest number of results, files or skills of one request that are tracked one by one, newest first.
const MOST_PIECES: usize = 64;

/// Clearing before the same request.
#[derive(Clone, Copy)]
struct Cleared {
    /// Tokens that are gone.
    tokens: Tokens,
    /// True if bytes of the prefix changed.
    is_rewritten: bool,
}

/// Prompts of a history under context management.
#[derive(Debug)]
pub struct Managed {
    /// Recorded requests, with their prompts under the management.
    pub trace: PromptTrace,
    /// Additional requests.
    pub added: Vec<AddedPrompt>,
    /// Effects of the management.
    pub effects: Effects,
}

/// Request that the management itself sends.
#[derive(Clone, Debug)]
pub struct AddedPrompt<P = Prompt> {
    /// Index of the recorded request before it.
    pub after: usize,
    /// Purpose of the request.
    pub reason: Reason,
    /// Prompt of the request.
    pub prompt: P,
    /// Tokens of its answer.
    pub output: Tokens,
}

/// Purpose of an added request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Summary of a conversation.
    Summary,
    /// Memory of a conversation.
    Memory,
}

/// Effects of context management in all conversations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Number of events that removed tokens.
    pub events: u64,
    /// Number of cleared results.
    pub results: u64,
    /// Tokens removed from prompts at these events.
    pub tokens: Tokens,
    /// Number of changes in front of thinking that stays, for a model that checks them.
    pub checked: u64,
    /// Number of requests for a summary that were too long and were sent again with less.
    pub retries: u64,
    /// Number of compactions that were given up.
    pub failures: u64,
}

/// Rewrites the prompts of transcripts; captured ones stay as they are.
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

/// Sizes of prompts under context management, without the prompts themselves.
#[derive(Debug)]
pub struct Sketch {
    /// Size of each recorded request's prompt.
    pub totals: Vec<Tokens>,
    /// Additional requests: the recorded request before each, the prompt's size, and the answer's.
    pub added: Vec<(usize, Tokens, Tokens)>,
    /// True if every prompt is certainly sent as recorded, and nothing in addition.
    pub is_idle: bool,
}

/// Computes the sizes of transcripts' prompts, in a fraction of the time and memory of [`manage`].
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
    parts: Parts,
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
        let parts = management.parts();
        let preview = parts.budget.map_or(0, |budget| budget.preview);
        Self {
            history,
            recorded: trace,
            parts,
            contents: Contents::new(history, ratios, preview),
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
        let (mut conversation, mut contents) = match request.predecessor {
            None => self.open(index, request),
            Some(before) => self.go_on(index, request, before),
        };
        let mut path = if self.undoes(request) { Path::Joined } else { Path::Recorded };
        let parts = self.parts.of(request.agent.is_some());
        // A result comes in as its preview from the first request on, so no byte that was sent changes.
        if let Some(budget) = parts.budget {
            self.replace(budget, &mut conversation, &mut contents);
        }
        self.note_pieces(index, &mut conversation, &contents);
        self.note_round(index, request, &conversation, &contents);
        // A path that was joined may part again: the last change of the bytes decides.
        if self.shrink(&parts, index, request, &mut conversation, &contents) {
            path = Path::Parted;
        }
        let before = request.predecessor.map(|before| self.conversations.at(before));
        self.sink.push(&conversation, before, path);
        if let Some(memory) = &parts.memory {
            self.update_memory(memory, index, request, &mut conversation, &contents);
        }
        self.conversations.keep(index, request, conversation);
    }

    /// Shrinks a prompt; returns true if that changes bytes of the previous prompt's part.
    fn shrink(
        &mut self,
        parts: &Parts,
        index: usize,
        request: &Request,
        now: &mut Conversation,
        contents: &[Content],
    ) -> bool {
        let before = now.total;
        let is_rewritten = parts.clears() && self.clear(parts, index, request, now);
        let cleared = Cleared { tokens: before.saturating_sub(now.total), is_rewritten };
        (parts.compacts() && self.compact(parts, index, request, now, contents, cleared))
            || is_rewritten
    }

    /// First request of a conversation; tokens that its contents do not explain come before the messages.
    fn open(&self, index: usize, request: &Request) -> (Conversation, AddedContents) {
        let contents = self.bounded(request);
        let total = request.prompt_total();
        let unexplained = total.saturating_sub(sum(&contents));
        // If the beginning of a conversation is missing, only tools and system prompt come before it.
        let front = if request.between.has_hole {
            unexplained.min(self.recorded.prompts[index].system_prefix)
        } else {
            unexplained
        };
        (Conversation::open(index, total, front), contents)
    }

    /// Conversation as the next request finds it, before anything is removed.
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
            // The summary and its attachments are not sent; the previous answer, which compactions drop, is.
            contents.retain(|content| !is_of_compaction(content));
            transition = Transition::Undone(previous.recorded().output + sum(&contents));
            self.sink.go_on(index, before.get());
        }
        let mut conversation =
            self.conversations.at(before).next(index, request.prompt_total(), transition);
        conversation.breaker.step();
        (conversation, contents)
    }

    /// Returns true if a request was recorded after a compaction that this design does not make.
    fn undoes(&self, request: &Request) -> bool {
        request.between.has_compaction
            && request.predecessor.is_some()
            && self.parts.of(request.agent.is_some()).compacts()
    }

    fn transition(&self, index: usize, request: &Request, previous: &Request) -> Transition {
        let tokenizer = |request: &Request| &self.history.facts(request.model).tokenizer;
        if request.between.has_compaction {
            Transition::Compacted
        } else if self.is_cut(index)
            || request.between.rewrite.is_placed()
            || (request.model != previous.model && tokenizer(request) != tokenizer(previous))
        {
            Transition::Rewritten
        } else {
            Transition::Grown
        }
    }

    /// Returns true if a request's recorded messages share nothing with those of its predecessor.
    fn is_cut(&self, index: usize) -> bool {
        let prompt = &self.recorded.prompts[index];
        // A background request comes first on the path: the prompt's own node continues it, not the
        // predecessor.
        let node = prompt.background().map_or(prompt.node, |background| background.node);
        let parent = self.recorded.node(node).parent;
        parent.is_some_and(|parent| self.recorded.node(parent).level == Level::System)
    }

    /// Contents that came in with a request of unknown growth.
    fn bounded(&self, request: &Request) -> AddedContents {
        let mut contents = self.contents.estimated(request);
        let total = request.prompt_total();
        if sum(&contents) > total {
            fit(&mut contents, total);
        }
        contents
    }

    fn note_pieces(&mut self, index: usize, to: &mut Conversation, contents: &[Content]) {
        if self.parts.compacts() {
            to.files = self.add_pieces(index, to.files, contents, Contents::is_file);
            to.skills = self.add_pieces(index, to.skills, contents, |_, content| {
                content.source == ContentSource::Text(ContentKind::Skill)
            });
        }
        if self.parts.clears() {
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

    /// Clears results by the rule; returns true if that changes bytes of the prefix.
    fn clear(
        &mut self,
        parts: &Parts,
        index: usize,
        request: &Request,
        now: &mut Conversation,
    ) -> bool {
        let Some(previous) = self.history.predecessor(request) else { return false };
        let moment = Moment { index, idle: request.start.since(previous.finished) };
        let Some(clearing) = clearing(parts, &self.pieces, now, &moment) else {
            return false;
        };
        let pieces = &self.pieces;
        let (before, until) = (now.cleared, Some(clearing.until));
        // Sizes of results are estimates, and may be larger together than the recorded prompt.
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
        let is_by_service = parts.microcompaction.is_none();
        self.effects.checked += u64::from(!is_by_service && self.checks_thinking(request));
        // The path parts before the first result that becomes a placeholder now.
        let replaced = pieces.count(now.replaced);
        let first = pieces.newest(until, |stretch| stretch.count <= replaced + 1);
        let came_in = first.map_or(index, |first| pieces.get(first).piece.request);
        self.sink.part(index, came_in.max(now.rewritten));
        // Clearing by time ends the deletions by the service: the results are sent as placeholders,
        // or in full again.
        now.deleted = Tokens::ZERO;
        now.replaced = until;
        now.rewritten = index;
        true
    }

    /// Returns true if a model checks that nothing in front of kept thinking changes, and the
    /// conversation has thinking: its answers think or not all along.
    fn checks_thinking(&self, request: &Request) -> bool {
        let before = self.history.predecessor(request);
        let thinks = before.is_some_and(|before| before.has_thinking) || request.has_thinking;
        thinks && self.history.facts(request.model).prefix_check != PrefixCheck::None
    }

    /// Replaces large results that come in with a request by previews.
    fn replace(&mut self, budget: ResultBudget, now: &mut Conversation, contents: &mut [Content]) {
        let known = &self.contents;
        let results = contents.iter_mut().filter(|content| is_result(content));
        let incoming: Vec<Incoming<'_>> = results
            .map(|content| Incoming { is_replaceable: !known.is_read(content), content })
            .collect();
        let (replaced, saved) = budget.replace(incoming);
        let saved = saved.min(now.total.saturating_sub(now.front));
        now.total = now.total.saturating_sub(saved);
        self.effects.events += u64::from(replaced > 0);
        self.effects.results += replaced;
        self.effects.tokens += saved;
    }

    /// Compacts a conversation that has reached a threshold, before a request: with the memory, or with a summary.
    fn compact(
        &mut self,
        parts: &Parts,
        index: usize,
        request: &Request,
        now: &mut Conversation,
        contents: &[Content],
        cleared: Cleared,
    ) -> bool {
        let Some(before) = request.predecessor else { return false };
        let output = self.history.request(before).recorded().output;
        let answered = self.conversations.at(before).total + output;
        // The client decides before any answer has counted the new contents, so by its own rough estimate.
        let rough: Tokens = contents.iter().map(|content| content.rough).sum();
        let is_due = |trigger: Trigger| answered + rough >= trigger.threshold();
        if let Some(memory) = &parts.memory
            && is_due(memory.trigger())
            && let Some((total, oldest)) = self.remember(memory, parts.compaction.as_ref(), now)
        {
            let keeps_turns = oldest.request != index;
            self.effects.checked += u64::from(keeps_turns && self.checks_thinking(request));
            self.put_in_place(index, now, total, oldest);
            return true;
        }
        let Some(compaction) = &parts.compaction else { return false };
        let total = summarised(compaction, now, &self.pieces);
        // A compaction that would not shrink the prompt is not made.
        if !is_due(compaction.trigger()) || total >= now.total {
            return false;
        }
        let size = (answered + sum(contents)).saturating_sub(cleared.tokens);
        if !self.summarise(compaction, before, request.start, (size, cleared), now) {
            return false;
        }
        self.put_in_place(index, now, total, Oldest { request: index, has_answer: false });
        self.rounds.join_last(total.saturating_sub(now.front));
        true
    }

    /// Size of the prompt after the memory took the place of a conversation, and the oldest message that stays; `None`
    /// if the memory is not used. Beside a way to summarise it has to end below its threshold.
    fn remember(
        &self,
        memory: &SessionMemory,
        compaction: Option<&Compaction>,
        now: &mut Conversation,
    ) -> Option<(Tokens, Oldest)> {
        let written = now.memory.is_written.then_some(memory)?;
        let (total, oldest) = remembered(written, now, &self.rounds, self.history);
        // Of the messages that stay, results that were cleared are placeholders.
        let pieces = &self.pieces;
        let gone = pieces.newest(now.cleared, |one| one.piece.request < oldest.request);
        let cleared = pieces.savings(now.cleared).saturating_sub(pieces.savings(gone));
        let total = total.saturating_sub(cleared);
        let most = compaction.map(|_| memory.trigger().threshold());
        if total >= now.total || most.is_some_and(|most| total >= most) {
            return None;
        }
        let failures = compaction.map_or(u32::MAX, |compaction| compaction.failures);
        (now.breaker.may_attempt(failures) && now.breaker.allows()).then_some((total, oldest))
    }

    /// Puts a memory or a summary in the place of a conversation.
    fn put_in_place(
        &mut self,
        index: usize,
        now: &mut Conversation,
        total: Tokens,
        oldest: Oldest,
    ) {
        self.effects.events += 1;
        self.effects.tokens += now.total.saturating_sub(total);
        // The memory is due again after growth, which is counted from the smaller size.
        now.memory.size = now.memory.size.min(total);
        let deleted = Tokens::ZERO;
        let (results, cleared, replaced) = (None, None, None);
        let rewritten = index;
        *now =
            Conversation { total, deleted, results, cleared, replaced, rewritten, oldest, ..*now };
        self.sink.restart(index);
    }

    /// Sends the request for a summary of a conversation of this size, unless the breaker or its
    /// length prevents it.
    fn summarise(
        &mut self,
        compaction: &Compaction,
        before: RequestIndex,
        now: Millis,
        (size, cleared): (Tokens, Cleared),
        conversation: &mut Conversation,
    ) -> bool {
        if !conversation.breaker.may_attempt(compaction.failures) {
            return false;
        }
        let rounds = self.rounds.back_from_last(conversation.oldest, self.history);
        let attempted = compaction.ask(size, rounds.map(|(_, round)| round.tokens()));
        let Some(sent) = attempted.size else {
            conversation.breaker.fail();
            self.effects.failures += 1;
            self.effects.retries += u64::from(attempted.retries);
            return false;
        };
        if !conversation.breaker.allows() {
            return false;
        }
        self.effects.retries += u64::from(attempted.retries);
        let prompt = self.sink.send(&Sent {
            before: before.get(),
            // Just before the request that finds the conversation compacted.
            at: Millis::new(now.get().saturating_sub(1)),
            total: sent + compaction.request,
            // After a retry the oldest rounds are missing, so that no cached prefix of the messages is left; where
            // results have just become placeholders, only part of one is, which is not told apart.
            keeps_messages: attempted.retries == 0 && !cleared.is_rewritten,
        });
        let output = compaction.summary + compaction.analysis;
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
