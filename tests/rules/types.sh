#!/bin/bash
# Checks the types of the page's scripts by the compiler of TypeScript: src/page/html/jsconfig.json
# says how, documents.d.ts has the types of data. Skipped, not passed, where node or the compiler is
# not there.
set -u

command -v node >/dev/null || { echo "skipped: no node (Debian: nodejs)"; exit 77; }
for modules in "$BUILD" "$SOURCE/build"; do
    compiler=$modules/html-tests/node_modules/typescript/lib/tsc.js
    [ -e "$compiler" ] && break
done
[ -e "$compiler" ] || { echo "skipped: no typescript (npm and 'make deps' fetch it)"; exit 77; }

node "$compiler" -p "$SOURCE/src/page/html/jsconfig.json" || exit 1

# An error is found: a name that is nowhere, and a member that a document does not have.
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cp -r "$SOURCE/src/page/html/." "$work"
printf 'missingName();\n' >>"$work/main.js"
printf '/** @param {Documents} all */\nexport const wrong = (all) => all.info.byte;\n' \
    >>"$work/views/links.js"
output=$(node "$compiler" -p "$work/jsconfig.json")
for wanted in "Cannot find name 'missingName'" "Property 'byte' does not exist"; do
    [[ $output == *"$wanted"* ]] || { echo "not found: $wanted"; exit 1; }
done
echo "types.sh: src/page/html is fine"
