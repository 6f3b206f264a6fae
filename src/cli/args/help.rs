//! Help that fits the terminal.

use std::borrow::Cow;

use clap::builder::Resettable;

use super::assume;

pub(super) const EXIT_CODES: &str = "\
Exit codes:
  0   done; damaged input is counted and named on stderr
  1   a gate failed: a budget of check is not kept, or what compare --fail-if names has come true
  2   usage
  3   no usable input, or one that needs more than --max-memory
  4   damaged input, under --strict
  5   a model without a price, under --strict-prices
  70  a bug in this program";

/// Help template of a command up to its trailing text, as clap writes it.
const HELP: &str = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n\n{all-args}\n\n";

/// Form of the help.
#[derive(Clone, Copy)]
pub(in crate::cli) struct HelpForm {
    /// Columns of the terminal.
    pub(in crate::cli) width: usize,
    /// True for `-h`: a line for each option, without the rare ones.
    pub(in crate::cli) is_short: bool,
}

/// Fits the help of a program into a form.
///
/// Clap would break examples, so that nobody could copy them; so the trailing texts are part of the template,
/// which clap takes as it is.
pub(in crate::cli) fn fitted(program: clap::Command, form: HelpForm) -> clap::Command {
    let program = documented(program);
    let template = first_page(&program, form);
    let program = program.term_width(form.width).help_template(template);
    program.mut_subcommands(|command| fitted_command(command, form))
}

/// Removes the summaries of `-h` from the long help of options, and lists the keys of `--assume` there.
pub(in crate::cli) fn documented(command: clap::Command) -> clap::Command {
    let command = command.mut_subcommands(documented).mut_args(|arg| {
        let long = arg.get_long_help().map(ToString::to_string).unwrap_or_default();
        match (long.split_once("\n\n"), arg.get_help().cloned()) {
            (Some((_, long)), _) => arg.long_help(long.to_owned()),
            // Manual pages have no other text for an option that `-h` leaves out.
            (None, Some(help)) if long.is_empty() => arg.long_help(help),
            (None, _) => arg,
        }
    });
    assume::with_keys(command)
}

fn fitted_command(command: clap::Command, form: HelpForm) -> clap::Command {
    let command = command.term_width(form.width).mut_subcommands(|one| fitted_command(one, form));
    if form.is_short {
        let command = command.mut_args(|arg| {
            let takes_values = arg.get_action().takes_values();
            if takes_values { arg.hide_default_value(true).hide_possible_values(true) } else { arg }
        });
        let more = "All options, examples and notes: --help";
        return command.after_help(Resettable::Reset).help_template(HELP.to_owned() + more);
    }
    let Some(text) = command.get_after_help().map(ToString::to_string) else { return command };
    let text = fitted_paragraphs(&text, form.width);
    command.after_help(Resettable::Reset).help_template(HELP.to_owned() + &text)
}

fn fitted_paragraphs(text: &str, width: usize) -> String {
    let paragraphs: Vec<String> = text.split("\n\n").map(|one| fitted_text(one, width)).collect();
    paragraphs.join("\n\n")
}

/// Commands by their readers, as README groups them. Others are in the long help alone.
const GROUPS: [(&str, &[&str]); 6] = [
    ("You pay for an agent", &["analyze", "advise", "breaks", "explain", "context", "blocks"]),
    ("You want a gate in CI", &["check", "init", "redact", "verify"]),
    ("You build an agent", &["lint", "compare", "chart", "report"]),
    ("You have a fleet", &["fleet"]),
    ("Live", &["statusline", "watch", "hook"]),
    ("About", &["sources", "prices"]),
];

/// Help of the program: its commands in groups.
fn first_page(program: &clap::Command, form: HelpForm) -> String {
    let is_grouped = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let rest =
        program.get_subcommands().map(clap::Command::get_name).filter(|name| !is_grouped(name));
    let rest: Vec<&str> = rest.collect();
    let mut page =
        "{before-help}{about-with-newline}\n{usage-heading} {name} [COMMAND] [OPTIONS]\n\n"
            .to_owned();
    for (heading, names) in GROUPS {
        page += &listed(program, heading, names);
    }
    if form.is_short {
        let more = format!("More: {}", rest.join(", "));
        page += &fitted_text(&more, form.width);
        page += "\n\nWithout a command it analyzes your own sessions. More: cachesim COMMAND -h\n";
    } else {
        page += &listed(program, "More", &rest);
        page += "Options:\n{options}\n\n";
        page += &fitted_paragraphs(EXIT_CODES, form.width);
    }
    page
}

/// Commands under a heading, a line each.
fn listed(program: &clap::Command, heading: &str, names: &[&str]) -> String {
    let about = |name: &&str| {
        // The longest name, `completions`, has eleven letters.
        let about = program.find_subcommand(name).and_then(clap::Command::get_about);
        format!("  {name:<11}  {}\n", about.map(ToString::to_string).unwrap_or_default())
    };
    format!("{heading}:\n{}\n", names.iter().map(about).collect::<String>())
}

/// Paragraph or list within a width. Examples stay whole, so that they can be copied.
fn fitted_text(paragraph: &str, width: usize) -> String {
    if paragraph.starts_with("Examples:") {
        return paragraph.to_owned();
    }
    paragraph.lines().flat_map(|line| fitted_line(line, width)).collect::<Vec<_>>().join("\n")
}

/// Line within a width; continued lines are indented to the text after its first column.
fn fitted_line(line: &str, width: usize) -> Vec<String> {
    let text = line.trim_start_matches(' ');
    let column =
        text.find("  ").map_or(0, |end| end + text[end..].len() - text[end..].trim_start().len());
    let indent = " ".repeat(line.len() - text.len() + column);
    let options = textwrap::Options::new(width)
        .subsequent_indent(&indent)
        // A path or an option that is broken could not be copied.
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit);
    textwrap::wrap(line, options).into_iter().map(Cow::into_owned).collect()
}
