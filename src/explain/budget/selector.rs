//! Which requests a budget is about.

use std::fmt;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// What a name has to look like: `*` is anything but a `/`, `**` anything, `?` a character, `{a,b}` one
/// of several.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    /// Of one glob: unlike a single matcher, a set says what cannot be compiled.
    matcher: GlobSet,
}

/// The longest pattern, so that nested braces cannot nest deeply.
const MOST_BYTES: usize = 256;

/// A selection. What is `None` selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// The project, by the last parts of its folder that tell it from others.
    pub project: Option<Pattern>,
    /// The model of a request.
    pub model: Option<Pattern>,
    /// The file of a request, relative to the given paths.
    pub files: Option<Pattern>,
    /// The strategy whose figures count; the record, or its replay where something is not recorded.
    pub strategy: Option<String>,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > MOST_BYTES {
            return Err(format!("it is longer than {MOST_BYTES} bytes"));
        }
        let problem = |error: globset::Error| error.kind().to_string();
        let glob = GlobBuilder::new(text).literal_separator(true).build().map_err(problem)?;
        let matcher = GlobSetBuilder::new().add(glob).build().map_err(problem)?;
        Ok(Self { text: text.to_owned(), matcher })
    }

    /// Whether a name looks like it.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        self.matcher.is_match(name)
    }

    /// As it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Pattern {}

impl Selector {
    /// Whether it selects a part of the requests only.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.project.is_some() || self.model.is_some() || self.files.is_some()
    }

    /// Whether a session is of the project.
    #[must_use]
    pub fn has_project(&self, project: Option<&str>) -> bool {
        let Some(pattern) = &self.project else { return true };
        project.is_some_and(|project| pattern.matches(project))
    }

    /// Whether a request is selected, in a session that is of the project.
    #[must_use]
    pub fn has_request(&self, model: &str, file: &str) -> bool {
        self.model.as_ref().is_none_or(|pattern| pattern.matches(model))
            && self.files.as_ref().is_none_or(|pattern| pattern.matches(file))
    }
}

impl fmt::Display for Selector {
    /// In words, as `model claude-opus-*, files a/**`; nothing where everything is selected.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let patterns = [("project", &self.project), ("model", &self.model), ("files", &self.files)];
        let mut parts: Vec<String> = patterns
            .into_iter()
            .filter_map(|(name, pattern)| Some(format!("{name} {}", pattern.as_ref()?.text())))
            .collect();
        parts.extend(self.strategy.iter().map(|strategy| format!("strategy {strategy}")));
        f.write_str(&parts.join(", "))
    }
}
