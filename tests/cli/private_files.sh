#!/bin/bash
# What the command writes is as private as a trace: a new file is for its user only, whatever the
# umask; one that is there keeps its mode.
. "$SOURCE/tests/tools/cli.sh" || exit 1

umask 022
trace plain
trace nvtx
mkdir out

# private PATH: for the user only, with all that is inside.
private() {
    last="mode of $1"
    find "$1" -type d ! -perm 700 -o -type f ! -perm 600 >.others
    [ -e "$1" ] && [ ! -s .others ]
    verdict "$(head -1 .others)" $?
}

kept() { # PATH MODE
    last="mode of $1"
    [ "$(stat -c %a "$1")" = "$2" ]
    verdict "it is $(stat -c %a "$1")" $?
}

# ---- New files ----

for format in perfetto kineto chrome folded nsys-sqlite nsys-parquet jsonl csv parquet; do
    run export --to $format -o out/$format nvtx.mpt
    grep -qE 'built without|SQLite|zlib' .stderr && continue
    code 0
    private out/$format
done
run export --to csv --table kernel -o out/kernel.csv nvtx.mpt
private out/kernel.csv
run export --to kineto -o out/each plain.mpt nvtx.mpt
[ ! -e out/each ] || private out/each
if has_pages; then
    run html -o out/page.html nvtx.mpt
    private out/page.html
    run diff --html out/diff.html nvtx.mpt nvtx.mpt
    private out/diff.html
fi
run nvprof --log-file out/log -i nvtx.mpt
private out/log
run nvprof -f --log-file out/log2 -i nvtx.mpt
private out/log2
run nvprof -o out/copy.mpt -i nvtx.mpt
private out/copy.mpt
run nvprof -o out/copy.nvvp -i nvtx.mpt
[ ! -e out/copy.nvvp ] || private out/copy.nvvp

# ---- Files that are there ----

touch out/open out/log3
chmod 644 out/open out/log3
run export -f --to jsonl -o out/open nvtx.mpt
code 0
kept out/open 644
run nvprof -f --log-file out/log3 -i nvtx.mpt
kept out/log3 644

# In a folder those that are replaced; the others are new.
chmod 755 out/csv
chmod 640 out/csv/kernel.csv
run export -f --to csv -o out/csv nvtx.mpt
code 0
kept out/csv 755
kept out/csv/kernel.csv 640
kept out/csv/copy.csv 600

# Through a link: the mode of the file that is replaced.
ln -s open out/link
run export -f --to jsonl -o out/link nvtx.mpt
kept out/open 644

finish
