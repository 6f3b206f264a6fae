//! Two captured requests, compared part by part.

use super::beta_features::beta_differences;
use super::bytes::ByteDifference;
use super::extra_body::extra_body_differences;
use super::kind::{DifferenceKind, Dimension};
use super::markers::marker_differences;
use super::messages::{deletion_difference, message_difference};
use super::settings::{SettingChange, setting_changes};
use super::system::system_differences;
use super::tools::{ToolChange, ToolChangeKind, tool_changes};
use super::value::SAME_IN_OTHER_BYTES;
use super::view::PromptView;
use crate::read::capture::WireNodeId;
use crate::requests::conversation::{History, RequestIndex};

/// Something in which a request differs from an earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What kind of difference it is.
    pub kind: DifferenceKind,
    /// The part of the request, such as `tools[3]`, `system[1]`, `messages[4].content[0]` or
    /// `output_config.effort`. It is one of the later request, but where nothing is left there.
    pub place: String,
    /// What was found there, in a few words, none of them from the prompt.
    pub detail: String,
    /// The tool that differs, and its field if one does: words of the prompt.
    pub tool: Option<String>,
    /// The node of the earlier prompt; `None` where there was nothing, or nothing of the prefix.
    pub before: Option<WireNodeId>,
    /// The node of the later prompt.
    pub after: Option<WireNodeId>,
    /// The first differing bytes of what stands at the place in both; words of the prompt.
    pub bytes: Option<ByteDifference>,
}

impl Difference {
    pub(super) fn new(
        kind: DifferenceKind,
        place: impl Into<String>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            place: place.into(),
            detail: detail.into(),
            tool: None,
            before: None,
            after: None,
            bytes: None,
        }
    }

    /// The same between two nodes of the prefix.
    pub(super) fn between(self, before: Option<WireNodeId>, after: Option<WireNodeId>) -> Self {
        Self { before, after, ..self }
    }

    /// The same with what stood and what stands at the place.
    pub(super) fn with_bytes(self, before: Option<&str>, after: Option<&str>) -> Self {
        let bytes = before.zip(after).map(|(before, after)| ByteDifference::between(before, after));
        Self { bytes, ..self }
    }

    /// Whether it is one of the prefix, and does not stand beside it.
    #[must_use]
    pub fn is_of_prefix(&self) -> bool {
        self.before.is_some() || self.after.is_some() || self.kind == DifferenceKind::Model
    }

    /// The dimension it belongs to.
    #[must_use]
    pub fn dimension(&self) -> Dimension {
        self.kind.dimension()
    }
}

/// Where two prompts part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The last node that both have; `None` where not even the model is the same.
    pub shared: Option<WireNodeId>,
    /// The first difference. It stands right after the shared node, unless the later prompt goes on
    /// from the earlier one, and the two differ beside the prefix at most.
    pub first: Option<Difference>,
}

/// All differences between two captured requests, of which `before` is the earlier one; none where one
/// of them is of a transcript. The captures have to be read with their bytes kept.
///
/// First comes what is part of the prefix, in its order: model, tools, speed and citations, system
/// prompt, the settings in front of the messages, messages; whatever the first of these is, nothing
/// after it can be read. Of messages only the first difference is told. Then comes what stands beside
/// the prefix: scope and other attributes of markers, beta features, other fields of the body. What the
/// service makes of those is not documented, so one of them explains only what the first part leaves
/// unexplained: that more was lost than stands after the shared prefix.
#[must_use]
pub fn differences(
    history: &History,
    before: RequestIndex,
    after: RequestIndex,
) -> Vec<Difference> {
    let (Some(before), Some(after)) = (history.wire(before), history.wire(after)) else {
        return Vec::new();
    };
    let tree = &history.captured.tree;
    let pair = Pair {
        before: &PromptView::new(tree, before.leaf),
        after: &PromptView::new(tree, after.leaf),
    };
    let mut differences: Vec<Difference> = pair.model().into_iter().collect();
    differences.extend(pair.tools());
    differences.extend(pair.settings(|view| view.system_settings));
    differences.extend(system_differences(pair));
    differences.extend(pair.settings(|view| view.message_settings));
    differences.extend(message_difference(pair));
    differences.extend(marker_differences(pair, &before.markers, &after.markers));
    differences.extend(deletion_difference(&before.deleted, &after.deleted));
    differences.extend(beta_differences(history.text(before.betas), history.text(after.betas)));
    differences.extend(extra_body_differences(
        history.text(before.other_fields),
        history.text(after.other_fields),
    ));
    differences
}

