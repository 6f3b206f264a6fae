//! Four commands as tools of the Model Context Protocol, over standard input and output.
//!
//! Each call runs this program once more ([`call`]): a cancelled call ends at once and frees its memory, and
//! an answer is the command's own output. The arguments of a call are derived from the command line
//! ([`tool`]), so that both have the same options with the same words. The command itself keeps to the
//! folders, by `--inside`.

mod call;
mod server;
mod tool;

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use tokio::runtime;

use server::Server;

use super::args::ConfigurationArgs;
use super::{CliError, say, shown_path};
use crate::read::input::Inside;

/// Answers a client, until it closes standard input or a signal ends the program.
pub(super) fn serve(
    folders: &[PathBuf],
    configuration: &ConfigurationArgs,
) -> Result<(), CliError> {
    let inside = Inside::of(folders).map_err(|(folder, error)| {
        let folder = folder.display();
        CliError::Usage(format!("{folder}: {error}; give a folder with sessions"))
    })?;
    if io::stdin().is_terminal() {
        let folder = folders.first().map(|folder| shown_path(folder)).unwrap_or_default();
        say(&format!(
            "waits for a client of the Model Context Protocol on standard input; Claude Code starts it after: \
             claude mcp add cachesim -- cachesim mcp {folder}"
        ));
    }
    let server = Server::new(inside, &passed_on(configuration));
    let failed = |error: io::Error| CliError::Usage(format!("cannot serve: {error}"));
    // One thread is enough: the processes of the calls do the work.
    let runtime = runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let ended = runtime.block_on(async {
        tokio::select! {
            ended = answer(server) => ended,
            ended = interrupted() => ended.map_err(failed),
        }
    });
    // A thread may still wait for input. Running calls are ended.
    runtime.shutdown_background();
    ended
}

async fn answer(server: Server) -> Result<(), CliError> {
    let client = (tokio::io::stdin(), tokio::io::stdout());
    let running = match server.serve(client).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(ServerInitializeError::InitializeFailed(error)) => {
            return Err(CliError::Usage(format!("the client cannot be served: {}", error.message)));
        }
        // The message that came instead may hold text of a session.
        Err(_) => {
            let told = "the client's first message does not initialize a session of the Model Context Protocol";
            return Err(CliError::Usage(told.to_owned()));
        }
    };
    let ended = running.waiting().await;
    ended.map(drop).map_err(|error| CliError::Usage(format!("cannot go on: {error}")))
}

/// Waits for a signal that ends the program.
async fn interrupted() -> io::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};

        let mut terminated = signal(SignalKind::terminate())?;
        let mut hung_up = signal(SignalKind::hangup())?;
        let mut has_quit = signal(SignalKind::quit())?;
        tokio::select! {
            ended = tokio::signal::ctrl_c() => ended,
            _ = terminated.recv() => Ok(()),
            _ = hung_up.recv() => Ok(()),
            _ = has_quit.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await
}

/// Options that select the configuration, for the commands: the one that was named, otherwise none.
///
/// A configuration that is found where the server runs may be a stranger's, and names files that are read.
fn passed_on(configuration: &ConfigurationArgs) -> Vec<OsString> {
    match &configuration.config {
        Some(file) => vec!["--config".into(), file.into()],
        None => vec!["--no-config".into()],
    }
}

/// Folder above all of these, or the only one.
fn above_all(folders: &[PathBuf]) -> Option<PathBuf> {
    let (first, others) = folders.split_first()?;
    let holds_all = |above: &&Path| others.iter().all(|other| other.starts_with(above));
    first.ancestors().find(holds_all).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_on_from_the_folder_above_all() {
        let above = |folders: &[&str]| {
            let folders: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
            above_all(&folders)
        };
        assert_eq!(above(&["/home/me/.claude"]), Some("/home/me/.claude".into()));
        assert_eq!(above(&["/home/me/.claude", "/home/me/.codex"]), Some("/home/me".into()));
        assert_eq!(above(&["/home/me", "/home/me/.codex"]), Some("/home/me".into()));
        assert_eq!(above(&["/home/me", "/home/men"]), Some("/home".into()));
        assert_eq!(above(&["/a", "/b"]), Some("/".into()));
        assert_eq!(above(&["C:a", "D:a"]), Some("".into()), "which no path leads on from");
    }
}
