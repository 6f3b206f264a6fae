#!/usr/bin/env bash
# Publishes the packages of a release to one place. A second run goes on where the first one failed. A version with a hyphen
# is one before a release: nobody gets it who does not name it.
#
#   publish.sh release|npm|crates|container VERSION ARCHIVES
set -euo pipefail

(($# == 3)) || { echo "publish.sh: usage: publish.sh release|npm|crates|container VERSION ARCHIVES" >&2 && exit 2; }
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
place="$1" version="$2"
# npm takes a relative path for the name of a repository.
archives="$(cd "$3" && pwd)"
if [[ $version == *-* ]]; then
    of_release=(--prerelease) of_npm=(--tag next) of_image=()
else
    of_release=() of_npm=(--tag latest) of_image=(latest)
fi

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
        notes | gh release create "v$version" "${files[@]}" "${of_release[@]}" \
            --verify-tag --title "$version" --notes-file -
    fi
}

# The platforms' packages first: the launcher asks for them.
publish_npm() {
    local package
    for package in "$archives"/cachesim-*-"$version".tgz "$archives/cachesim-$version.tgz"; do
        npm publish "$package" --access public --provenance "${of_npm[@]}" ||
            npm view "$(tar -xzOf "$package" package/package.json | jq -r '"\(.name)@\(.version)"')" version
    done
}

# Without building it once more: what would be built with it could see the token.
publish_crates() {
    cargo publish --locked --no-verify --manifest-path "$here/../Cargo.toml" ||
        cargo info "cachesim-cli@$version" >/dev/null
}

# IMAGE is the image's name with its registry, and BASE the distroless static image where that is.
publish_container() {
    local tag tags=(--tag "${IMAGE:?name the image, with its registry}:$version")
    for tag in "${of_image[@]}"; do tags+=(--tag "$IMAGE:$tag"); done
    docker login "${IMAGE%%/*}" --username "$GITHUB_ACTOR" --password-stdin <<<"$GH_TOKEN"
    docker buildx create --use
    docker buildx build "$archives/container" --file "$archives/container/Containerfile" --push \
        --platform linux/amd64,linux/arm64 --build-arg BASE="${BASE:?name the distroless static image}" "${tags[@]}"
}

case "$place" in
release) publish_release ;;
npm) publish_npm ;;
crates) publish_crates ;;
container) publish_container ;;
*) echo "publish.sh: $place is none of release, npm, crates, container" >&2 && exit 2 ;;
esac
