//! Search for the configuration files.

use std::ffi::OsString;
use std::path::PathBuf;
use std::{env, iter};

use crate::cli::args::ConfigurationArgs;
use crate::cli::shown_path;
use crate::explain::config::{ConfigFile, ConfigLevel, switch};

/// Name of the project's file.
const PROJECT_FILE: &str = "cachesim.toml";

/// Path of the user's file inside the configuration folder.
const USER_FILE: &str = "cachesim/config.toml";

/// Path of the prices beside it that `prices update` writes.
const USER_PRICES: &str = "cachesim/prices.toml";

/// Variables that select the files to read: a file in place of the project's, and none at all.
pub(super) const VARIABLES: [&str; 2] = ["CACHESIM_CONFIG", "CACHESIM_NO_CONFIG"];

/// Files that were found.
#[derive(Debug, Default)]
pub(super) struct Located {
    pub(super) project: Option<ConfigFile>,
    pub(super) user: Option<ConfigFile>,
    /// Prices that `prices update` has written.
    pub(super) prices: Option<ConfigFile>,
    /// Paths that were tried.
    pub(super) looked_for: Vec<String>,
}

/// Finds the files. A file that the user names is taken even if it does not exist.
pub(super) fn locate(args: &ConfigurationArgs) -> Located {
    let from_environment = || variable(VARIABLES[0]).filter(|_| !args.no_config);
    let named = args.config.clone().or_else(|| from_environment().map(PathBuf::from));
    let mut located = Located { project: named.map(named_file), ..Located::default() };
    if args.no_config || is_on(VARIABLES[1]) {
        return located;
    }
    if located.project.is_none() {
        located.project = nearest_project_file();
        located.looked_for.push(format!("{PROJECT_FILE} (in this folder and those above it)"));
    }
    located.prices = user_file(USER_PRICES).filter(|file| file.path.exists());
    if let Some(file) = user_file(USER_FILE) {
        located.looked_for.push(file.name.clone());
        located.user = file.path.exists().then_some(file);
    }
    located
}

fn named_file(path: PathBuf) -> ConfigFile {
    ConfigFile { level: ConfigLevel::Project, name: shown_path(&path), path }
}

/// Nearest project file, as a path from the working directory.
fn nearest_project_file() -> Option<ConfigFile> {
    // One more `..` for each folder above this one.
    let depth = env::current_dir().map_or(1, |folder| folder.ancestors().count());
    let mut folders = (0..depth).map(|up| iter::repeat_n("..", up).collect::<PathBuf>());
    folders
        .find_map(|folder| Some(folder.join(PROJECT_FILE)).filter(|path| path.exists()))
        .map(named_file)
}

/// Path to which `prices update` writes.
pub(in crate::cli) fn user_prices() -> Option<PathBuf> {
    user_file(USER_PRICES).map(|file| file.path)
}

/// File in the user's configuration folder.
///
/// The XDG base directories name that folder on every system, and a relative one is ignored, as they demand.
fn user_file(name: &str) -> Option<ConfigFile> {
    let configured =
        variable("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = configured.or_else(|| env::home_dir().map(|home| home.join(".config")))?;
    let path = folder.join(name);
    let name = shown_path(&path);
    Some(ConfigFile { level: ConfigLevel::User, path, name })
}

/// Value of an environment variable that is not empty.
fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

fn is_on(name: &str) -> bool {
    // A value that is neither yes nor no counts as set.
    variable(name).is_some_and(|value| switch(&value.to_string_lossy()) != Some(false))
}
