//! One call of a tool: this program with arguments, until it ends or the client cancels it.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;

/// So many bytes of an answer are passed on. An answer is read by a model, whose window it fills.
pub(super) const MOST_ANSWERED: usize = 100_000;

/// So many bytes of what is said beside it are.
const MOST_SAID: usize = 10_000;

/// What a command printed.
pub(super) struct Printed {
    /// Standard output: all of it, or a byte more than may be passed on.
    pub(super) answer: Vec<u8>,
    /// Standard error.
    pub(super) said: Vec<u8>,
    /// How it ended; `None` where it was ended, as it printed too much.
    pub(super) status: Option<ExitStatus>,
}

/// Runs this program with these arguments. `None` where it was cancelled before it was done.
///
/// # Errors
/// It cannot be started, or its output cannot be read.
pub(super) async fn run(
    arguments: &[OsString],
    cancelled: impl Future<Output = ()>,
) -> io::Result<Option<Printed>> {
    let mut command = Command::new(this_program()?);
    #[cfg(unix)]
    command.arg0("cachesim"); // as it calls itself in what it says
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Where nobody waits for its answer any more it is ended, too.
    let mut child = command.kill_on_drop(true).spawn()?;
    let (answer, said) = (child.stdout.take(), child.stderr.take());
    let printed = async {
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

/// The file of this program. It may have been replaced by a newer one since it was started.
fn this_program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok(PathBuf::from("/proc/self/exe")) } else { env::current_exe() }
}

/// So many bytes of a stream at most.
async fn beginning(stream: Option<impl AsyncRead + Unpin>, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        stream.take(most as u64).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}
