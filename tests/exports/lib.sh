# shellcheck shell=bash
# For what reads exported files with packages of npm: finds node and the packages, or ends with
# status 77 and a line that says what is missing. Sets folder, where files go.

missing() {
    echo "skipped: no $1"
    exit 77
}

# find_packages TARGET PACKAGE: those that tools/dev/deps put into TARGET of the build.
find_packages() {
    local build
    command -v node >/dev/null || missing "node (Debian: nodejs)"
    for build in "$BUILD" "$SOURCE/build"; do
        EXPORT_TEST_MODULES=$build/$1/node_modules
        [ -d "$EXPORT_TEST_MODULES/$2" ] && export EXPORT_TEST_MODULES && return
    done
    missing "$2 (npm and 'make deps' fetch it)"
}

folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
