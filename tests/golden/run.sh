#!/bin/bash
# Golden texts: what the command prints of the traces in tests/data against the texts TRACE.VIEW.txt
# here. views.sh has a row for each view. computed.sh says whether it is true.
#
#   run.sh            compares
#   run.sh --update   rewrites the texts; look at the difference before you commit it
. "$(dirname "$0")/lib.sh"

texts=$source/tests/golden
update=
[ "${1:-}" = --update ] && update=1
longest=200 # lines of a text that is kept whole
first=60    # of longer ones
declare -A named=() read=()

# "TABLE LINES SHA256" of the CSV of each table.
each_table() {
    local table
    for table in $("$miniprof" info --json "$1" | sed -n 's/.*{"table": "\([a-z_]*\)".*/\1/p'); do
        "$miniprof" dump --csv --table "$table" "$1" >"$work/table" || echo "exit code $?"
        echo "$table $(grep -c . "$work/table") $(sha256sum <"$work/table" | cut -d' ' -f1)"
    done
}

# shown COMMAND PATH...: both streams of a command, and its exit code unless it is 0. A long text is
# "LINES SHA256" and the lines that begin it.
shown() {
    local words lines code
    read -ra words <<<"$1"
    shift
    [ "${words[0]}" = each_table ] || words=("$miniprof" "${words[@]}")
    "${words[@]}" "$@" >"$work/rows" 2>&1
    code=$?
    [ $code -eq 0 ] || echo "exit code $code" >>"$work/rows"
    lines=$(wc -l <"$work/rows")
    if [ "$lines" -gt $longest ]; then
        echo "$lines $(sha256sum <"$work/rows" | cut -d' ' -f1)"
        head -n $first "$work/rows"
    else
        cat "$work/rows"
    fi
}

# path_of TRACE: the file or folder of that name, in tests/data or in its zoo.
path_of() {
    local path
    for path in "$1.mpt" "$1" "zoo/$1.mpt"; do
        [ ! -e "$path" ] || break
    done
    echo "$path"
}

# view VIEW TRACES COMMAND...: compares the texts of a row, or writes them anew.
view() {
    local view=$1 of=$2 trace name text command paths
    shift 2
    for trace in $of; do
        name=${trace%:*}.$view
        text=$texts/$name.txt
        paths=("$(path_of "${trace%:*}")")
        [ "$trace" = "${trace%:*}" ] || paths+=("$(path_of "${trace#*:}")")
        if [ -n "${named[$name]:-}" ] || ! ls -d "${paths[@]}" >/dev/null 2>"$work/log"; then
            verdict 1 "$name is named once, and has its trace"
            continue
        fi
        named[$name]=1
        read[${paths[0]}]=1
        for command; do
            shown "$command" "${paths[@]}"
        done >"$work/actual"
        if [ -z "$update" ]; then
            diff "$text" "$work/actual" >"$work/log" 2>&1
            verdict $? "$name is as committed"
        elif ! cmp -s "$work/actual" "$text"; then
            cp "$work/actual" "$text"
            echo "wrote $text"
        fi
    done
}

# shellcheck source=tests/golden/views.sh
. "$source/tests/golden/views.sh"

for text in "$texts"/*.txt; do
    name=$(basename "$text" .txt)
    [ -z "${named[$name]:-}" ] || continue
    echo "no row of views.sh names $name.txt"
    [ -z "$update" ] || rm "$text"
done >"$work/log"
[ -z "$update" ] || sed 's/$/: removed/' "$work/log"
[ -n "$update" ] || [ ! -s "$work/log" ]
verdict $? "each text has its row"
for path in *.mpt "${sets[@]##"$data/"}"; do
    [ -n "${read[${path%/}]:-}" ] || echo "no row of views.sh has $path"
done >"$work/log"
[ ! -s "$work/log" ]
verdict $? "each trace has a row"
finish
