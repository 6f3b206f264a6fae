# shellcheck shell=bash
# What the steps of the action say to the runner. Sourced by them.

# Sets an output of the step. Whatever the value holds, it cannot set another one: the line that
# ends it is not to be guessed.
output() {
    local delimiter
    delimiter="end-of-$1-$(random_word)"
    printf '%s<<%s\n%s\n%s\n' "$1" "$delimiter" "$2" "$delimiter" >>"$GITHUB_OUTPUT"
}

# Ends the step as one whose inputs cannot be used, with a message at the run.
refuse() {
    local message="$1"
    message="${message//'%'/%25}"
    message="${message//$'\r'/%0D}"
    message="${message//$'\n'/%0A}"
    printf '::error title=cachesim check::%s\n' "$message"
    exit 2
}

# Runs a command whose output the runner takes for no commands of a workflow: names of sessions and
# files stand in it.
as_plain_log() {
    local word code=0
    word="$(random_word)"
    printf '::stop-commands::%s\n' "$word"
    "$@" || code=$?
    printf '::%s::\n' "$word"
    return "$code"
}

random_word() {
    od -An -N16 -tx1 /dev/urandom | tr -d ' \n'
}

# The name of the program's file on this runner.
program_name() {
    if [[ ${RUNNER_OS:-} == Windows ]]; then echo cachesim.exe; else echo cachesim; fi
}

# SHA-256 of standard input, in hexadecimal.
sha256() {
    if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi | cut -d ' ' -f 1
}
