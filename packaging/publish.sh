#!/usr/bin/env bash
# Publishes the packages of a release to one place. A second run goes on where the first one failed.
#
#   publish.sh release|npm|container VERSION ARCHIVES
set -euo pipefail

(($# == 3)) || { echo "publish.sh: usage: publish.sh release|npm|container VERSION ARCHIVES" >&2 && exit 2; }
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
place="$1" version="$2" archives="$3"

# What the changelog says of the version.
notes() {
    awk -v version="$version" '
        /^## / { is_wanted = $2 == version; next }
        is_wanted { print }
    ' "$here/../CHANGELOG.md"
}

# The release, with the files that people and the other channels download.
publish_release() {
    local files=("$archives"/cachesim-*.tar.gz "$archives"/cachesim-*.zip "$archives"/*.sha256
        "$archives"/cachesim.rb "$archives"/cachesim.json "$archives"/install.sh)
    if gh release view "v$version" >/dev/null 2>&1; then
        gh release upload "v$version" "${files[@]}" --clobber
    else
        notes | gh release create "v$version" "${files[@]}" --verify-tag --title "$version" --notes-file -
    fi
}

# The platforms' packages first: the launcher asks for them.
publish_npm() {
    local package
    for package in "$archives"/cachesim-*-"$version".tgz "$archives/cachesim-$version.tgz"; do
        npm publish "$package" --access public --provenance ||
            npm view "$(tar -xzOf "$package" package/package.json | jq -r '"\(.name)@\(.version)"')" version
    done
}

# IMAGE is the image's name with its registry, and BASE the distroless static image where that is, both with rights that the
# repository's settings give.
publish_container() {
    : "${IMAGE:?name the image, with its registry}" "${BASE:?name the distroless static image}"
    docker login "${IMAGE%%/*}" --username "$GITHUB_ACTOR" --password-stdin <<<"$GH_TOKEN"
    docker buildx create --use
    docker buildx build "$archives/container" --push --platform linux/amd64,linux/arm64 \
        --build-arg BASE="$BASE" --tag "$IMAGE:$version" --tag "$IMAGE:latest"
}

case "$place" in
release) publish_release ;;
npm) publish_npm ;;
container) publish_container ;;
*) echo "publish.sh: $place is none of release, npm, container" >&2 && exit 2 ;;
esac
