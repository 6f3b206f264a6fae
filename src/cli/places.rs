//! Where programs keep their sessions: the folders in which they are looked for.

use std::env;
use std::path::{Path, PathBuf};

use crate::base::client::Client;
use crate::base::order::Order as _;

/// A folder in which a program may keep sessions, or a database of them.
pub(super) struct Place {
    /// The program.
    pub(super) client: Client,
    /// The folder, or the database.
    pub(super) folder: PathBuf,
    /// The variable that names it, where that is set.
    pub(super) variable: Option<&'static str>,
    /// The variables that move it, the strongest first.
    pub(super) variables: Vec<&'static str>,
}

/// A variable that moves a home, and what the home is called in the folder that it names.
type Variable = (&'static str, &'static str);

/// What a program's home is called, and what in it has sessions.
struct Home {
    client: Client,
    /// The variables that move the home, the strongest first.
    variables: &'static [Variable],
    /// The home under the user's home folder.
    default: &'static str,
    /// The folders of sessions in the home, or in what the variable names.
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

/// A folder of VS Code's, or of an editor made of it, with what moves it, and where it is under the user's home
/// folder.
type Editor = (&'static [Variable], &'static str);

/// Such folders. On Linux they follow `XDG_CONFIG_HOME`.
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

/// What extensions keep in an editor's storage.
const EXTENSIONS: [(Client, &str); 4] = [
    (Client::Copilot, "globalStorage/github.copilot-chat/agent-traces.db"),
    (Client::Cline, "globalStorage/saoudrizwan.claude-dev/tasks"),
    (Client::Roo, "globalStorage/rooveterinaryinc.roo-cline/tasks"),
    (Client::Roo, "globalStorage/kilocode.kilo-code/tasks"),
];

/// Where opencode keeps its data.
const OPENCODE: Home = home(
    Client::OpenCode,
    &[("XDG_DATA_HOME", "opencode")],
    ".local/share/opencode",
    &["storage/message"],
);

/// The variable that names opencode's database: a path, or a name in the folder of its data.
const OPENCODE_DB: &str = "OPENCODE_DB";

/// What [`OPENCODE_DB`] is where opencode keeps nothing.
const IN_MEMORY: &str = ":memory:";

/// Every other program with a home of its own. Zed's and Amp's are where their platform keeps data.
const HOMES: [Home; 19] = [
    home(Client::ClaudeCode, &[("CLAUDE_CONFIG_DIR", "")], ".claude", &["projects"]),
    home(Client::Codex, &[("CODEX_HOME", "")], ".codex", &["sessions", "archived_sessions"]),
    home(Client::Copilot, &[("COPILOT_HOME", "")], ".copilot", COPILOT),
    home(Client::OpenCode, &[("XDG_DATA_HOME", "kilo")], ".local/share/kilo", &["kilo.db"]),
    home(Client::Pi, &[("PI_CODING_AGENT_DIR", "")], ".pi/agent", &["sessions"]),
    home(Client::Pi, &[], ".omp/agent", &["sessions"]),
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
    home(Client::Cline, &[], ".cline", &["data/tasks"]),
];

/// The files of Copilot's command line, and its database.
const COPILOT: &[&str] = &["session-state", "session-store.db"];

/// What moves Amp's threads.
const AMP: &[Variable] = &[("AMP_DATA_DIR", ""), ("XDG_DATA_HOME", "amp")];

/// The value of a variable that is set to something.
fn value_of(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.trim().is_empty())
}

impl Home {
    /// Where it is, with the variable that says so: one folder, but for Claude Code's, whose variable names
    /// several.
    fn folders(&self, user: Option<&Path>) -> (Option<&'static str>, Vec<PathBuf>) {
        let mut set = self.variables.iter();
        let set = set.find_map(|(name, inner)| Some((*name, *inner, value_of(name)?)));
        match set {
            Some((name, _, list)) if self.client == Client::ClaudeCode => {
                (Some(name), list.split(',').map(|one| PathBuf::from(one.trim())).collect())
            }
            Some((name, "", home)) => (Some(name), vec![PathBuf::from(home)]),
            Some((name, inner, folder)) => (Some(name), vec![Path::new(&folder).join(inner)]),
            None => (None, user.map(|user| user.join(self.default)).into_iter().collect()),
        }
    }

    /// Its folders of sessions.
    fn places(&self, user: Option<&Path>) -> Vec<Place> {
        let (variable, homes) = self.folders(user);
        let variables: Vec<_> = self.variables.iter().map(|(name, _)| *name).collect();
        let place =
            |folder| Place { client: self.client, folder, variable, variables: variables.clone() };
        let in_home = |home: PathBuf| self.sessions.iter().map(move |one| home.join(one));
        homes.into_iter().flat_map(in_home).map(place).collect()
    }
}

/// The database of opencode, unless that is told to keep none.
fn opencode_database(user: Option<&Path>) -> Option<Place> {
    let (moved_by, data) = OPENCODE.folders(user);
    let named = value_of(OPENCODE_DB);
    let variable = if named.is_some() { Some(OPENCODE_DB) } else { moved_by };
    let name = named.unwrap_or_else(|| "opencode.db".to_owned());
    // A path from the root replaces the folder.
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

/// Whether a program keeps its sessions in a place of its own. (Logs lie wherever somebody puts them.)
pub(super) fn has_places(client: Client) -> bool {
    let extensions = EXTENSIONS.iter().map(|(client, _)| *client);
    let homes = HOMES.iter().map(|home| home.client);
    homes.chain(extensions).any(|one| one == client)
}

/// Every place in which sessions are looked for, whether it is there or not; with names, those of these
/// programs alone.
pub(super) fn places(only: &[Client]) -> Vec<Place> {
    let user = env::home_dir();
    let user = user.as_deref();
    let mut places = OPENCODE.places(user);
    places.extend(opencode_database(user));
    places.extend(HOMES.iter().flat_map(|home| home.places(user)));
    for (variables, default) in EDITORS {
        let in_editor = |(client, folder): (Client, &'static str)| {
            // All that extensions keep is in the editor's own folder.
            let folders = home(client, variables, default, &[]).folders(user);
            let names = variables.iter().map(|(name, _)| *name).collect();
            let folder = folders.1.into_iter().next()?.join(folder);
            Some(Place { client, folder, variable: folders.0, variables: names })
        };
        places.extend(EXTENSIONS.into_iter().filter_map(in_editor));
    }
    places.retain(|place| only.is_empty() || only.contains(&place.client));
    places.order_by_key(|place| place.client);
    places
}
