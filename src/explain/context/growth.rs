//! Growth of a transcript's prompt out of its predecessor's.
//!
//! The answer has its recorded output, and the client added the rest of the growth. Both are figures of the
//! record. The shares of several added pieces in their total are counted if the model's vocabulary is known
//! (`requests/counted.rs`), and estimated by their bytes otherwise. The losses of a prompt that shrank and the part
//! before the first message are estimated. In any case the segments of a prompt add up to its recorded total.

use rustc_hash::FxHashMap;

use super::added::{NewSegment, fitted, scaled, shared, sum};
use super::changes::Changes;
use super::segment::{ContextKind, Item, ItemId, SegmentId, SegmentTree};
use crate::base::{Basis, Client, TextSize, Tokens};
use crate::requests::content::{Ratio, Ratios, is_explained, weight};
use crate::requests::conversation::{History, Request, RequestIndex, TrailContent};
use crate::requests::counted::{CLOSE_TOKENS, Counted, PieceSize, is_close};
use crate::requests::prompt::{PromptTrace, Step};

/// Limit on segments of rewritten prompts in a session. Beyond it only sums by kind are kept, so
/// that memory never grows with the square of the input.
const MOST_REWRITTEN: usize = 1 << 17;

/// Number of the client's newest pieces that are kept apart. Older ones of one kind are joined. Real
/// steps add a few dozen at most.
const MOST_PIECES: usize = 32;

/// Content that a rewrite took from the segments.
enum Loss {
    /// Named results, which were cleared or replaced.
    Named(Changes),
    /// Old results, which were cleared, or deleted by the service.
    Results,
    /// Earlier thinking, which was dropped.
    Answers,
    /// Unknown content.
    Anything,
}

/// Builder of the prompts of a session's transcripts.
pub(super) struct Growth<'a> {
    history: &'a History,
    steps: &'a [Step],
    trace: &'a PromptTrace,
    ratios: &'a Ratios,
    tree: &'a mut SegmentTree,
    rewritten: usize,
    /// Ends of cached prefixes → the prompts that had them cached.
    cached: FxHashMap<u64, Option<SegmentId>>,
    /// First segments of prompts → the ends of their parts before the messages.
    fronts: FxHashMap<SegmentId, u64>,
}

impl<'a> Growth<'a> {
    pub(super) fn new(
        history: &'a History,
        steps: &'a [Step],
        trace: &'a PromptTrace,
        ratios: &'a Ratios,
        tree: &'a mut SegmentTree,
    ) -> Self {
        let cached = FxHashMap::default();
        let fronts = FxHashMap::default();
        Self { history, steps, trace, ratios, tree, rewritten: 0, cached, fronts }
    }

    /// Adds the prompt of a request. The predecessor's prompt ends with `before`.
    pub(super) fn add(
        &mut self,
        index: RequestIndex,
        before: Option<SegmentId>,
    ) -> Option<SegmentId> {
        let last = self.place(index, before);
        let cached = self.history.request(index).recorded().prompt.cached_end();
        self.cached.insert(cached.0, last);
        last
    }

    fn place(&mut self, index: RequestIndex, before: Option<SegmentId>) -> Option<SegmentId> {
        let history = self.history;
        let request = history.request(index);
        if request.sum_of > 1 {
            // The contents of several prompts together are not known.
            let total = request.prompt_total().0;
            return self.push_new(None, request, ContextKind::Unattributed, total);
        }
        let added = self.added(request);
        let previous = history.predecessor(request).filter(|previous| previous.sum_of == 1);
        let Some(previous) = previous else {
            return match self.forked_from(request) {
                Some(parent) => self.fork(request, parent, &added),
                None => self.open(index, request, &added),
            };
        };
        let total = request.prompt_total();
        let tokenizer = |request: &Request| &history.facts(request.model).tokenizer;
        let changes = Changes::before(history, request);
        if request.between.has_compaction {
            self.compact(request, previous, before, &added, &changes)
        } else if tokenizer(request) != tokenizer(previous) {
            // Another tokenizer counts every segment differently.
            self.rewrite(index, before, None, &added, changes)
        } else if !changes.is_empty() {
            let kept = self.in_front_of(before, &changes);
            let fits = |kept: &SegmentId| self.tree.segment(*kept).end <= total.0;
            let kept = kept.filter(fits).or_else(|| self.kept(request, before));
            self.rewrite(index, before, kept, &added, changes)
        } else if self.steps[index.get()].deleted > Tokens::ZERO {
            let front = self.front(before);
            let front = front.filter(|front| self.tree.segment(*front).end <= total.0);
            self.rewrite(index, before, front, &added, changes)
        } else if total >= previous.prompt_total() {
            self.grow(request, previous, before, &added)
        } else {
            let kept = self.kept(request, before);
            self.rewrite(index, before, kept, &added, changes)
        }
    }

