//! Places of sessions: the folders of all programs in which they are looked for.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::base::{Client, Order as _};

/// Folder in which a program may keep sessions, or a database of them.
pub(super) struct Place {
    /// Program that keeps them.
    pub(super) client: Client,
    /// Path of the folder, or of the database.
    pub(super) folder: PathBuf,
    /// Variable that names the place, if it is set.
    pub(super) variable: Option<&'static str>,
    /// Variables that move the place, the strongest first.
    pub(super) variables: Vec<&'static str>,
}

/// Variable that moves a home, with the home's path in the folder that the variable names.
type Variable = (&'static str, &'static str);

/// Home of a program, with the folders of its sessions.
struct Home {
    client: Client,
    /// Variables that move the home, the strongest first.
    variables: &'static [Variable],
    /// Path of the home under the user's home folder.
    default: &'static str,
    /// Folders of sessions in the home, in which `*` stands for any part of a name.
    sessions: &'static [&'static str],
}

const fn home(
    client: Client,
    variables: &'static [Variable],
    default: &'static str,
    sessions: &'static [&'static str],
) -> Home {
    Home { client, variables, default, sessions }
}

/// Folder of VS Code, or of an editor made of it: the variables that move it, and its path under the user's
/// home folder.
type Editor = (&'static [Variable], &'static str);

/// Folders of editors. On Linux they follow `XDG_CONFIG_HOME`.
const EDITORS: [Editor; 9] = [
    (&[("XDG_CONFIG_HOME", "Code/User")], ".config/Code/User"),
    (&[("XDG_CONFIG_HOME", "Code - Insiders/User")], ".config/Code - Insiders/User"),
    (&[("XDG_CONFIG_HOME", "VSCodium/User")], ".config/VSCodium/User"),
    (&[("XDG_CONFIG_HOME", "Cursor/User")], ".config/Cursor/User"),
    (&[("XDG_CONFIG_HOME", "Windsurf/User")], ".config/Windsurf/User"),
    (&[], ".vscode-server/data/User"),
    (&[], "Library/Application Support/Code/User"),
    (&[], "Library/Application Support/Cursor/User"),
    (&[], "AppData/Roaming/Code/User"),
];

/// Places that extensions use in an editor's storage.
const EXTENSIONS: [(Client, &str); 4] = [
    (Client::Copilot, "globalStorage/github.copilot-chat/agent-traces.db"),
    (Client::Cline, "globalStorage/saoudrizwan.claude-dev/tasks"),
    (Client::Roo, "globalStorage/rooveterinaryinc.roo-cline/tasks"),
    (Client::Roo, "globalStorage/kilocode.kilo-code/tasks"),
];

/// Home of opencode's data.
const OPENCODE: Home = home(
    Client::OpenCode,
    &[("XDG_DATA_HOME", "opencode")],
    ".local/share/opencode",
    // Builds of other channels have databases of their own.
    &["storage/message", "opencode-*.db"],
);

/// Variable that names opencode's database: a path, or a name in the folder of its data.
const OPENCODE_DB: &str = "OPENCODE_DB";

/// Value of [`OPENCODE_DB`] with which opencode stores nothing.
const IN_MEMORY: &str = ":memory:";

/// Homes of all other programs. Zed's and Amp's are in their platform's data folder.
const HOMES: [Home; 27] = [
    home(Client::ClaudeCode, &[(CLAUDE_HOMES, "")], ".claude", &["projects"]),
    home(Client::ClaudeCode, &[("XDG_CONFIG_HOME", "claude")], XDG_CLAUDE, &["projects"]),
    home(Client::ClaudeCode, &[], "Library/Developer/Xcode/CodingAssistant", XCODE),
    home(Client::ClaudeCode, &[], "Library/Application Support/Claude", COWORK),
    home(Client::ClaudeCode, &[], "AppData/Roaming/Claude", COWORK),
    home(Client::ClaudeCode, &[("XDG_CONFIG_HOME", "Claude")], ".config/Claude", COWORK),
    home(Client::Codex, &[("CODEX_HOME", "")], ".codex", &["sessions", "archived_sessions"]),
    home(Client::Copilot, &[("COPILOT_HOME", "")], ".copilot", COPILOT),
    home(Client::OpenCode, &[("XDG_DATA_HOME", "kilo")], ".local/share/kilo", &["kilo.db"]),
    home(Client::Pi, &[("PI_CODING_AGENT_DIR", "")], ".pi/agent", &["sessions"]),
    home(Client::Pi, &[], ".omp", &["agent/sessions", "profiles/*/agent/sessions"]),
    home(Client::OpenClaw, &[("OPENCLAW_STATE_DIR", "")], ".openclaw", &["agents"]),
    home(Client::OpenClaw, &[], ".clawdbot", &["agents"]),
    home(Client::OpenClaw, &[], ".moltbot", &["agents"]),
    home(Client::Gemini, &[("GEMINI_CLI_HOME", ".gemini")], ".gemini", &["tmp"]),
    home(Client::Qwen, &[], ".qwen", &["projects", "tmp"]),
    home(Client::Kimi, &[("KIMI_SHARE_DIR", "")], ".kimi", &["sessions"]),
    home(Client::Kimi, &[("KIMI_CODE_HOME", "")], ".kimi-code", &["sessions"]),
    home(Client::Amp, AMP, ".local/share/amp", &["threads"]),
    home(Client::Zed, &[("XDG_DATA_HOME", "zed")], ".local/share/zed", &["threads"]),
    home(Client::Zed, &[], "Library/Application Support/Zed", &["threads"]),
    home(Client::Zed, &[], "AppData/Local/Zed", &["threads"]),
    home(Client::Grok, &[("GROK_HOME", "")], ".grok", &["sessions"]),
    home(Client::Antigravity, &[], ".gemini", ANTIGRAVITY),
    home(Client::Goose, GOOSE, ".local/share/goose", &["sessions/sessions.db"]),
    home(Client::Goose, &[], "AppData/Roaming/Block/goose/data", &["sessions/sessions.db"]),
    home(Client::Cline, &[], ".cline", &["data/tasks", "data/sessions"]),
];