/// Where two captured requests part; `None` where one of them is of a transcript. The captures have to
/// be read with their bytes kept.
#[must_use]
pub fn divergence(
    history: &History,
    before: RequestIndex,
    after: RequestIndex,
) -> Option<Divergence> {
    let leaves = (history.wire(before)?.leaf, history.wire(after)?.leaf);
    let shared = history.captured.tree.shared(leaves.0, leaves.1);
    Some(Divergence { shared, first: differences(history, before, after).into_iter().next() })
}

/// Two prompts.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) before: &'a PromptView<'a>,
    pub(super) after: &'a PromptView<'a>,
}

impl<'a> Pair<'a> {
    fn model(self) -> Option<Difference> {
        let (before, after) = (self.before.model, self.after.model);
        let detail = "another model";
        (before != after).then(|| {
            Difference::new(DifferenceKind::Model, "model", detail)
                .between(Some(before), Some(after))
                .with_bytes(Some(self.before.text(before)), Some(self.after.text(after)))
        })
    }

    fn tools(self) -> Vec<Difference> {
        let before = self.before.texts(&self.before.tools);
        let after = self.after.texts(&self.after.tools);
        let changes = tool_changes(&before, &after).into_iter();
        changes.map(|change| self.tool(&change, &before, &after)).collect()
    }

    fn tool(self, change: &ToolChange, before: &[&'a str], after: &[&'a str]) -> Difference {
        let (kind, detail) = match &change.kind {
            ToolChangeKind::Gone => (DifferenceKind::ToolRemoved, "a tool is gone"),
            ToolChangeKind::New => (DifferenceKind::ToolAdded, "a tool is new"),
            ToolChangeKind::Moved => {
                (DifferenceKind::ToolMoved, "a tool stands where another one stood")
            }
            ToolChangeKind::Changed(_) => (DifferenceKind::ToolChanged, "a field changed"),
            ToolChangeKind::Respelled => (DifferenceKind::ToolRespelled, SAME_IN_OTHER_BYTES),
        };
        let place = change.position();
        // Where one of the two has no such tool, another one stands there.
        let text = |texts: &[&'a str], own: Option<usize>| texts.get(own.unwrap_or(place)).copied();
        let node = |nodes: &[WireNodeId], own: Option<usize>| own.map(|own| nodes[own]);
        let mut difference = Difference::new(kind, format!("tools[{place}]"), detail)
            .between(node(&self.before.tools, change.before), node(&self.after.tools, change.after))
            .with_bytes(text(before, change.before), text(after, change.after));
        difference.tool = Some(match &change.kind {
            ToolChangeKind::Changed(field) => format!("{}: {field}", change.name),
            _ => change.name.clone(),
        });
        difference
    }

    fn settings(self, node: impl Fn(&PromptView<'a>) -> Option<WireNodeId>) -> Vec<Difference> {
        let (before, after) = (node(self.before), node(self.after));
        let text =
            |view: &PromptView<'a>, id: Option<WireNodeId>| id.map_or("", |id| view.text(id));
        let changes = setting_changes(text(self.before, before), text(self.after, after));
        let difference = |change: &SettingChange<'_>| {
            Difference::new(change.setting.kind(), change.setting.place(), "another value")
                .between(before, after)
                .with_bytes(Some(change.before), Some(change.after))
        };
        changes.iter().map(difference).collect()
    }
}