    /// Pieces that the client added before a request, in the order of the file, with estimated sizes.
    fn added(&mut self, request: &Request) -> Vec<NewSegment> {
        let history = self.history;
        self.pieces_of(request, history.contents_before(request))
    }

    /// Pieces of contents that come newest first.
    fn pieces_of<'c>(
        &mut self,
        request: &Request,
        contents: impl Iterator<Item = (u64, &'c TrailContent)>,
    ) -> Vec<NewSegment> {
        let contents: Vec<(u64, &TrailContent)> = contents.collect();
        let sizes = self.sizes(request, &contents);
        let mut pieces: Vec<NewSegment> = Vec::new();
        let mut grouped: FxHashMap<ContextKind, usize> = FxHashMap::default();
        for (number, ((line, content), size)) in contents.into_iter().zip(sizes).enumerate() {
            let kind = ContextKind::of(content.source, &self.history.symbols);
            let next = pieces.len();
            let is_single = number < MOST_PIECES;
            let place = if is_single { next } else { *grouped.entry(kind).or_insert(next) };
            if place == next {
                let item = self.tree.add_item(Item { kind, file: request.file, line });
                let basis = Basis::Estimated;
                pieces.push(NewSegment { item, tokens: 0, basis, is_counted: true });
            }
            pieces[place].tokens += size.tokens;
            pieces[place].is_counted &= size.is_whole;
        }
        pieces.reverse();
        pieces
    }

    /// Sizes of pieces: counted, or by their bytes.
    fn sizes(&self, request: &Request, contents: &[(u64, &TrailContent)]) -> Vec<PieceSize> {
        if let Some(counted) = Counted::of(self.history, request) {
            let contents: Vec<&TrailContent> =
                contents.iter().map(|(_, content)| *content).collect();
            return counted.sizes(&contents);
        }
        let ratio: Ratio = self.ratios.of(self.history, request);
        let estimate =
            |content| PieceSize { tokens: ratio.tokens(weight(content)), is_whole: false };
        contents.iter().map(|(_, content)| estimate(content)).collect()
    }

    /// First prompt of a chain. Tokens that no line shows come before the messages.
    fn open(
        &mut self,
        index: RequestIndex,
        request: &Request,
        added: &[NewSegment],
    ) -> Option<SegmentId> {
        let total = request.prompt_total().0;
        // Tokens that were cached when the chain began are not its own.
        let warm = request.recorded().prompt.read.0;
        let front = total.saturating_sub(sum(added)).max(warm).min(total);
        // If the beginning of a conversation is missing, or no line reports any content, this is not a hidden
        // prefix.
        let tells_content = matches!(request.client, Client::ClaudeCode | Client::Capture);
        let hidden = if request.between.has_hole {
            front.min(self.trace.prompts[index.get()].system_prefix.0)
        } else if added.is_empty() && !tells_content {
            0
        } else {
            front
        };
        let last = self.push_front(request, hidden);
        let last = self.push_new(last, request, ContextKind::Unattributed, front - hidden);
        self.push(last, &fitted(added, total - front))
    }

    /// Part before the messages: by the client's records of tools and system prompt, and the rest.
    fn push_front(&mut self, request: &Request, hidden: u64) -> Option<SegmentId> {
        let trail = &self.history.files[request.file].trail;
        let tools = trail.tools_at(request.line).map(|one| (one.line, one.tools_size));
        let system = trail.system_at(request.line).map(|one| (one.line, one.system_size));
        let parts = [(ContextKind::Tools, tools), (ContextKind::SystemPrompt, system)];
        let mut pieces = Vec::new();
        for (kind, part) in parts {
            let Some((line, size)) = part else { continue };
            let item = self.tree.add_item(Item { kind, file: request.file, line });
            pieces.push(self.recorded(request, item, size));
        }
        let last = self.push(None, &fitted(&pieces, hidden));
        let rest = hidden.saturating_sub(self.tree.end(last));
        let last = self.push_new(last, request, ContextKind::HiddenPrefix, rest);
        if let Some(root) = self.tree.beginning_before(last, 1) {
            self.fronts.insert(root, hidden);
        }
        last
    }