/// Variable that names Claude Code's homes.
const CLAUDE_HOMES: &str = "CLAUDE_CONFIG_DIR";

/// Home in which other versions of Claude Code keep sessions, unless its variable is set.
const XDG_CLAUDE: &str = ".config/claude";

/// Sessions of the agent in Xcode.
const XCODE: &[&str] = &["ClaudeAgentConfig/projects"];

/// Sessions of the desktop program's agent, each in a home of its own.
const COWORK: &[&str] = &["local-agent-mode-sessions/*/*/*/.claude/projects"];

/// Files of Copilot's command line, and its database.
const COPILOT: &[&str] = &["session-state", "session-store.db"];

/// Variables that move Amp's threads.
const AMP: &[Variable] = &[("AMP_DATA_DIR", ""), ("XDG_DATA_HOME", "amp")];

/// Conversations of Antigravity's command line, its program and its editor.
const ANTIGRAVITY: &[&str] = &[
    "antigravity-cli/conversations",
    "antigravity/conversations",
    "antigravity-ide/conversations",
];

/// Variables that move Goose's data.
const GOOSE: &[Variable] = &[("GOOSE_PATH_ROOT", "data"), ("XDG_DATA_HOME", "goose")];

/// Value of a variable, unless it is blank.
fn value_of(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.trim().is_empty())
}

impl Home {
    /// Folders of the home, with the variable that names them: one folder, except for Claude Code, whose
    /// variable may name several.
    fn folders(&self, user: Option<&Path>) -> (Option<&'static str>, Vec<PathBuf>) {
        let mut set = self.variables.iter();
        let set = set.find_map(|(name, inner)| Some((*name, *inner, value_of(name)?)));
        match set {
            Some((CLAUDE_HOMES, _, list)) => {
                let homes = list.split(',').map(|one| claude_home(one.trim(), user));
                (Some(CLAUDE_HOMES), homes.collect())
            }
            Some((name, "", home)) => (Some(name), vec![PathBuf::from(home)]),
            Some((name, inner, folder)) => (Some(name), vec![Path::new(&folder).join(inner)]),
            None => (None, user.map(|user| user.join(self.default)).into_iter().collect()),
        }
    }

    /// Places of sessions in the home.
    fn places(&self, user: Option<&Path>) -> Vec<Place> {
        let (variable, homes) = self.folders(user);
        let variables: Vec<_> = self.variables.iter().map(|(name, _)| *name).collect();
        let place =
            |folder| Place { client: self.client, folder, variable, variables: variables.clone() };
        let in_home = |home: PathBuf| self.sessions.iter().flat_map(move |one| paths(&home, one));
        homes.into_iter().flat_map(in_home).map(place).collect()
    }
}

/// Home of Claude Code by its variable, which some set to the folder of sessions, or with a `~` that no shell has
/// replaced.
fn claude_home(text: &str, user: Option<&Path>) -> PathBuf {
    let in_user = text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let path = match user.zip(in_user) {
        Some((user, rest)) => user.join(rest.trim_start_matches('/')),
        None => PathBuf::from(text),
    };
    let is_home = !path.ends_with("projects") || path.join("projects").is_dir();
    if is_home { path } else { path.parent().map(Path::to_owned).unwrap_or_default() }
}

