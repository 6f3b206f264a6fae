//! The program that the steps are run with.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// A script with the surface of `cachesim check`, as far as the action relies on it: it keeps its
/// arguments (each ended by a zero byte) in `arguments` beside it, writes what is to be exported, and
/// takes its verdict from words of the configuration. Its log holds what a hostile name could be.
const STAND_IN: &str = r#"#!/usr/bin/env bash
set -euo pipefail
if [[ $1 == --version ]]; then echo "cachesim 0.0.0"; exit 0; fi
printf '%s\0' "$@" >"$(dirname "${BASH_SOURCE[0]}")/arguments"
config=cachesim.toml tag=default exports=()
for argument in "$@"; do
    case "$argument" in
    --config=*) config="${argument#*=}" ;;
    --tag=*) tag="${argument#*=}" ;;
    --export=*) exports+=("${argument#*=}") ;;
    --) break ;;
    esac
done
printf '::error::a session named so\n'
printf ' ::add-mask::cachesim\n' >&2
text="$(cat -- "$config")"
if [[ $text == *no_such_metric* ]]; then
    echo "cachesim: $config:2:10: no_such_metric is no metric" >&2
    exit 2
fi
verdict=pass code=0
if [[ $text == *'"0.10 USD"'*'"warn"'* ]]; then
    verdict=warn
elif [[ $text == *'"0.10 USD"'* ]]; then
    verdict=fail code=1
fi
summary="verdict: $verdict"
if [[ $text =~ summary\ of\ ([0-9]+) ]]; then
    summary="$(head -c $((BASH_REMATCH[1] - 1)) /dev/zero | tr '\0' x)"
fi
for export in "${exports[@]}"; do
    case "${export%%=*}" in
    summary) printf '%s\n' "$summary" ;;
    markdown) printf '<!-- cachesim-check:%s -->\n%s\n' "$tag" "$verdict" ;;
    json) printf '{"schema":"cachesim.check/v1","verdict":"%s","budgets":[{"verdict":"fail"}]}\n' "$verdict" ;;
    report) echo '{"schema":"cachesim.report/v1"}' ;;
    junit) echo '<testsuites/>' ;;
    sarif) echo '{"version":"2.1.0"}' ;;
    *) exit 2 ;;
    esac >"${export#*=}"
done
exit "$code"
"#;

/// The programs that every scenario is played with: the stand-in, and the one it stands in for.
pub(crate) fn programs(folder: &Path) -> Vec<PathBuf> {
    vec![stand_in(folder), PathBuf::from(env!("CARGO_BIN_EXE_cachesim"))]
}

/// The stand-in, in a folder.
pub(crate) fn stand_in(folder: &Path) -> PathBuf {
    script(folder, "stand-in", STAND_IN)
}

/// The arguments that the stand-in was given.
pub(crate) fn arguments(stand_in: &Path) -> Vec<String> {
    let path = stand_in.parent().expect("a folder").join("arguments");
    let bytes = fs::read_to_string(path).expect("the stand-in was called");
    bytes.split_terminator('\0').map(str::to_owned).collect()
}

/// A program of a few lines.
pub(crate) fn script(folder: &Path, name: &str, text: &str) -> PathBuf {
    fs::create_dir_all(folder).expect("a folder");
    let path = folder.join(name);
    fs::write(&path, text).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
    path
}