    /// Piece that a record holds: counted, or by its bytes.
    fn recorded(&self, request: &Request, item: ItemId, size: TextSize) -> NewSegment {
        if Counted::of(self.history, request).is_some() && size.is_whole() {
            let basis = Basis::Derived;
            return NewSegment { item, tokens: size.tokens(), basis, is_counted: true };
        }
        NewSegment::estimated(item, self.ratios.of(self.history, request).tokens(size.bytes()))
    }

    /// Prompt of the session that a sub-agent continues: the sub-agent's first prompt read exactly the
    /// tokens that this one had cached.
    fn forked_from(&self, request: &Request) -> Option<SegmentId> {
        let read = request.recorded().prompt.read.0;
        request.agent.filter(|_| read > 0)?;
        self.cached.get(&read).copied().flatten()
    }

    /// First prompt of a fork: the part that it read of its parent's prompt, and the additions.
    fn fork(
        &mut self,
        request: &Request,
        parent: SegmentId,
        added: &[NewSegment],
    ) -> Option<SegmentId> {
        let read = request.recorded().prompt.read.0;
        let last = self.tree.cut(Some(parent), read);
        let free = request.prompt_total().0 - self.tree.end(last);
        let new = sum(added).min(free);
        let last = self.push_new(last, request, ContextKind::Unattributed, free - new);
        self.push(last, &fitted(added, new))
    }

    /// Prompt that grew by the answer and by the client's additions.
    fn grow(
        &mut self,
        request: &Request,
        previous: &Request,
        before: Option<SegmentId>,
        added: &[NewSegment],
    ) -> Option<SegmentId> {
        let growth = request.prompt_total().0 - previous.prompt_total().0;
        let mut answer = self.answer(request, previous);
        // The prompt grew by less than the answer: part of it was not sent back.
        if growth < answer.tokens {
            let pieces: Vec<NewSegment> =
                std::iter::once(answer).chain(added.iter().copied()).collect();
            return self.push(before, &scaled(&pieces, growth));
        }
        // The recorded output is too low, so the growth that nothing else explains belongs to the
        // answer.
        if previous.output_is_lower_bound && !request.between.drops_answer {
            answer.tokens = answer.tokens.max(growth.saturating_sub(sum(added)));
            answer.basis = Basis::Estimated;
        }
        let last = self.push(before, &[answer]);
        self.push_added(last, request, added, (growth - answer.tokens, answer.basis))
    }

    /// Previous answer as part of this request's prompt.
    fn answer(&mut self, request: &Request, previous: &Request) -> NewSegment {
        let item = Item { kind: ContextKind::Answers, file: previous.file, line: previous.line };
        let item = self.tree.add_item(item);
        let counted = Counted::of(self.history, previous);
        let carried = counted.map(|counted| counted.carried(request, previous));
        let recorded = request.carried_output(previous);
        let tokens = carried.unwrap_or(recorded);
        let basis = if tokens == recorded { Basis::Derived } else { Basis::Estimated };
        NewSegment { item, tokens: tokens.0, basis, is_counted: carried.is_some() }
    }

    /// Adds the client's additions, with a total that is known on the given basis.
    fn push_added(
        &mut self,
        before: Option<SegmentId>,
        request: &Request,
        added: &[NewSegment],
        (tokens, basis): (u64, Basis),
    ) -> Option<SegmentId> {
        let estimate = sum(added);
        // Tokens of no line are not attributed to the lines that there are.
        let has_hidden = || added.iter().all(|piece| piece.is_counted) && estimate < tokens;
        let is_known = !is_close(estimate, tokens) && has_hidden();
        if added.is_empty() || is_known || !is_explained(tokens, estimate) {
            let last = self.push(before, added);
            return self.push_new(last, request, ContextKind::Unattributed, tokens - estimate);
        }
        let mut pieces = shared(added, tokens);
        if estimate.abs_diff(tokens) <= CLOSE_TOKENS {
            for piece in pieces.iter_mut().filter(|piece| piece.is_counted) {
                piece.basis = basis;
            }
        }
        // A single piece has all of the growth, so nothing was estimated.
        if let ([only], Basis::Derived) = (pieces.as_mut_slice(), basis) {
            only.basis = Basis::Derived;
        }
        self.push(before, &pieces)
    }

