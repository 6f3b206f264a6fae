//! The `cachesim` program; everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    cachesim::cli::main()
}
