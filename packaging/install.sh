#!/bin/sh
# Installs cachesim for the user who runs it, without root:
#
#   curl -fsSL https://git.example/OWNER/cachesim/releases/download/v0.2.0/install.sh | sh
#
# It downloads the archive for this computer and its checksum, refuses what does not match, and puts
# the program into ~/.local/bin. Three variables change that:
#
#   CACHESIM_VERSION      another version
#   CACHESIM_INSTALL_DIR  another folder
#   CACHESIM_BASE_URL     another place with cachesim-TARGET.tar.gz and cachesim-TARGET.tar.gz.sha256
#
# The checksum is from the same place as the archive. It finds damage, not a forged release.
set -eu

refuse() {
    echo "install.sh: $*" >&2
    exit 1
}

has() {
    command -v "$1" >/dev/null 2>&1
}

find_target() {
    case "$(uname -s)-$(uname -m)" in
    Linux-x86_64 | Linux-amd64) echo x86_64-unknown-linux-musl ;;
    Linux-aarch64 | Linux-arm64) echo aarch64-unknown-linux-musl ;;
    Darwin-x86_64) echo x86_64-apple-darwin ;;
    Darwin-arm64) echo aarch64-apple-darwin ;;
    MINGW* | MSYS* | CYGWIN*)
        refuse "on Windows, install with Scoop, npm or pip, or unpack cachesim-x86_64-pc-windows-msvc.zip"
        ;;
    *)
        refuse "there is no build for $(uname -s) on $(uname -m). With Rust, build it: cargo install --features full cachesim-cli"
        ;;
    esac
}

# Downloads the first into the second.
fetch() {
    case $1 in
    file://*) cp "${1#file://}" "$2" ;;
    *)
        if has curl; then
            curl -fsSL --proto-redir '=https' -o "$2" "$1"
        elif has wget; then
            wget -q -O "$2" "$1"
        else
            refuse "neither curl nor wget is there"
        fi
        ;;
    esac || refuse "$1 cannot be downloaded"
}

checksum() {
    if has sha256sum; then
        sha256sum "$1"
    elif has shasum; then
        shasum -a 256 "$1"
    else
        refuse "neither sha256sum nor shasum is there, so the download cannot be checked"
    fi
}

# What to do next, for a folder that is on the PATH or not.
say_next() {
    case ":$PATH:" in
    *":$1:"*) ;;
    *)
        echo "$1 is not on your PATH. Add this line to your shell's startup file:"
        echo "    export PATH=\"$1:\$PATH\""
        ;;
    esac
    echo "Next: cachesim analyze --since 7d"
}

# All of it stands in a function, so a download of this script that breaks off runs nothing.
main() {
    version=${CACHESIM_VERSION:-0.2.0}
    base=${CACHESIM_BASE_URL:-https://git.example/OWNER/cachesim/releases/download/v$version}
    folder=${CACHESIM_INSTALL_DIR:-${HOME:?}/.local/bin}
    target=$(find_target)
    archive=cachesim-$target.tar.gz
    has tar || refuse "tar is missing"

    work=$(mktemp -d)
    new=$folder/.cachesim.$$
    trap 'rm -rf "$work" "$new"' EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM

    fetch "$base/$archive" "$work/$archive"
    fetch "$base/$archive.sha256" "$work/expected"
    read -r expected _ <"$work/expected" || [ -n "$expected" ] || refuse "$archive.sha256 is empty"
    found=$(checksum "$work/$archive")
    found=${found%% *}
    [ "$found" = "$expected" ] ||
        refuse "$archive is damaged: its SHA-256 is $found, not $expected. Nothing was installed."

    tar -xzf "$work/$archive" -C "$work" "cachesim-$target/cachesim"
    mkdir -p "$folder"
    cp "$work/cachesim-$target/cachesim" "$new"
    chmod 755 "$new"
    installed=$("$new" --version) || refuse "the program does not run here. Nothing was installed."
    # In the same folder this is one step: there is always a whole program.
    mv -f "$new" "$folder/cachesim"
    echo "Installed $installed as $folder/cachesim."
    say_next "$folder"
}

main