    /// Prompt after a compaction: the part before the messages, the summary with everything that came with
    /// it, and the entries that lines say were kept. The rest was attached again.
    fn compact(
        &mut self,
        request: &Request,
        previous: &Request,
        before: Option<SegmentId>,
        added: &[NewSegment],
        changes: &Changes,
    ) -> Option<SegmentId> {
        let total = request.prompt_total().0;
        let (front, kept) = self.kept_by_compaction(request, previous, before, changes);
        // The end of a conversation is kept after the summary.
        let is_summary =
            |piece: &NewSegment| self.tree.items[piece.item.0].kind == ContextKind::Summaries;
        let place = added.iter().rposition(is_summary).map_or(0, |summary| summary + 1);
        let pieces = [&added[..place], &kept, &added[place..]].concat();
        let (hidden, estimate) = (self.tree.end(front), sum(&pieces));
        if hidden + estimate <= total {
            let last = self.push(front, &pieces);
            return self.push_new(
                last,
                request,
                ContextKind::Unattributed,
                total - hidden - estimate,
            );
        }
        // The estimates exceed the total, so everything is scaled, hidden prefix included.
        let front = self.pieces_between(front, None);
        let pieces: Vec<NewSegment> = front.into_iter().chain(pieces).collect();
        self.push(None, &scaled(&pieces, total))
    }

    /// End of the unchanged prompt before the summary, and the other kept pieces of the conversation.
    fn kept_by_compaction(
        &mut self,
        request: &Request,
        previous: &Request,
        before: Option<SegmentId>,
        changes: &Changes,
    ) -> (Option<SegmentId>, Vec<NewSegment>) {
        let front = self.front(before);
        if changes.kept.is_none() {
            return (front, Vec::new());
        }
        let is_kept = |tree: &SegmentTree, item: ItemId| changes.has_kept(&tree.items[item.0]);
        let mut behind: Vec<SegmentId> =
            self.tree.path(before).take_while(|id| Some(*id) != front).collect();
        behind.reverse();
        let is_as_it_was = |id: &&SegmentId| is_kept(self.tree, self.tree.segment(**id).item);
        let unchanged = behind.iter().take_while(is_as_it_was).last().copied();
        let last = unchanged.or(front);
        let mut pieces = self.pieces_between(before, last);
        pieces.push(self.answer(request, previous));
        let trail = &self.history.files[request.file].trail;
        let contents = trail.contents_before_compaction(request.between.trail);
        pieces.extend(self.pieces_of(request, contents));
        pieces.retain(|piece| is_kept(self.tree, piece.item));
        (last, pieces)
    }

    /// Last segment before the first changed one.
    fn in_front_of(&self, before: Option<SegmentId>, changes: &Changes) -> Option<SegmentId> {
        let has_changed = |id: &SegmentId| {
            let item = self.tree.item(*id);
            changes.has_cleared(item) || changes.has_removed(item)
        };
        let first = self.tree.path(before).filter(has_changed).last();
        first.map_or(before, |first| self.tree.segment(first).parent)
    }

    /// Last segment before a prompt's messages.
    fn front(&self, last: Option<SegmentId>) -> Option<SegmentId> {
        let root = self.tree.beginning_before(last, 1)?;
        match self.fronts.get(&root) {
            Some(end) => self.tree.ending_by(last, *end),
            None => (self.tree.item(root).kind == ContextKind::HiddenPrefix).then_some(root),
        }
    }

    /// Common part of a prompt that shrank and its predecessor: the tokens that it read, and the part before
    /// the messages.
    fn kept(&self, request: &Request, before: Option<SegmentId>) -> Option<SegmentId> {
        let read = self.tree.ending_by(before, request.recorded().prompt.read.0);
        let front = self.front(before);
        let kept = if self.tree.is_behind(front, read) { front } else { read };
        kept.filter(|kept| self.tree.segment(*kept).end <= request.prompt_total().0)
    }

