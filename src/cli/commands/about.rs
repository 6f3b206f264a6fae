//! Commands about the program: `config`, `completions`, `schema`, `strategies` and `man`.

use std::io;

use clap::builder::Resettable;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::base::Client;
use crate::cli::args::here;
use crate::cli::args::{
    Cli, CompletionsArgs, ConfigArgs, ConfigCommand, ManArgs, SchemaArgs, SourcesArgs,
    StrategiesArgs, documented,
};
use crate::cli::configuration::effective;
use crate::cli::output::write_files;
use crate::cli::places::{Place, places};
use crate::cli::strategies::unknown;
use crate::cli::{CliError, Output, Progress, shown_path, size, tell_damage};
use crate::explain::analysis::Novelties;
use crate::explain::config::Configuration;
use crate::read::input::discover;
use crate::report::{
    MACHINE_FORMATS, MachineFormat, SourceRow, config_document, formats_document, sources_document,
    strategies_document, write_config, write_sources,
};
use crate::requests::conversation::{ReadOptions, read};

/// Shows the configuration in use.
pub(in crate::cli) fn config(
    args: &ConfigArgs,
    configuration: &Configuration,
) -> Result<(), CliError> {
    let ConfigCommand::Show { shown } = &args.command;
    let (options, naming) = (effective(configuration), here());
    shown.show(
        || config_document(configuration, &options, &naming),
        |out| write_config(configuration, &options, &naming, out),
    )
}

/// Prints the script with which a shell completes commands and options.
pub(in crate::cli) fn completions(args: &CompletionsArgs) -> Result<(), CliError> {
    let mut program = Cli::command();
    let name = program.get_name().to_owned();
    // A buffer first: the generator panics on a closed pipe.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, name, &mut script);
    Output::of_text(&args.output)?.write(|out| out.write_all(&script))
}

/// Prints the schema of one machine format, or of all.
pub(in crate::cli) fn schema(args: &SchemaArgs) -> Result<(), CliError> {
    if let Some(Some(folder)) = &args.all {
        let file =
            |format: &MachineFormat| (format!("{}.schema.json", format.name), format.schema.into());
        return write_files(folder, MACHINE_FORMATS.iter().map(file));
    }
    let format = args.name.as_deref().map(by_name).transpose()?;
    let output = Output::of_text(&args.output)?;
    match format {
        None => output.fitted(args.all.is_some()).text(&formats_document()),
        Some(format) => output.write(|out| out.write_all(format.schema.as_bytes())),
    }
}

fn by_name(name: &str) -> Result<&'static MachineFormat, CliError> {
    MACHINE_FORMATS.iter().find(|format| format.name == name).ok_or_else(|| {
        unknown("schema", name, &MACHINE_FORMATS.each_ref().map(|format| format.name))
    })
}

/// Lists the places of sessions with the number of files in each, and what is not known of Claude Code's lines.
pub(in crate::cli) fn sources(args: &SourcesArgs) -> Result<(), CliError> {
    let row = |place: Place| {
        let is_there = place.folder.exists();
        let files =
            is_there.then(|| discover(std::slice::from_ref(&place.folder)).sources.len() as u64);
        SourceRow {
            client: place.client,
            place: shown_path(&place.folder),
            variable: place.variable,
            variables: place.variables,
            files,
        }
    };
    let places = places(&[]);
    let of_claude = places.iter().filter(|place| place.client == Client::ClaudeCode);
    let folders = of_claude.map(|place| place.folder.clone());
    let there: Vec<_> = folders.filter(|folder| folder.exists()).collect();
    let options = ReadOptions { leaves_out_trails: true, ..ReadOptions::default() };
    let files = discover(&there);
    let progress = Progress::of_bytes("reading sessions", size(&files.sources));
    let history = read(files, options, |bytes| progress.add(bytes));
    drop(progress);
    let output = &args.shown.output;
    tell_damage(&history.diagnostics, history.files.len(), false, output)?;
    let novelties = Novelties::of(&history);
    let rows: Vec<SourceRow> = places.into_iter().map(row).collect();
    let document = || sources_document(&rows, &novelties, output.all);
    args.shown.show(document, |out| write_sources(&rows, &novelties, out))
}

/// Lists every strategy that has a name.
pub(in crate::cli) fn strategies(args: &StrategiesArgs) -> Result<(), CliError> {
    Output::open(&args.output)?.text(&strategies_document())
}

/// Prints the manual page of the program or of one command, or writes all of them.
pub(in crate::cli) fn man(args: &ManArgs) -> Result<(), CliError> {
    let mut program = documented(Cli::command()).disable_help_subcommand(true);
    // Gives subcommands their full names, which the pages show.
    program.build();
    if let Some(folder) = &args.all {
        let mut pages = Vec::new();
        add_pages(&program, &mut pages)?;
        return write_files(folder, pages);
    }
    let page = page(find(&program, &args.command)?)?;
    Output::of_text(&args.output)?.write(|out| out.write_all(&page))
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

/// Adds the pages of a command and its subcommands, with their file names.
fn add_pages(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    pages.push((Man::new(command.clone()).get_filename(), page(command)?));
    command.get_subcommands().try_for_each(|command| add_pages(command, pages))
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let source = concat!("cachesim ", env!("CARGO_PKG_VERSION"));
    // The text after the options is added below: the generator would join its lines.
    let body = command.clone().after_help(Resettable::Reset);
    let mut page = Vec::new();
    Man::new(body).source(source).render(&mut page)?;
    if let Some(text) = command.get_after_help() {
        page.extend_from_slice(end(&text.to_string()).to_roff().as_bytes());
    }
    Ok(page)
}

/// Text after the options in `--help`: a paragraph under a heading, whose lines stay as they are, or running
/// text.
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
