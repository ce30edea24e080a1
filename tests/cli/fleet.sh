#!/bin/bash
# Takes 5 s.
# miniprof fleet: what is added and what is refused. What the files hold is that of `export --to
# parquet` (tests/exports); queries over them: tests/exports/engines/fleet.sh.
. "$SOURCE/tests/tools/cli.sh" || exit 1

write_trace=$BUILD/tests/tools/write_trace

# Nothing but runs is in the lake.
tidy() { # LAKE
    [ -z "$(find "$1" -name '.part*')" ]
    verdict "no hidden folder is left in $1" $?
}

for rank in 0 1 2; do
    trace rank$rank
done
trace plain

# ---- Wrong command lines ----

wrong "miniprof fleet: what to do? 'miniprof fleet add DIR TRACE...'" fleet
wrong "miniprof fleet: 'ad' is no action; 'miniprof fleet add DIR TRACE...'" fleet ad lake plain.mpt
wrong "miniprof fleet: to which folder? 'miniprof fleet add DIR TRACE...'" fleet add
wrong "miniprof fleet: which traces? 'miniprof fleet add DIR TRACE...'" fleet add lake
for job in '' . .. a/b ../a a=b 'a b' "a'b" $'a\nb' 'é' "$(printf '%0128d' 1)"; do
    wrong "miniprof fleet: --job takes letters, digits and . _ -, at most 127 of them" \
        fleet add --job="$job" lake plain.mpt
done
wrong "miniprof fleet: unknown option '--evnts'; did you mean '--events'? 'miniprof help fleet' \
lists them" fleet add --evnts lake plain.mpt
[ ! -e lake ]
verdict "nothing is made" $?

# ---- What is no lake, and no trace ----

wrong "miniprof fleet: 'plain.mpt' is no folder; choose another name" \
    fleet add plain.mpt rank0.mpt
run fleet add missing/lake rank0.mpt
code 3
stderr <<<"miniprof fleet: cannot write 'missing/lake': No such file or directory"
if [ "$(id -u)" != 0 ]; then
    mkdir -m 555 closed
    run fleet add closed rank0.mpt
    code 3
    stderr <<<"miniprof fleet: cannot write 'closed': Permission denied"
    stdout <<<"0 of 1 traces added to closed"
fi
run fleet add /proc rank0.mpt # which takes nothing, from root neither
code 3
stdout <<<"0 of 1 traces added to /proc"
stderr_like <<<"miniprof fleet: cannot write '/proc': *"
run fleet add lake nothing.mpt
code 3
stdout <<<"0 of 1 traces added to lake"
stderr <<<"miniprof fleet: cannot open 'nothing.mpt': No such file or directory"
mkdir empty
run fleet add lake empty
code 3
stdout </dev/null
stderr <<<"miniprof fleet: no traces (*.mpt) in the folder 'empty' or below"
echo 'no trace at all, but long enough to be looked at' >text.mpt
run fleet add lake text.mpt
code 3
stdout <<<"0 of 1 traces added to lake"
[ "$(wc -l <.stderr)" -eq 1 ]
verdict "one line" $?
tidy lake

# ---- Adding ----

mkdir -p many/a/b many/.hidden
cp rank0.mpt many/a/
cp rank1.mpt rank2.mpt many/a/b/
cp plain.mpt many/.hidden/
ln -s ../a many/a/b/loop
echo "no trace" >many/a/notes.txt
run fleet add --job train new many
code 0
quiet
stdout <<<"3 of 3 traces added to new"
tidy new
for rank in 0 1 2; do # one by one, as fleet reads them
    "$miniprof" export --to parquet -f --job train -o whole rank$rank.mpt
done
diff -r whole new
verdict "what export writes" $?
(cd new && find . -name run.parquet | LC_ALL=C sort) >.files
same .files <<'END_OF_LIST'
./runs/job=train/date=2023-11-14/host=node-a/rank=0/run.parquet
./runs/job=train/date=2023-11-14/host=node-a/rank=1/run.parquet
./runs/job=train/date=2023-11-14/host=node-b/rank=2/run.parquet
END_OF_LIST

# A new lake is for its user only. In one that was there, what is added can be read by whoever can
# read the lake.
rights() { # LAKE FOLDERS FILES
    find "$1" -mindepth 1 \( -type d ! -perm "$2" -o -type f ! -perm "$3" \) >.others
    [ ! -s .others ]
    verdict "permissions of $1: $(head -1 .others)" $?
}
[ "$(stat -c %a new)" = 700 ]
verdict "permissions" $?
rights new 700 600
mkdir team && chmod 2775 team
(umask 077 && run fleet add team rank0.mpt rank1.mpt)
rights team 2775 664

