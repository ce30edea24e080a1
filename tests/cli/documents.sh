#!/bin/bash
# Documents whose commands can be pasted: their blocks are run one after the other in one shell, and
# print what stands below them. Lines of a block: "    $ command", "    > its next line",
# "    output", in which lines may be empty; a block without a command is not run.
# `documents.sh --update` writes what is printed into the documents: read the difference.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$SOURCE" || exit 1
# What recording costs is the built-in table's, not that of whoever runs this.
export XDG_CACHE_HOME=$work
export LC_ALL=C # for sort
passed=0
failed=0

verdict() { # TEXT STATUS
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok $1"
    else
        failed=$((failed + 1))
        echo "FAILED $1"
    fi
}

# commands: those of a document, each with a line that ends its output.
commands() {
    awk 'function end() { if (open) print "printf \"\\036\\n\""; open = 0 }
        /^    \$ / { end(); open = block = 1; print substr($0, 7); next }
        /^    > / && open { print substr($0, 7); next }
        { end() }
        END { end() }'
}

# with_output FILE: the document with what its commands printed, which is in the file.
with_output() {
    awk -v file="$1" '
        function output(  line) {
            if (open)
                while ((getline line <file) > 0 && line != "\036")
                    print line == "" ? "" : "    " line
            open = 0
        }
        /^    \$ / { output(); open = block = 1; empty = ""; print; next }
        /^    > / && open { print; next }
        { output() }
        block && /^$/ { empty = empty "\n"; next } # of the output, or after it
        block && /^    / { empty = ""; next }
        { block = 0; printf "%s", empty; empty = ""; print }
        END { output() }'
}

# document NAME COMMANDS: at least so many of them.
document() {
    commands <"$1" >"$work/commands"
    PATH=$BUILD:$PATH bash "$work/commands" >"$work/printed" 2>&1 </dev/null
    with_output "$work/printed" <"$1" >"$work/document"
    [ "$update" ] && cp "$work/document" "$1"
    [ "$(grep -c '^printf' "$work/commands")" -ge "$2" ] && diff "$1" "$work/document"
    verdict "$1 says what its commands print" $?
}

update=${1:+yes}
document README.md 1
document docs/advise.md 1
document docs/diff.md 5
document docs/iterations.md 3
document docs/kernels.md 3
document docs/layers.md 2
document docs/reading-a-profile.md 8
document docs/reading-resnet50.md 3
document docs/report.md 2
document docs/tutorial.md 15

# A wrong digit is found: of the last document's last gain.
sed 's/1\.0 %$/1.1 %/' docs/tutorial.md >"$work/wrong"
! cmp -s "$work/wrong" docs/tutorial.md && ! cmp -s "$work/wrong" "$work/document"
verdict "a wrong digit in the tutorial is noticed" $?
[ "$(sed '/^<!-- claims$/,/^-->$/d' README.md | cat -s | wc -l)" -le 80 ]
verdict "README.md has at most 80 lines that are shown" $?
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
