//! Call of a tool: a run of this program with arguments, until it ends or the client cancels it.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

/// Most bytes of an answer that are passed on. A model reads the answer, which fills its window.
pub(super) const MOST_ANSWERED: usize = 100_000;

/// Most bytes of messages on standard error that are passed on.
const MOST_SAID: usize = 10_000;

/// Output of a command.
pub(super) struct Printed {
    /// Standard output: all of it, or a byte more than may be passed on.
    pub(super) answer: Vec<u8>,
    /// Standard error.
    pub(super) said: Vec<u8>,
    /// Exit status; `None` if the command was ended because it printed too much.
    pub(super) status: Option<ExitStatus>,
}

/// Runs this program with these arguments. `None` if it was cancelled before it ended.
///
/// # Errors
/// The program cannot be started, or its output cannot be read.
pub(super) async fn run(
    arguments: &[OsString],
    cancelled: impl Future<Output = ()>,
) -> io::Result<Option<Printed>> {
    let mut command = Command::new(this_program()?);
    #[cfg(unix)]
    command.arg0("cachesim"); // as it calls itself in what it says
    // The server's own standard input belongs to the protocol.
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // If nobody waits for its answer any more, the command is ended as well.
    let mut child = command.kill_on_drop(true).spawn()?;
    let (answer, said) = (child.stdout.take(), child.stderr.take());
    let printed = async {
        // One byte more shows that an answer is too long.
        tokio::try_join!(beginning(answer, MOST_ANSWERED + 1), beginning(said, MOST_SAID))
    };
    let (answer, said) = tokio::select! {
        printed = printed => printed?,
        () = cancelled => {
            child.kill().await?;
            return Ok(None);
        }
    };
    let is_whole = answer.len() <= MOST_ANSWERED;
    let status = if is_whole { Some(child.wait().await?) } else { None };
    if !is_whole {
        child.kill().await?;
    }
    Ok(Some(Printed { answer, said, status }))
}

/// Path of this program's file, which may have been replaced by a newer one since the start.
fn this_program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok(PathBuf::from("/proc/self/exe")) } else { env::current_exe() }
}

/// First bytes of a stream, `most` at most.
async fn beginning(stream: Option<impl AsyncRead + Unpin>, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        stream.take(most as u64).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}
