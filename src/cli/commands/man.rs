//! `cachesim man`.

use std::io;

use clap::builder::Resettable;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::cli::args::{Cli, ManArgs};
use crate::cli::error::CliError;
use crate::cli::output::{Output, write_files};
use crate::cli::strategies::unknown;

/// The manual page of the program or of one command, or all of them.
pub(in crate::cli) fn man(args: &ManArgs) -> Result<(), CliError> {
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    if let Some(folder) = &args.all {
        let mut pages = Vec::new();
        add_pages(&program, &mut pages)?;
        return write_files(folder, pages);
    }
    let page = page(find(&program, &args.command)?)?;
    Output::open(&args.output)?.write(|out| out.write_all(&page))
}

fn find<'c>(program: &'c Command, names: &[String]) -> Result<&'c Command, CliError> {
    names.iter().try_fold(program, |command, name| {
        let known = || command.get_subcommands().map(Command::get_name).collect::<Vec<_>>();
        command.find_subcommand(name).ok_or_else(|| match known().as_slice() {
            [] => CliError::Usage(format!("man: `{}` has no commands", command.get_name())),
            known => unknown("man", name, known),
        })
    })
}

/// Adds the pages of a command and of those below it, with the names of their files.
fn add_pages(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    pages.push((Man::new(command.clone()).get_filename(), page(command)?));
    command.get_subcommands().try_for_each(|command| add_pages(command, pages))
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let source = concat!("cachesim ", env!("CARGO_PKG_VERSION"));
    let body = command.clone().after_help(Resettable::Reset);
    let mut page = Vec::new();
    Man::new(body).source(source).render(&mut page)?;
    if let Some(text) = command.get_after_help() {
        page.extend_from_slice(end(&text.to_string()).to_roff().as_bytes());
    }
    Ok(page)
}

/// What stands after the options in `--help`: a first paragraph with its heading, whose lines stay
/// as they are, and text.
fn end(text: &str) -> Roff {
    let mut roff = Roff::default();
    for paragraph in text.split("\n\n") {
        match paragraph.split_once(":\n") {
            Some((heading, lines)) if !heading.contains('\n') => {
                roff.control("SH", [heading.to_uppercase().as_str()]);
                roff.control("nf", []);
                roff.text([roman(lines)]);
                roff.control("fi", []);
            }
            _ => {
                roff.control("PP", []);
                roff.text([roman(paragraph)]);
            }
        }
    }
    roff
}
