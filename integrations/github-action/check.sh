#!/usr/bin/env bash
# Runs `cachesim check` once with every export, and hands on what it said: the files and the verdict
# as outputs, the summary to the page of the run. Ends with 0 whatever the verdict; the last step of
# the action fails, after the files were uploaded.
set -euo pipefail
# shellcheck source=workflow.sh
source "$(dirname "${BASH_SOURCE[0]}")/workflow.sh"

# What GitHub takes of a step's summary, in bytes; of a larger one it takes nothing.
readonly SUMMARY_LIMIT=1048576

# Adds each line of an input as one argument; a line without characters is none.
add_lines() {
    local line
    while IFS= read -r line || [[ -n $line ]]; do
        line="${line%$'\r'}"
        [[ -z $line ]] || command_line+=("$line")
    done <<<"$1"
}

# Runs the command; its messages are kept, since after an error they are all there is.
run() {
    local code=0
    printf '%q ' "${command_line[@]}"
    printf '\n'
    "${command_line[@]}" </dev/null 2>"$folder/messages.txt" || code=$?
    cat "$folder/messages.txt"
    return "$code"
}

# The verdict of a check that ended with this code. That of the JSON stands in front of all others,
# and no text in a JSON document can look like a key of it.
verdict() {
    local warned='^"verdict"[[:space:]]*:[[:space:]]*"warn"$' first
    case "$1" in
    0)
        first="$(grep -o -m 1 '"verdict"[[:space:]]*:[[:space:]]*"[a-z]*"' "$folder/check.json" |
            head -n 1)" || true
        if [[ $first =~ $warned ]]; then echo warn; else echo pass; fi
        ;;
    1) echo fail ;;
    *) echo error ;;
    esac
}

# What an exit code above 1 means.
meaning() {
    case "$1" in
    2) echo "the command line, the configuration or the baseline cannot be used" ;;
    3) echo "nothing was read, or nothing of it has a price" ;;
    4) echo "the input is damaged, and --strict refuses that" ;;
    5) echo "a model has no price, and --strict-prices refuses that" ;;
    *) echo "the program did not end as it should" ;;
    esac
}

# The same in place of a verdict, with the first messages as far as they are short. An indented block
# is closed by nothing that stands in it.
explain() {
    printf '### cachesim check: no verdict\n\nExit code %s: %s.\n\n' "$1" "$(meaning "$1")"
    awk '{ length_so_far += length($0) + 5 } length_so_far > 8000 { exit } { print "    " $0 }' \
        "$folder/messages.txt"
}

# The size of a file in bytes; 0 where there is none.
size() {
    if [[ -f $1 ]]; then wc -c <"$1"; else echo 0; fi
}

# Adds the summary to the page of the run, or, where it does not fit, a line that says so.
show_summary() {
    local taken note
    note=$'The summary of cachesim check is too long for this page; it is in the uploaded files.\n'
    taken="$(size "$GITHUB_STEP_SUMMARY")"
    if ((taken + $(size "$folder/summary.md") <= SUMMARY_LIMIT)); then
        cat "$folder/summary.md" >>"$GITHUB_STEP_SUMMARY"
    elif ((taken + ${#note} <= SUMMARY_LIMIT)); then
        printf '%s' "$note" >>"$GITHUB_STEP_SUMMARY"
    fi
}

# Names a file as an output, if it was written.
output_file() {
    if [[ -s $2 ]]; then output "$1" "$2"; else output "$1" ""; fi
}

# Ends where an input cannot be used; there is no verdict then.
refuse_input() {
    output verdict error
    refuse "$1"
}

# As the program takes it: two hyphens in a row would end the hidden marker.
[[ ${#INPUT_TAG} -le 64 && $INPUT_TAG =~ ^[A-Za-z0-9._]+(-[A-Za-z0-9._]+)*$ ]] ||
    refuse_input "tag: up to 64 letters, digits, '.' and '_' with single '-' between, not '$INPUT_TAG'"
cd -- "$INPUT_WORKING_DIRECTORY" 2>/dev/null ||
    refuse_input "working-directory: there is no folder '$INPUT_WORKING_DIRECTORY'"

# A folder of its own, so that several checks of a job keep their files.
mkdir -p "$RUNNER_TEMP/cachesim"
folder="$(mktemp -d "$RUNNER_TEMP/cachesim/check.XXXXXX")"

command_line=("$PROGRAM" check "--tag=$INPUT_TAG")
[[ -z $INPUT_CONFIG ]] || command_line+=("--config=$INPUT_CONFIG")
[[ -z $INPUT_BASELINE ]] || command_line+=("--baseline=$INPUT_BASELINE")
for export in summary=summary.md markdown=comment.md json=check.json report=report.json \
    junit=junit.xml sarif=findings.sarif; do
    command_line+=("--export=${export%%=*}=$folder/${export#*=}")
done
add_lines "$INPUT_ARGUMENTS"
command_line+=(--)
add_lines "$INPUT_PATHS"

code=0
as_plain_log run || code=$?
if ((code > 1)); then
    explain "$code" >"$folder/summary.md"
    # In place of an earlier comment, which would speak of another state.
    { printf '<!-- cachesim-check:%s -->\n' "$INPUT_TAG" && cat "$folder/summary.md"; } \
        >"$folder/comment.md"
fi
show_summary

output folder "$folder"
output verdict "$(verdict "$code")"
output exit-code "$code"
output_file comment "$folder/comment.md"
output_file report "$folder/report.json"
output_file json "$folder/check.json"
output_file junit "$folder/junit.xml"
output_file sarif "$folder/findings.sarif"
