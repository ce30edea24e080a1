# shellcheck shell=bash
# For what looks at pages in a browser: finds node, Chromium and playwright-core, or ends with
# status 77 and a line that says what is missing. Sets folder, where page puts pages.

missing() {
    echo "skipped: no $1"
    exit 77
}

command -v node >/dev/null || missing "node (Debian: nodejs)"
for CHROMIUM in chromium chromium-browser google-chrome ""; do
    CHROMIUM=$(command -v "$CHROMIUM" 2>/dev/null) && break
done
[ -n "$CHROMIUM" ] || missing "Chromium (Debian: chromium)"
for HTML_TEST_MODULES in "$BUILD" "$SOURCE/build"; do
    HTML_TEST_MODULES+=/html-tests/node_modules
    [ -d "$HTML_TEST_MODULES/playwright-core" ] && break
done
[ -d "$HTML_TEST_MODULES/playwright-core" ] ||
    missing "playwright-core (npm and 'make deps' fetch it)"

folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
PAGES=$folder
export CHROMIUM HTML_TEST_MODULES PAGES

page() { # TRACE NAME; a trace that is not whole is one too
    "$BUILD/miniprof" html -o "$folder/$2.html" "$1" 2>"$folder/log"
    case $? in
    0 | 1) ;;
    *)
        cat "$folder/log"
        exit 1
        ;;
    esac
}

diff_page() { # NAME ARGUMENT...: of a comparison; and what the command says as JSON
    local name=$1
    shift
    cd "$SOURCE/tests/data" || exit 1 # names as short as they can be
    "$BUILD/miniprof" diff --html "$folder/$name.html" "$@" >"$folder/log" 2>&1
    [ $? -le 1 ] && "$BUILD/miniprof" diff --json "$@" >"$folder/$name.json"
    [ $? -le 1 ] || { cat "$folder/log"; exit 1; }
}

make_pages() { # NAME[:TRACE]...: of traces in tests/data
    local name
    for name in "$@"; do
        page "$SOURCE/tests/data/${name#*:}.mpt" "${name%:*}"
    done
}
