//! Tree of a trace: calls of models inside other calls, and the agents that made them.
//!
//! A gateway, a framework and an SDK may each report the same call, one inside the other. A call below
//! an agent or a tool that another call has started is a call of its own.

use rustc_hash::FxHashMap;

use crate::base::{EntryId, Symbol};

/// Role of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// One call of a model.
    Call,
    /// Agent at work, with its id or name.
    Agent(Option<Symbol>),
    /// Tool at work.
    Tool,
    /// Anything else.
    Other,
}

/// All spans of a file by their ids.
#[derive(Default)]
pub(super) struct Spans(FxHashMap<EntryId, Span>);

#[derive(Clone, Copy)]
struct Span {
    parent: Option<EntryId>,
    role: Role,
}

/// Most ancestors that are followed. No real tree is deeper, and damage may have made a circle of it.
const MOST_ANCESTORS: usize = 128;

impl Spans {
    /// Adds a span. A span that is sent again is already there.
    pub(super) fn add(&mut self, id: EntryId, parent: Option<EntryId>, role: Role) {
        self.0.entry(id).or_insert(Span { parent, role });
    }

    /// Spans around a span, the nearest first.
    fn ancestors(&self, id: EntryId) -> impl Iterator<Item = (EntryId, Role)> + '_ {
        let mut child = self.0.get(&id).copied();
        let above = std::iter::from_fn(move || {
            let id = child?.parent?;
            child = self.0.get(&id).copied();
            Some((id, child?.role))
        });
        above.take(MOST_ANCESTORS)
    }

    /// Calls around a call, the nearest first; none if the call is inside itself, which only damage
    /// causes.
    pub(super) fn calls_around(&self, id: EntryId) -> Vec<EntryId> {
        let mut around = Vec::new();
        for (ancestor, role) in self.ancestors(id) {
            match role {
                _ if ancestor == id => return Vec::new(),
                Role::Call => around.push(ancestor),
                Role::Other => {}
                Role::Agent(_) | Role::Tool => break,
            }
        }
        around
    }

    /// Sub-agent that made a call, and the span in which it worked.
    ///
    /// It is the nearest agent, or the one that the call itself names, if it differs from the outermost
    /// one.
    pub(super) fn sub_agent(
        &self,
        id: EntryId,
        named: Option<Symbol>,
    ) -> Option<(Symbol, EntryId)> {
        let mut agents = self.ancestors(id).filter_map(|(id, role)| match role {
            Role::Agent(agent) => Some((id, agent)),
            _ => None,
        });
        let (at_work, nearest) = agents.next()?;
        // The outermost agent is the main one.
        let outermost = agents.last().map_or(nearest, |(_, agent)| agent);
        let agent = named.or(nearest)?;
        (Some(agent) != outermost).then_some((agent, at_work))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Symbols;

    fn id(name: &str) -> EntryId {
        EntryId::of(name)
    }

    fn tree(spans: &[(&str, &str, Role)]) -> Spans {
        let mut tree = Spans::default();
        for (name, parent, role) in spans {
            let parent = Some(*parent).filter(|parent| !parent.is_empty());
            tree.add(id(name), parent.map(id), *role);
        }
        tree
    }

    #[test]
    fn a_call_in_a_call_is_told_apart_from_one_of_a_tool() {
        let tree = tree(&[
            ("sdk", "", Role::Call),
            ("http", "sdk", Role::Other),
            ("gateway", "http", Role::Call),
            ("tool", "sdk", Role::Tool),
            ("own", "tool", Role::Call),
            ("orphan", "elsewhere", Role::Call),
        ]);
        assert_eq!(tree.calls_around(id("gateway")), [id("sdk")]);
        for alone in ["sdk", "own", "orphan", "unknown"] {
            assert!(tree.calls_around(id(alone)).is_empty(), "{alone}");
        }
    }

    #[test]
    fn a_sub_agent_is_another_one_than_the_outermost() {
        let mut symbols = Symbols::default();
        let [main, explore] = ["main", "explore"].map(|name| symbols.intern(name));
        let tree = tree(&[
            ("root", "", Role::Agent(Some(main))),
            ("first", "root", Role::Call),
            ("task", "root", Role::Tool),
            ("sub", "task", Role::Agent(Some(explore))),
            ("second", "sub", Role::Call),
            ("again", "root", Role::Agent(Some(main))),
            ("third", "again", Role::Call),
            ("alone", "", Role::Call),
        ]);
        assert_eq!(tree.sub_agent(id("second"), None), Some((explore, id("sub"))));
        assert_eq!(tree.sub_agent(id("first"), Some(explore)), Some((explore, id("root"))));
        for own in ["first", "third", "alone"] {
            assert_eq!(tree.sub_agent(id(own), None), None, "{own}");
        }
    }

    #[test]
    fn a_circle_has_an_end() {
        let tree = tree(&[
            ("a", "b", Role::Call),
            ("b", "a", Role::Call),
            ("c", "c", Role::Other),
            ("d", "a", Role::Call),
        ]);
        for inside_of_itself in ["a", "c"] {
            assert!(tree.calls_around(id(inside_of_itself)).is_empty());
        }
        assert_eq!(tree.calls_around(id("d")).len(), MOST_ANCESTORS);
    }
}
