//! Options of `fork`.

use std::path::PathBuf;

use clap::Args;

use super::{Choice, Choices, DocumentArgs, whole};
use crate::base::{Millis, Models, Tokens, Ttl};
use crate::simulate::fork::{Equivalents, ForkPlan, MOST_CHILDREN};

/// Number of children if no option sets it.
const USUAL_CHILDREN: usize = 3;

const FORK_EXAMPLES: &str = "\
Examples:
  cachesim fork
  cachesim fork --parent 150000 --assistant 2000 --children 8 --model claude-opus-5
  cachesim fork --directives 100,250,4000 --cold --ttl 1h --format json
  cachesim fork --cold --write-multiplier 1 --kept 20000

The requests are put through the same rules as recorded ones; what children answer is not \
counted.";

/// `fork`.
#[derive(Debug, Args)]
#[command(after_help = FORK_EXAMPLES)]
pub(in crate::cli) struct ForkArgs {
    /// Tokens of the parent's prompt
    ///
    /// Tokens of the parent's prompt, up to its last marker
    #[arg(long, value_name = "TOKENS", value_parser = whole::<u64>(0, u64::MAX), default_value_t = 100_000)]
    parent: u64,
    /// Tokens of the parent's last answer
    ///
    /// Tokens of the parent's last answer, which every child keeps whole
    #[arg(long, value_name = "TOKENS", value_parser = whole::<u64>(0, u64::MAX), default_value_t = 500)]
    assistant: u64,
    /// Tokens of all placeholders of results
    ///
    /// Tokens of the placeholders for the results of its calls, all together
    #[arg(long, value_name = "TOKENS", value_parser = whole::<u64>(0, u64::MAX), default_value_t = 200)]
    placeholders: u64,
    /// Tokens of the directives
    ///
    /// Tokens of the directives: one size for all children, or one for each
    #[arg(
        long,
        alias = "directives",
        value_name = "LIST",
        value_delimiter = ',',
        value_parser = whole::<u64>(0, u64::MAX),
        default_value = "100"
    )]
    directive: Vec<u64>,
    /// Number of children
    ///
    /// Number of children [default: one for each of several directives, else 3]
    #[arg(long, value_name = "N", value_parser = children)]
    children: Option<usize>,
    /// The parent's prefix has expired
    #[arg(long)]
    cold: bool,
    /// Tokens that children share all the same
    ///
    /// Tokens of the parent's prompt, up to a marker, that children share with it although they replace other
    /// tool results than it did (variant `fresh_decisions`)
    #[arg(long, value_name = "TOKENS", value_parser = whole::<u64>(0, u64::MAX), default_value_t = 0)]
    kept: u64,
    /// Weight of a written token
    ///
    /// Weight of a written token, a token sent in full being 1 [default: 1.25 for 5m, 2 for 1h]
    #[arg(long, value_name = "NUMBER", conflicts_with = "model")]
    write_multiplier: Option<Equivalents>,
    /// The TTL of all markers
    #[arg(long, value_parser = Choices(TTLS), default_value = TTLS[0].0)]
    ttl: Ttl,
    /// The model with the prices
    ///
    /// The model with the prices and the shortest cached prefix [default: none, reads at 0.1, writes at 1.25
    /// for 5m and 2 for 1h]
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) model: Option<String>,
    /// Price files to lay over the built-in table
    ///
    /// Price files to lay over the built-in table: cachesim's TOML or LiteLLM's JSON
    #[arg(long, value_name = "FILE", requires = "model")]
    pub(in crate::cli) prices: Vec<PathBuf>,
    /// The document.
    #[command(flatten)]
    pub(in crate::cli) shown: DocumentArgs,
}

impl ForkArgs {
    /// Plan of the fork at a moment, or an error if the number of children differs from that of the
    /// directives.
    pub(in crate::cli) fn plan(&self, at: Millis, models: &Models) -> Result<ForkPlan, String> {
        let model = self.model.as_deref().unwrap_or_default();
        Ok(ForkPlan {
            parent: Tokens(self.parent),
            assistant: Tokens(self.assistant),
            placeholders: Tokens(self.placeholders),
            directives: self.directives()?,
            kept: Tokens(self.kept),
            write_weight: self.write_multiplier,
            parent_is_warm: !self.cold,
            ttl: self.ttl,
            minimum: models.facts(model).minimum(at),
        })
    }

    fn directives(&self) -> Result<Vec<Tokens>, String> {
        match (self.directive.as_slice(), self.children) {
            ([one], children) => Ok(vec![Tokens(*one); children.unwrap_or(USUAL_CHILDREN)]),
            (several, Some(children)) if several.len() != children => Err(format!(
                "--children: {children} children, but {} directives; give one size for all, or \
                 one for each",
                several.len()
            )),
            (several, _) => Ok(several.iter().copied().map(Tokens).collect()),
        }
    }
}

fn children(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| (1..=MOST_CHILDREN).contains(count));
    count.ok_or_else(|| format!("expected a number from 1 to {MOST_CHILDREN}"))
}

/// `--ttl`.
const TTLS: &[Choice<Ttl>] =
    &[("5m", "Five minutes", Ttl::FiveMinutes), ("1h", "An hour", Ttl::OneHour)];
