#!/usr/bin/env bash
# Installs what the recorders record into a folder, for test.py: setup.sh FOLDER [NAME…]
#
# NAME is one of python, python-httpx, mitmproxy, litellm and typescript; without any, all are. What is there is kept.
set -euo pipefail

folder="$1"
shift
(($#)) || set -- python python-httpx mitmproxy litellm typescript
mkdir -p "$folder"
cd "$folder"

# Packages in an environment of their own.
install() {
    local name="$1"
    shift
    [[ ! -e $name/installed || $(<"$name/installed") != "$*" ]] || return 0
    python3 -m venv "$name"
    "$name/bin/python" -m pip install --quiet "$@"
    echo "$*" >"$name/installed"
}

# The newest one that runs on this Python.
mitmproxy() {
    if python3 -c 'import sys; sys.exit(sys.version_info < (3, 12))'; then
        echo mitmproxy==12.3.1
    else
        echo mitmproxy==11.0.2
    fi
}

for name in "$@"; do
    case "$name" in
    python) install python anthropic==2.14.0 pytest==9.2.0 ;;
    # The last major version that uses httpx.
    python-httpx) install python-httpx anthropic==0.125.0 ;;
    mitmproxy) install mitmproxy "$(mitmproxy)" ;;
    litellm) install litellm 'litellm[proxy]==1.108.7' ;;
    typescript)
        [[ -d node_modules/@anthropic-ai/sdk && -d node_modules/vitest ]] ||
            npm install --silent --no-fund --no-audit --prefix . @anthropic-ai/sdk@1.14.0 vitest@4.1.12
        ;;
    *) echo "setup.sh: $name is none of python, python-httpx, mitmproxy, litellm, typescript" >&2 && exit 2 ;;
    esac
done
