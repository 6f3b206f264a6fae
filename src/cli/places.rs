//! Where programs keep their sessions: the folders in which they are looked for.

use std::env;
use std::path::{Path, PathBuf};

use crate::base::client::Client;

/// A folder in which a program may keep sessions, or a database of them.
pub(super) struct Place {
    /// The program.
    pub(super) client: Client,
    /// The folder, or the database.
    pub(super) folder: PathBuf,
    /// The variable that names it, where that is set.
    pub(super) variable: Option<&'static str>,
}

/// What a program's home is called, and what in it has sessions.
struct Home {
    client: Client,
    /// The variable that moves the home.
    variable: Option<&'static str>,
    /// The home under the user's home folder.
    default: &'static str,
    /// The folders of sessions in the home, or in what the variable names.
    sessions: &'static [&'static str],
}

const fn home(
    client: Client,
    variable: Option<&'static str>,
    default: &'static str,
    sessions: &'static [&'static str],
) -> Home {
    Home { client, variable, default, sessions }
}

/// The folders of VS Code and of editors made of it, under the user's home folder.
const EDITORS: [&str; 9] = [
    ".config/Code/User",
    ".config/Code - Insiders/User",
    ".config/VSCodium/User",
    ".config/Cursor/User",
    ".config/Windsurf/User",
    ".vscode-server/data/User",
    "Library/Application Support/Code/User",
    "Library/Application Support/Cursor/User",
    "AppData/Roaming/Code/User",
];

/// What extensions keep in an editor's storage.
const EXTENSIONS: [(Client, &str); 4] = [
    (Client::Copilot, "globalStorage/github.copilot-chat/agent-traces.db"),
    (Client::Cline, "globalStorage/saoudrizwan.claude-dev/tasks"),
    (Client::Roo, "globalStorage/rooveterinaryinc.roo-cline/tasks"),
    (Client::Roo, "globalStorage/kilocode.kilo-code/tasks"),
];

/// Every program with a home of its own.
const HOMES: [Home; 19] = [
    home(Client::ClaudeCode, Some("CLAUDE_CONFIG_DIR"), ".claude", &["projects"]),
    home(Client::Codex, Some("CODEX_HOME"), ".codex", &["sessions", "archived_sessions"]),
    home(Client::Copilot, Some("COPILOT_HOME"), ".copilot", COPILOT),
    home(Client::OpenCode, Some("XDG_DATA_HOME"), ".local/share", OPENCODE),
    home(Client::Pi, Some("PI_CODING_AGENT_DIR"), ".pi/agent", &["sessions"]),
    home(Client::Pi, None, ".omp/agent", &["sessions"]),
    home(Client::OpenClaw, None, ".openclaw", &["agents"]),
    home(Client::OpenClaw, None, ".clawdbot", &["agents"]),
    home(Client::OpenClaw, None, ".moltbot", &["agents"]),
    home(Client::Gemini, None, ".gemini", &["tmp"]),
    home(Client::Qwen, None, ".qwen", &["projects", "tmp"]),
    home(Client::Kimi, Some("KIMI_SHARE_DIR"), ".kimi", &["sessions"]),
    home(Client::Kimi, Some("KIMI_CODE_HOME"), ".kimi-code", &["sessions"]),
    home(Client::Amp, Some("AMP_DATA_DIR"), ".local/share/amp", &["threads"]),
    home(Client::Zed, None, ".local/share/zed", &["threads"]),
    home(Client::Zed, None, "Library/Application Support/Zed", &["threads"]),
    home(Client::Zed, None, "AppData/Local/Zed", &["threads"]),
    home(Client::Grok, Some("GROK_HOME"), ".grok", &["sessions"]),
    home(Client::Cline, None, ".cline", &["data/tasks"]),
];

/// The files of Copilot's command line, and its database.
const COPILOT: &[&str] = &["session-state", "session-store.db"];

/// The messages of opencode's older versions, its database, and that of Kilo's command line.
const OPENCODE: &[&str] = &["opencode/storage/message", "opencode/opencode.db", "kilo/kilo.db"];

impl Home {
    /// Its folders of sessions.
    fn places(&self, user: Option<&Path>) -> Vec<Place> {
        let configured = self.variable.and_then(|name| Some((name, env::var(name).ok()?)));
        let configured = configured.filter(|(_, value)| !value.trim().is_empty());
        let (variable, homes): (_, Vec<PathBuf>) = match &configured {
            // Claude Code's alone names several.
            Some((name, list)) if self.client == Client::ClaudeCode => {
                (Some(*name), list.split(',').map(|one| PathBuf::from(one.trim())).collect())
            }
            Some((name, home)) => (Some(*name), vec![PathBuf::from(home)]),
            None => (None, user.map(|user| user.join(self.default)).into_iter().collect()),
        };
        let place = |folder| Place { client: self.client, folder, variable };
        let in_home = |home: PathBuf| self.sessions.iter().map(move |one| place(home.join(one)));
        homes.into_iter().flat_map(in_home).collect()
    }
}

/// Every place in which sessions are looked for, whether it is there or not; with names, those of these
/// programs alone.
pub(super) fn places(only: &[Client]) -> Vec<Place> {
    let user = env::home_dir();
    let mut places: Vec<Place> =
        HOMES.iter().flat_map(|home| home.places(user.as_deref())).collect();
    for editor in user.iter().flat_map(|user| EDITORS.map(|editor| user.join(editor))) {
        let place =
            |(client, folder)| Place { client, folder: editor.join(folder), variable: None };
        places.extend(EXTENSIONS.map(place));
    }
    places.retain(|place| only.is_empty() || only.contains(&place.client));
    places.sort_by_key(|place| place.client);
    places
}
