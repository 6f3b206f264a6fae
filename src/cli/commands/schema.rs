//! `cachesim schema`.

use crate::cli::args::SchemaArgs;
use crate::cli::error::CliError;
use crate::cli::output::{Output, write_files};
use crate::cli::strategies::unknown;
use crate::report::{MACHINE_FORMATS, MachineFormat, formats_document};

/// The schema of a machine format, or all of them.
pub(in crate::cli) fn schema(args: &SchemaArgs) -> Result<(), CliError> {
    if let Some(folder) = &args.all {
        let file = |format: &MachineFormat| {
            (format!("{}.schema.json", format.name), format.schema().into_bytes())
        };
        return write_files(folder, MACHINE_FORMATS.iter().map(file));
    }
    let format = args.name.as_deref().map(by_name).transpose()?;
    let output = Output::open(&args.output)?;
    match format {
        None => output.text(&formats_document()),
        Some(format) => output.write(|out| out.write_all(format.schema().as_bytes())),
    }
}

fn by_name(name: &str) -> Result<&'static MachineFormat, CliError> {
    MACHINE_FORMATS.iter().find(|format| format.name == name).ok_or_else(|| {
        unknown("schema", name, &MACHINE_FORMATS.each_ref().map(|format| format.name))
    })
}