/// Paths in a home that a pattern matches; without any the pattern itself.
fn paths(home: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut paths = vec![home.to_owned()];
    for part in pattern.split('/') {
        paths = match part.split_once('*') {
            Some(ends) => paths.iter().flat_map(|folder| entries(folder, ends)).collect(),
            None => paths.into_iter().map(|folder| folder.join(part)).collect(),
        };
    }
    if pattern.contains('*') {
        paths.retain(|path| path.exists());
    }
    if paths.is_empty() { vec![home.join(pattern)] } else { paths }
}

/// Entries of a folder by the two ends of their names, sorted.
fn entries(folder: &Path, (begin, end): (&str, &str)) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let has_ends = |name: &String| name.starts_with(begin) && name.ends_with(end);
    let mut paths: Vec<_> = names.filter(has_ends).map(|name| folder.join(name)).collect();
    paths.sort();
    paths
}

/// Database of opencode, unless its variable turns it off.
fn opencode_database(user: Option<&Path>) -> Option<Place> {
    let (moved_by, data) = OPENCODE.folders(user);
    let named = value_of(OPENCODE_DB);
    let variable = if named.is_some() { Some(OPENCODE_DB) } else { moved_by };
    let name = named.unwrap_or_else(|| "opencode.db".to_owned());
    // An absolute path replaces the folder.
    let data = data.into_iter().next().unwrap_or_default();
    let is_kept = name != IN_MEMORY && (Path::new(&name).is_absolute() || data != Path::new(""));
    is_kept.then(|| Place {
        client: Client::OpenCode,
        folder: data.join(name),
        variable,
        variables: vec![OPENCODE_DB, "XDG_DATA_HOME"],
    })
}

/// Claude Code's homes: one, unless its variable names several.
pub(super) fn claude_homes() -> Vec<PathBuf> {
    let home = HOMES.iter().find(|home| home.client == Client::ClaudeCode);
    home.map(|home| home.folders(env::home_dir().as_deref()).1).unwrap_or_default()
}

/// Returns true if a program keeps its sessions in a place of its own. (Logs are wherever their user puts
/// them.)
pub(super) fn has_places(client: Client) -> bool {
    let extensions = EXTENSIONS.iter().map(|(client, _)| *client);
    let homes = HOMES.iter().map(|home| home.client);
    homes.chain(extensions).any(|one| one == client)
}

/// All places in which sessions are looked for, present or not, limited to the programs in `only` if it names
/// any.
pub(super) fn places(only: &[Client]) -> Vec<Place> {
    let user = env::home_dir();
    let user = user.as_deref();
    let mut places = OPENCODE.places(user);
    places.extend(opencode_database(user));
    let is_moved = value_of(CLAUDE_HOMES).is_some();
    let homes = HOMES.iter().filter(|home| !(is_moved && home.default == XDG_CLAUDE));
    places.extend(homes.flat_map(|home| home.places(user)));
    for (variables, default) in EDITORS {
        let in_editor = |(client, folder): (Client, &'static str)| {
            // Extensions keep all of their data in the editor's own folder.
            let folders = home(client, variables, default, &[]).folders(user);
            let names = variables.iter().map(|(name, _)| *name).collect();
            let folder = folders.1.into_iter().next()?.join(folder);
            Some(Place { client, folder, variable: folders.0, variables: names })
        };
        places.extend(EXTENSIONS.into_iter().filter_map(in_editor));
    }
    // A variable may name a place that is found as well.
    let mut known = HashSet::new();
    places.retain(|place| known.insert(place.folder.clone()));
    places.retain(|place| only.is_empty() || only.contains(&place.client));
    // A program may have its own places and some in editors: they are listed together.
    places.order_by_key(|place| place.client);
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_may_name_the_folder_of_sessions_and_begin_with_a_tilde() {
        let user = Path::new("/home/me");
        for (text, home) in [
            ("~", "/home/me"),
            ("~/other", "/home/me/other"),
            ("~/other/projects", "/home/me/other"),
            ("/x/projects", "/x"),
            ("~you", "~you"),
        ] {
            assert_eq!(claude_home(text, Some(user)), Path::new(home), "{text}");
        }
    }

    #[test]
    fn a_pattern_gives_what_is_there_or_itself() {
        let home = tempfile::tempdir().expect("a folder");
        let at = |name: &str| home.path().join(name);
        for folder in ["a/1/in", "b/2", "c/3/in"] {
            fs::create_dir_all(at(folder)).expect("a folder");
        }
        fs::write(at("x-1.db"), "").expect("a file");
        assert_eq!(paths(home.path(), "*/*/in"), [at("a/1/in"), at("c/3/in")]);
        assert_eq!(paths(home.path(), "x-*.db"), [at("x-1.db")]);
        for pattern in ["y-*.db", "a", "z/in"] {
            assert_eq!(paths(home.path(), pattern), [at(pattern)]);
        }
    }
}
