//! Server of the protocol: the list of tools, and the answers of calls.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{env, fs};

use clap::CommandFactory as _;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::above_all;
use super::call::{MOST_ANSWERED, Printed, run};
use super::tool::{CommandTool, PATH, TOOLS};
use crate::cli::args::Cli;
use crate::read::input::Inside;
use crate::report::terminal_safe;

/// Most calls that run side by side. Each takes all cores for most of its time.
const MOST_RUNNING: usize = 2;

/// Description of the server that a client shows its model.
const INSTRUCTIONS: &str = "\
Figures on what coding agents' sessions cost and why their prompt cache missed, from the transcripts. Begin with analyze or \
breaks, of one session where it is known; explain tells of one request, and advise what to change. Tell the figure, the cause and the \
place. Do not guess a cause that breaks or explain does not name.";

/// Server that answers a client's calls.
pub(super) struct Server {
    program: clap::Command,
    /// Options of every command: the configuration, and the folders.
    options: Vec<OsString>,
    inside: Inside,
    /// Folder that relative paths start from.
    root: PathBuf,
    running: Semaphore,
}

impl Server {
    /// Creates the server for the sessions in these folders.
    pub(super) fn new(inside: Inside, configuration: &[OsString]) -> Self {
        let folders = inside.folders();
        let root = above_all(folders).unwrap_or_default();
        let mut options = configuration.to_vec();
        let named = |option: &str, path: &Path| [option.into(), path.into()];
        options.extend(named("--root", &root));
        options.extend(folders.iter().flat_map(|folder| named("--inside", folder)));
        let fixed = ["--output=-", "--color=never"];
        options.extend(fixed.map(OsString::from));
        Self {
            program: Cli::command(),
            options,
            inside,
            root,
            running: Semaphore::new(MOST_RUNNING),
        }
    }

    fn tools(&self) -> Vec<Tool> {
        TOOLS.iter().map(|tool| tool.told(&self.program)).collect()
    }

    /// Command line of a call.
    fn arguments(
        &self,
        tool: &CommandTool,
        call: &JsonObject,
    ) -> Result<(Vec<OsString>, bool), String> {
        let asked = tool.asked(&self.program, call)?;
        let paths = match call.get(PATH) {
            None | Some(Value::Null) => self.inside.folders().to_vec(),
            Some(Value::String(path)) if !path.is_empty() => vec![self.whole(path)],
            Some(_) => return Err(format!("{PATH}: give a file or a folder, as text")),
        };
        let mut arguments = vec![tool.name.into()];
        arguments.extend(self.options.iter().cloned());
        arguments.extend(asked.options);
        // After `--` nothing is an option, whatever a path or a name begins with.
        arguments.push("--".into());
        arguments.extend(asked.first);
        arguments.extend(paths.into_iter().map(OsString::from));
        Ok((arguments, asked.is_json))
    }

    /// Path of a call below the root, without links if it leads into the folders. The command refuses all
    /// others.
    fn whole(&self, path: &str) -> PathBuf {
        let named = self.root.join(from_home(path));
        let whole = fs::canonicalize(&named).ok().filter(|whole| self.inside.has(whole));
        whole.unwrap_or(named)
    }
}

/// Path with the home folder in place of `~`, as answers write it.
fn from_home(path: &str) -> PathBuf {
    match (path.strip_prefix('~'), env::home_dir()) {
        (Some(""), Some(home)) => home,
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(&rest[1..]),
        _ => PathBuf::from(path),
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let program = Implementation::new("cachesim", env!("CARGO_PKG_VERSION"))
            .with_description(env!("CARGO_PKG_DESCRIPTION"));
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(program)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = TOOLS.iter().find(|tool| tool.name == request.name) else {
            let known = TOOLS.map(|tool| tool.name).join(", ");
            let told = format!("there is no tool of this name; there are {known}");
            return Err(ErrorData::invalid_params(told, None));
        };
        let call = request.arguments.unwrap_or_default();
        let result = match self.arguments(tool, &call) {
            Ok((arguments, is_json)) => self.answer(&arguments, is_json, &context).await,
            Err(problem) => failed(problem),
        };
        Ok(result.into())
    }
}

impl Server {
    async fn answer(
        &self,
        arguments: &[OsString],
        is_json: bool,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResult {
        // A call that waits for its turn can be cancelled as well.
        let turn = tokio::select! {
            turn = self.running.acquire() => turn,
            () = context.ct.cancelled() => return failed("cancelled"),
        };
        match run(arguments, context.ct.cancelled()).await {
            Ok(Some(printed)) => {
                drop(turn);
                answered(&printed, is_json)
            }
            Ok(None) => failed("cancelled"),
            Err(error) => failed(format!("cannot run the command: {error}")),
        }
    }
}

fn failed(problem: impl AsRef<str>) -> CallToolResult {
    let lines: Vec<_> = problem.as_ref().lines().map(terminal_safe).collect();
    CallToolResult::error(vec![ContentBlock::text(lines.join("\n"))])
}

/// Advice for an answer that is too long.
const NARROW: &str = "ask for less with path, session, project, model, agent or since";

/// Beginnings of lines for users of the command line, which a client's model has no use for.
const OF_COMMAND_LINE: [&str; 2] = ["Usage: ", "For more information"];

/// Reason for a failed command, which comes first: notes on the input are printed before it.
fn reason(said: &str) -> String {
    let is_told = |line: &&str| {
        !line.trim().is_empty() && !OF_COMMAND_LINE.iter().any(|other| line.starts_with(other))
    };
    let mut lines: Vec<&str> = said.lines().filter(is_told).collect();
    if !lines.first().is_some_and(|first| first.starts_with("error: ")) {
        let last = usize::from(!lines.is_empty());
        lines.rotate_right(last);
    }
    if lines.is_empty() { "the command failed".to_owned() } else { lines.join("\n") }
}

/// Result for a client from the output of a command: the answer, and the messages beside it.
fn answered(printed: &Printed, is_json: bool) -> CallToolResult {
    let said = String::from_utf8_lossy(&printed.said).trim().to_owned();
    let mut answer = String::from_utf8_lossy(&printed.answer).into_owned();
    let is_whole = printed.status.is_some();
    if printed.status.is_some_and(|status| !status.success()) {
        return failed(reason(&said));
    }
    // Half a JSON document is of no use.
    if !is_whole && is_json {
        return failed(format!("the answer is longer than {MOST_ANSWERED} bytes; {NARROW}"));
    }
    if !is_whole {
        let lines = answer.rfind('\n').map_or(0, |end| end + 1);
        answer.truncate(lines);
    }
    let structured = is_json.then(|| serde_json::from_str(&answer).ok()).flatten();
    let mut content = vec![ContentBlock::text(answer)];
    content.extend((!said.is_empty()).then(|| ContentBlock::text(said)));
    if !is_whole {
        let cut = format!("cut after {MOST_ANSWERED} bytes; {NARROW}");
        content.push(ContentBlock::text(cut));
    }
    let mut result = CallToolResult::success(content);
    result.structured_content = structured;
    result
}
