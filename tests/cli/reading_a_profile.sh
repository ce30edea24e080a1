#!/bin/bash
# docs/reading-a-profile.md: its blocks are run one after the other in one shell, and print what
# stands below them. Lines of a block: "    $ command", "    > its next line", "    output".
document=$SOURCE/docs/reading-a-profile.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sed -n 's/^    //p' "$document" >"$work/lines"
grep -v '^[$>]' "$work/lines" >"$work/expected"
sed -n 's/^\$ //p; s/^> \{0,1\}//p' "$work/lines" >"$work/commands"
if [ "$(grep -c '^\$' "$work/lines")" -lt 8 ]; then
    echo "FAILED: the document has no commands"
    exit 1
fi
cd "$SOURCE" || exit 1
PATH=$BUILD:$PATH bash "$work/commands" >"$work/printed" 2>&1 </dev/null
if ! diff "$work/expected" "$work/printed"; then
    echo "FAILED: docs/reading-a-profile.md does not say what its commands print"
    exit 1
fi
echo "1 passed, 0 failed"
