#!/usr/bin/env bash
# Leaves the result as a comment on the pull request, or renews the one that an earlier run left: it begins
# with the same hidden marker, which holds the tag of the check.
set -euo pipefail
# shellcheck source=workflow.sh
source "$(dirname "${BASH_SOURCE[0]}")/workflow.sh"

# On a server of its own, too.
export GH_HOST="${GITHUB_SERVER_URL#*://}" GH_ENTERPRISE_TOKEN="$GH_TOKEN"
readonly REFUSED="comment: GitHub did not take it; the job needs the permission pull-requests: write"
comments="repos/$GITHUB_REPOSITORY/issues/$PULL_REQUEST/comments"
MARKER="$(head -n 1 "$COMMENT")"
export MARKER
# A person may quote the marker: only a comment of the workflow's own is renewed.
found="$(gh api --paginate "$comments" --jq '.[]
    | select(.user.login == "github-actions[bot]")
    | select(.body | startswith(env.MARKER))
    | .id')" || refuse "$REFUSED"
first="${found%%$'\n'*}"
if [[ -n $first ]]; then
    gh api --silent --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$first" --field "body=@$COMMENT"
else
    gh api --silent --method POST "$comments" --field "body=@$COMMENT"
fi || refuse "$REFUSED"
