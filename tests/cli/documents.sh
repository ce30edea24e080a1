#!/bin/bash
# Documents whose commands can be pasted: their blocks are run one after the other in one shell, and
# print what stands below them. Lines of a block: "    $ command", "    > its next line",
# "    output"; a block without a command is not run.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$SOURCE" || exit 1
# What recording costs is the built-in table's, not that of whoever runs this.
export XDG_CACHE_HOME=$work
export LC_ALL=C # for sort
passed=0
failed=0

# document NAME COMMANDS: at least so many of them.
document() {
    awk '!/^    /{block=0; next} /^    \$ /{block=1} block{print substr($0, 5)}' "$1" \
        >"$work/lines"
    grep -v '^[$>]' "$work/lines" >"$work/expected"
    sed -n 's/^\$ //p; s/^> \{0,1\}//p' "$work/lines" >"$work/commands"
    PATH=$BUILD:$PATH bash "$work/commands" >"$work/printed" 2>&1 </dev/null
    if [ "$(grep -c '^\$' "$work/lines")" -ge "$2" ] &&
        diff "$work/expected" "$work/printed"; then
        passed=$((passed + 1))
        echo "ok $1"
    else
        failed=$((failed + 1))
        echo "FAILED $1 does not say what its commands print"
    fi
}

document README.md 1
document docs/reading-a-profile.md 8
document docs/tutorial.md 15
if [ "$(wc -l <README.md)" -le 80 ]; then
    passed=$((passed + 1))
    echo "ok README.md is short"
else
    failed=$((failed + 1))
    echo "FAILED README.md has more than 80 lines"
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
