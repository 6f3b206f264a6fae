//! A machine format and its JSON schema.

/// One version of a format that programs read or write.
#[derive(Clone, Copy, Debug)]
pub struct MachineFormat {
    /// Name of the schema.
    pub name: &'static str,
    /// Commands that write the format, or, for an input, read it.
    pub commands: &'static str,
    /// Contents in one line.
    pub meaning: &'static str,
    /// The JSON schema (draft 2020-12) with a final line break.
    pub schema: &'static str,
}

/// Formats, each with the file of its schema.
macro_rules! formats {
    ($($(#[$attribute:meta])* $name:literal, $commands:literal, $meaning:literal;)+) => {
        [$($(#[$attribute])* MachineFormat {
            name: $name,
            commands: $commands,
            meaning: $meaning,
            schema: include_str!(concat!("../../../schemas/", $name, ".schema.json")),
        }),+]
    };
}

pub(super) use formats;