    /// Prompt that is unchanged only up to the end of `kept`. The rest has shrunk, or another model counts
    /// it differently.
    fn rewrite(
        &mut self,
        index: RequestIndex,
        before: Option<SegmentId>,
        kept: Option<SegmentId>,
        added: &[NewSegment],
        changes: Changes,
    ) -> Option<SegmentId> {
        let request = self.history.request(index);
        let mut old = self.pieces_between(before, kept);
        old.retain(|piece| !changes.has_removed(&self.tree.items[piece.item.0]));
        self.rewritten += old.len();
        if self.rewritten > MOST_REWRITTEN {
            old = self.merged(request, &old);
        }
        let previous = self.history.predecessor(request);
        let answer = previous.map(|previous| self.answer(request, previous));
        let is_left = |answer: &NewSegment| !changes.has_removed(&self.tree.items[answer.item.0]);
        old.extend(answer.filter(is_left));
        let free = request.prompt_total().0 - self.tree.end(kept);
        let is_recounted = kept.is_none();
        let new = sum(added).min(free);
        let left = free - new;
        if sum(&old) <= left && !is_recounted {
            let last = self.push(kept, &old);
            return self.push_added(last, request, added, (free - sum(&old), Basis::Estimated));
        }
        let loss = self.loss(index, changes);
        let old =
            if sum(&old) <= left { scaled(&old, left) } else { self.reduced(&old, left, &loss) };
        let last = self.push(kept, &old);
        self.push(last, &fitted(added, new))
    }

    fn loss(&self, index: RequestIndex, changes: Changes) -> Loss {
        let is_deleted = self.steps[index.get()].deleted > Tokens::ZERO;
        if !changes.is_empty() {
            Loss::Named(changes)
        } else if self.history.request(index).between.has_microcompaction || is_deleted {
            Loss::Results
        } else if self.steps[index.get()].dropped_thinking.is_some() {
            Loss::Answers
        } else {
            Loss::Anything
        }
    }

    /// Pieces reduced to `left` tokens together, beginning with the pieces that the loss affects.
    fn reduced(&self, pieces: &[NewSegment], left: u64, loss: &Loss) -> Vec<NewSegment> {
        let is_lost = |piece: &NewSegment| {
            let item = &self.tree.items[piece.item.0];
            let kind = item.kind;
            match loss {
                Loss::Named(changes) => changes.has_cleared(item),
                Loss::Results => matches!(kind, ContextKind::ToolResults(_) | ContextKind::Files),
                Loss::Answers => kind == ContextKind::Answers,
                Loss::Anything => true,
            }
        };
        let (lost, others): (Vec<NewSegment>, Vec<NewSegment>) =
            pieces.iter().partition(|one| is_lost(one));
        let left_of_lost = left.saturating_sub(sum(&others));
        let lost = scaled(&lost, left_of_lost);
        let others = fitted(&others, left - left_of_lost);
        let (mut lost, mut others) = (lost.into_iter(), others.into_iter());
        let next = |one: &NewSegment| if is_lost(one) { lost.next() } else { others.next() };
        pieces.iter().filter_map(next).collect()
    }

    /// Segments after `kept` up to `last` as pieces, in order.
    fn pieces_between(&self, last: Option<SegmentId>, kept: Option<SegmentId>) -> Vec<NewSegment> {
        let behind = self.tree.path(last).take_while(|id| Some(*id) != kept);
        let piece = |id: SegmentId| {
            let segment = self.tree.segment(id);
            NewSegment::estimated(segment.item, segment.tokens())
        };
        let mut pieces: Vec<NewSegment> = behind.map(piece).collect();
        pieces.reverse();
        pieces
    }

    /// One piece for each kind.
    fn merged(&mut self, request: &Request, pieces: &[NewSegment]) -> Vec<NewSegment> {
        let mut place_of: FxHashMap<ContextKind, usize> = FxHashMap::default();
        let mut merged: Vec<NewSegment> = Vec::new();
        for piece in pieces {
            let kind = self.tree.items[piece.item.0].kind;
            let place = *place_of.entry(kind).or_insert_with(|| {
                let item = Item { kind, file: request.file, line: request.line };
                let item = self.tree.add_item(item);
                merged.push(NewSegment::estimated(item, 0));
                merged.len() - 1
            });
            merged[place].tokens += piece.tokens;
        }
        merged
    }

    fn push(&mut self, before: Option<SegmentId>, pieces: &[NewSegment]) -> Option<SegmentId> {
        pieces.iter().fold(before, |last, piece| {
            self.tree.add(last, piece.item, Tokens(piece.tokens), piece.basis)
        })
    }

    /// Adds a segment for tokens that no line shows.
    fn push_new(
        &mut self,
        before: Option<SegmentId>,
        request: &Request,
        kind: ContextKind,
        tokens: u64,
    ) -> Option<SegmentId> {
        if tokens == 0 {
            return before;
        }
        let item = self.tree.add_item(Item { kind, file: request.file, line: request.line });
        self.tree.add(before, item, Tokens(tokens), Basis::Estimated)
    }
}