run fleet add --events --job train events rank0.mpt
code 0
[ -e events/runs/job=train/date=2023-11-14/host=node-a/rank=0/kernel.parquet ]
verdict "the event tables" $?
run fleet add named rank0.mpt
code 0
[ -d named/runs/job=train/ ] # the program is /opt/train
verdict "the program's name" $?

# A file of a folder that is no trace does not stop the others.
cp text.mpt many/
run fleet add --job other new many
code 1
stdout <<<"3 of 4 traces added to new"
[ "$(wc -l <.stderr)" -eq 1 ]
verdict "one line" $?
rm many/text.mpt

# ---- What is there already ----

run=runs/job=train/date=2023-11-14/host=node-a/rank=0
cp -r new before
trace rank3
run fleet add --job train new rank0.mpt rank3.mpt
code 2
stdout <<<"1 of 2 traces added to new"
stderr <<<"miniprof fleet: 'rank0.mpt': 'new' has $run already; -f replaces it, another --job \
keeps both"
diff -r before/$run new/$run
verdict "the run is as it was" $?
run fleet add --events -f --job train new rank0.mpt
code 0
quiet
stdout <<<"1 of 1 traces added to new"
cmp -s events/$run/kernel.parquet new/$run/kernel.parquet
verdict "the run is replaced" $?
run fleet add -f --job train new rank0.mpt
[ ! -e new/$run/kernel.parquet ]
verdict "with all of its tables" $?
tidy new

# -f is for what was there before, not for two traces of one command.
cp rank0.mpt again.mpt
run fleet add -f --job train new rank0.mpt again.mpt
code 2
stdout <<<"1 of 2 traces added to new"
stderr <<<"miniprof fleet: 'again.mpt': another of these traces is $run; add it with another --job"

# The first ten by name.
for ((i = 0; i < 12; i++)); do
    printf 'header hostname=h rank=%d\nthread id=1 tid=5\n' $i | "$write_trace" twelve$i.mpt
done
run fleet add --job twelve new twelve*.mpt
code 0
run fleet add --job twelve new twelve*.mpt
code 2
stdout <<<"0 of 12 traces added to new"
[ "$(wc -l <.stderr)" -eq 11 ] && [ "$(tail -n 1 .stderr)" = \
    "miniprof fleet: the lake already has 2 more runs" ]
verdict "ten lines and one" $?

# Of two at the same time each run is added once, whole.
for ((i = 0; i < 2; i++)); do
    "$miniprof" fleet add --job race race twelve*.mpt >.race$i 2>.race.stderr$i &
done
wait
awk '{ sum += $1 } END { exit sum != 12 }' .race0 .race1
verdict "twelve runs by two" $?
diff -r new/runs/job=twelve race/runs/job=race >.differences
! grep -v '/run.parquet and ' .differences # which has the job
verdict "all whole" $?
tidy race

# ---- A signal ----

"$BUILD/tests/tools/make_fleet" fleet || exit 1
"$miniprof" fleet add --job stopped stopped fleet >.stdout 2>.stderr &
await [ -d stopped/runs/job=stopped ]
kill -TERM $!
wait $!
got=$?
last="fleet add, stopped"
code 143
find stopped -type d -name 'rank=*' >.runs
find stopped -name '*.parquet' >.files
[ "$(wc -l <.files)" -eq $((7 * $(wc -l <.runs))) ] && [ "$(wc -l <.runs)" -lt 2000 ]
verdict "whole runs, but not all" $?
tidy stopped

# ---- Damaged traces, and a full disk ----

head -c "$(($(stat -c %s rank0.mpt) - 100))" rank0.mpt >cut.mpt
run fleet add --job cut lake cut.mpt
code 1
stdout <<<"1 of 1 traces added to lake"
[ "$(wc -l <.stderr)" -eq 1 ]
verdict "one line about the damage" $?
cp .stderr .damage
run export --to jsonl -o - cut.mpt
sed 's/^miniprof export/miniprof fleet/' .stderr >.same
cmp -s .same .damage
verdict "what export says" $?
[ -n "$(find lake -name run.parquet)" ]
verdict "the rest is added" $?

(trap '' XFSZ && ulimit -f 1 && "$miniprof" fleet add --job full lake rank0.mpt rank1.mpt) \
    >.stdout 2>.stderr
got=$?
last="fleet add to a full disk"
code 3
stdout <<<"0 of 2 traces added to lake"
stderr_like <<<"miniprof fleet: 'rank0.mpt': cannot write*"
[ -z "$(find lake -path '*job=full*' -type f)" ]
verdict "nothing is left" $?
tidy lake

finish
