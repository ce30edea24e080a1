#!/bin/bash
# Takes 6 s.
# No name in a trace, of a file or of an option acts on who reads it: not on a terminal, in CSV, on
# a page or in a message (base/text/foreign.h). tests/tools/foreign.py says what is looked for.
. "$SOURCE/tests/tools/cli.sh" || exit 1

export XDG_CACHE_HOME=$folder/cache
rename=$BUILD/tests/tools/rename_trace

# judged NAME: what foreign.py says of NAME.mpt.
judged() {
    last="names of $1"
    python3 "$SOURCE/tests/tools/foreign.py" "$1.mpt" >faults
    verdict "$(head -3 faults)" $?
}

for kind in nvtx metrics counters layers; do
    trace $kind plain-$kind.mpt
    "$rename" plain-$kind.mpt $kind.mpt || exit 1
    judged $kind
done
trace stacks-native
"$rename" stacks-native.mpt properties.mpt all || exit 1
judged properties
"$rename" "$SOURCE/tests/data/managed.mpt" managed.mpt || exit 1
judged managed

finish
