#!/bin/bash
# Takes 8 s.
# miniprof export: where it goes, what it leaves out, what it says of bad input. What every format
# holds: tests/export.
. "$SOURCE/tests/tools/cli.sh" || exit 1

write_trace=$BUILD/tests/tools/write_trace

# rows EXPRESSION: python's value of it, with the objects of a JSON lines file as r, must be true.
rows() {
    python3 -c "
import json, sys
sys.path.insert(0, '.')
r = [json.loads(line) for line in open('.stdout', encoding='utf-8')]
def of(kind, key='name'): return [each.get(key) for each in r if each['kind'] == kind]
sys.exit(not ($1))"
    verdict "rows: $1" $?
}

# ---- Wrong command lines ----

trace nvtx
trace plain
run export plain.mpt
code 2
head -1 .stderr >.first
same .first <<<"miniprof export: to which format? 'miniprof export --to FORMAT TRACE.mpt'"
grep -q '^  jsonl  *a JSON object for each row' .stderr
verdict "the formats are listed" $?
wrong "miniprof export: unknown format 'cvs'; did you mean 'csv'?" export --to cvs plain.mpt
wrong "miniprof export: unknown format 'punchcards'; 'miniprof export' lists them" \
    export --to punchcards plain.mpt
wrong "miniprof export: which trace? 'miniprof export --to csv TRACE.mpt'" export --to csv
wrong "miniprof export: where to? 'miniprof export --to jsonl -o OUT TRACE...'" \
    export --to jsonl plain.mpt nvtx.mpt
wrong "miniprof export: where to? 'miniprof export --to jsonl -o OUT TRACE...'" export --to jsonl .
wrong "miniprof export: --table goes with --to csv" export --to jsonl --table kernel plain.mpt
wrong "miniprof export: there is no table 'kernels'; did you mean 'kernel'?" \
    export --to csv --table kernels plain.mpt
wrong "miniprof export: csv writes several files; the standard output takes one file: \
add --table KIND" export --to csv -o - plain.mpt
wrong "miniprof export: --devices takes numbers from 0 to 63, as in 0,1; not '0,x'" \
    export --to jsonl --devices 0,x plain.mpt
wrong "miniprof export: 'plain.mpt': there is no device 5; the trace has: 0" \
    export --to jsonl --devices 0,5 plain.mpt
wrong "miniprof export: --iteration takes a number from 1, or two as in 3..5; not '5..3'" \
    export --to jsonl --iteration 5..3 plain.mpt
wrong "miniprof export: --iteration takes a number from 1, or two as in 3..5; not 'step'" \
    export --to jsonl --iteration step plain.mpt
wrong "miniprof export: --analysis takes on or off, not 'yes'" \
    export --to jsonl --analysis yes plain.mpt
wrong "miniprof export: --iteration and --iterations need --analysis on" \
    export --to jsonl --analysis off --iteration 2 plain.mpt
run export --to jsonl --range 9 plain.mpt
code 2
grep -q "^miniprof export: 'plain.mpt': .*range" .stderr
verdict "no such range" $?
run export --to jsonl --iteration 9 plain.mpt
code 2
grep -qx "miniprof export: 'plain.mpt': there is no iteration 9; there .*" .stderr
verdict "no such iteration" $?
run export --to jsonl nothing.mpt
code 3
stderr <<<"miniprof export: cannot open 'nothing.mpt': No such file or directory"
printf 'no trace at all, but long enough to be looked at' >text.mpt
run export --to jsonl text.mpt
code 3
[ "$(wc -l <.stderr)" -eq 1 ]
verdict "one line" $?
left=$(find . -name '*.part' -o -name '*.jsonl')
[ -z "$left" ]
verdict "no file is left" $?

# ---- Where it goes ----

run export --to jsonl plain.mpt
code 0
quiet
stdout <<<plain.jsonl
[ "$(wc -l <plain.jsonl)" -eq 15 ]
verdict "8 works, a graph and 6 calls" $?
cp plain.jsonl kept
wrong "miniprof export: 'plain.jsonl' exists; -f replaces it" export --to jsonl plain.mpt
cmp -s kept plain.jsonl
verdict "the file is as it was" $?
echo old >plain.jsonl
run export --to jsonl -f -o plain.jsonl plain.mpt
code 0
quiet
stdout </dev/null
cmp -s kept plain.jsonl
verdict "the file is replaced" $?
run export --to jsonl -o - plain.mpt
code 0
stdout <kept
wrong "miniprof export: the output wants another name: 'plain.mpt' is one of a trace" \
    export --to jsonl -f -o plain.mpt plain.mpt
wrong "miniprof export: '.' is a folder; choose another name with -o" \
    export --to jsonl -o . plain.mpt
wrong "miniprof export: 'kept' is no folder; choose another name with -o" \
    export --to csv -o kept plain.mpt

run export --to csv plain.mpt
code 0
quiet
stdout <<<plain-csv
ls plain-csv >.files
same .files <<'END_OF_LIST'
call.csv
collective.csv
copy.csv
graph.csv
host_function.csv
kernel.csv
mark.csv
memory.csv
metric.csv
overhead.csv
pool.csv
range.csv
set.csv
sync.csv
unified.csv
wait.csv
END_OF_LIST
python3 - "$SOURCE/docs/export.md" <<'END_OF_PYTHON'
import csv, glob, os, re, sys
page = open(sys.argv[1], encoding="utf-8").read().split("### Columns")[1].split("## ")[0]
common, _, lists = page.partition("\n- ")
common = set(re.findall("`(.*?)`", common))
listed = {}
for each in ("\n- " + lists).split("\n- ")[1:]:
    kind, *columns = re.findall("`(.*?)`", each)
    listed[kind] = columns
for path in glob.glob("plain-csv/*.csv"):
    titles = next(csv.reader(open(path, encoding="utf-8")))
    kind = os.path.basename(path)[:-4]
    if [each for each in titles if each not in common] != listed.pop(kind, None):
        sys.exit(f"docs/export.md: {kind} has {titles}")
sys.exit(bool(listed))
END_OF_PYTHON
verdict "docs/export.md lists the columns" $?
wrong "miniprof export: 'plain-csv' exists; -f replaces it" export --to csv plain.mpt
echo old >plain-csv/copy.csv
echo mine >plain-csv/notes.txt
run export --to csv -f plain.mpt
code 0
[ "$(wc -l <plain-csv/copy.csv)" -eq 4 ] && [ -e plain-csv/notes.txt ]
verdict "the files of the export are replaced, others stay" $?
run export --to csv --table set -o - plain.mpt
code 0
stdout <<END_OF_ROWS
"kind","process","start_ns","dur_ns","name","device","context","stream","correlation","graph",\
"graph_node","capture_range","iteration","critical_ns","bytes","value","memory","flags"
"set","pid 4242",2090000,640,"[CUDA memset]",0,1,13,205,,,2,,,64,"0x0","device",
END_OF_ROWS
run export --to csv --table set plain.mpt
stdout <<<plain.set.csv

mkdir ranks
trace rank0 ranks/rank0.mpt
trace rank1 ranks/rank1.mpt
run export --to jsonl ranks/
code 0
stdout <<<ranks.jsonl
cp ranks.jsonl .stdout
rows "sorted({each['process'] for each in r}) == ['rank 0', 'rank 1'] and len(r) == 31"
rows "min(each['start_ns'] for each in r) > 1600000000000000000"

# ---- What is left out ----

run export --to jsonl -o - --range 1 plain.mpt
rows "of('kernel', 'correlation') == [102, 103] and of('call', 'correlation') == [101, 102, 103]"
rows "of('copy', 'correlation') == [101] and not of('set') and not of('graph')"
run export --to jsonl -o - --range 2 plain.mpt
rows "of('kernel', 'correlation') == [203, 204] and of('call', 'correlation') == [201, 203, 207]"
rows "{each['capture_range'] for each in r} == {2}"
run export --to jsonl -o - --demangling off plain.mpt
rows "'_Z6vecAddPKfS0_Pfi' in of('kernel') and of('kernel') == of('kernel', 'raw_name')"
run export --to jsonl -o - nvtx.mpt
rows "sorted(of('range')) == ['load', 'open', 'step', 'step']"
rows "[e['dur_ns'] for e in r if e['name'] == 'open' and e['open']] == [1496500]"
run export --to jsonl -o - --iterations step nvtx.mpt
rows "of('call', 'iteration') == [1, 1, 1, 2, 2, 2] and of('kernel', 'iteration')[1] == 1"
run export --to jsonl -o - --iterations step --iteration 2 nvtx.mpt
rows "of('call', 'correlation') == [201, 203, 207] and {e['iteration'] for e in r} == {2}"

# Two devices, a thread for each, and one that launches on both.
"$write_trace" devices.mpt <<'END_OF_TRACE'
string id=1 text=kernel_a
string id=2 text=cudaLaunchKernel_v7000
string id=3 text=cudaMalloc_v3020
thread id=1 tid=11
thread id=2 tid=22
thread id=3 tid=33
device id=0
device id=1
stream id=1 stream=7 context=1 device=0
stream id=2 stream=14 context=2 device=1
function id=1 api=1 cbid=211 name=2
function id=2 api=1 cbid=20 name=3
shape id=1 kernel=1 grid_x=1 grid_y=1 grid_z=1 block_x=32 block_y=1 block_z=1
kernel stream=1 shape=1 start=2000 duration=100 correlation=1
kernel stream=2 shape=1 start=2100 duration=100 correlation=2
kernel stream=1 shape=1 start=2200 duration=100 correlation=3
kernel stream=2 shape=1 start=2300 duration=100 correlation=4
call thread=1 function=1 start=1000 duration=10 correlation=1
call thread=1 function=2 start=1100 duration=10 correlation=10
call thread=2 function=1 start=1000 duration=10 correlation=2
call thread=2 function=2 start=1100 duration=10 correlation=20
call thread=3 function=1 start=1000 duration=10 correlation=3
call thread=3 function=1 start=1100 duration=10 correlation=4
call thread=3 function=2 start=1200 duration=10 correlation=30
END_OF_TRACE
run export --to jsonl -o - --devices 1 devices.mpt
code 0
rows "of('kernel', 'correlation') == [2, 4] and of('call', 'correlation') == [2, 20, 4, 30]"
run export --to jsonl -o - --devices 0,1 devices.mpt
rows "len(of('kernel')) == 4 and len(of('call')) == 7"

# ---- Names of any kind ----

python3 - <<'END_OF_PYTHON' | "$write_trace" odd.mpt
import sys
names = [b'say"it"', b"<b>&amp;</b>", b"\xff\xfe\xc3(", "ß\u4e2d\U0001f600".encode(), b"x" * 65535,
         b"a\tb\\n,;'$`\x01\x7f"]
out = sys.stdout.buffer
out.write(b"thread id=1 tid=5\n")
for number, name in enumerate(names):
    out.write(b"string id=%d text=" % (number + 1) + name.replace(b" ", b"_") + b"\n")
for number in range(len(names)):
    out.write(b"nvtx thread=1 kind=0 name=%d time=%d\n" % (number + 1, 1000 + number))
END_OF_PYTHON
cat >odd.py <<'END_OF_PYTHON'
names = ['say"it"', "<b>&amp;</b>", "\ufffd\ufffd\ufffd(", "ß\u4e2d\U0001f600", "x" * 65535,
         "a\tb\\n,;'$`\x01\x7f"]
END_OF_PYTHON
run export --to jsonl -o - odd.mpt
code 0
rows "of('mark') == __import__('odd').names"
run export --to csv --table mark -o - odd.mpt
code 0
python3 -c "
import csv, re, sys
sys.path.insert(0, '.')
import odd
csv.field_size_limit(1 << 20)
r = [e['name'] for e in csv.DictReader(open('.stdout', encoding='utf-8', newline=''))]
want = [re.sub('[\x00-\x1f\x7f]', '?', name) for name in odd.names]
sys.exit(r != want)"
verdict "CSV: names arrive, but for what acts" $?

# ---- Traces that are not whole ----

trace doubtful
run export --to jsonl -o - doubtful.mpt
code 1
stderr <<END_OF_LINE
miniprof export: 'doubtful.mpt': 2 rows without a begin time are left out; 1 row that ends before \
it begins is left out
END_OF_LINE
rows "len(r) == 15"
trace undefined
run export --to jsonl -o - undefined.mpt
code 1
rows "of('kernel')[-1] == '[unnamed kernel]'"
size=$(stat -c %s nvtx.mpt)
head -c $((size - 100)) nvtx.mpt >cut.mpt
run export --to jsonl -o cut.jsonl cut.mpt
code 1
[ -s cut.jsonl ] && [ "$(wc -l <.stderr)" -eq 1 ]
verdict "what is whole is written, and a line says what is missing" $?
trace untimed
run export --to jsonl -o - --analysis on untimed.mpt
code 1
grep -q 'without iterations and critical paths: too many kernels have no times' .stderr
verdict "why there are no iterations" $?

# ---- No room, no permission ----

run export --to jsonl -o /dev/full plain.mpt
code 3
stderr <<<"miniprof export: cannot write '/dev/full': No space left on device"
run export --to jsonl -o missing/out.jsonl plain.mpt
code 3
stderr <<<"miniprof export: cannot write 'missing/out.jsonl': No such file or directory"
run export --to csv -o missing/out plain.mpt
code 3
stderr <<<"miniprof export: cannot write 'missing/out': No such file or directory"
trace many
for format in jsonl csv; do
    last="$format with a limit of 100 KiB"
    (trap '' XFSZ && ulimit -f 100 && "$miniprof" export --to $format -o small.$format many.mpt) \
        >.stdout 2>.stderr
    got=$?
    code 3
    stderr <<<"miniprof export: cannot write 'small.$format': File too large"
    [ -z "$(find . -name 'small*')" ]
    verdict "nothing is left" $?
done
# With strace each new folder stays as it is for 0.1 s, so that the signal comes just behind it.
slowly=(strace -D -qq -o .strace -e inject=/mkdir:delay_exit=100000)
"${slowly[@]}" true 2>.null || slowly=()
"${slowly[@]}" "$miniprof" export --to csv -o stopped many.mpt 2>.stderr &
until [ -n "$(find . -name 'stopped*.part')" ]; do kill -0 $! 2>.null || break; done
kill -TERM $!
wait $!
got=$?
last="csv, SIGTERM on the way"
if [ ! -e stopped ]; then
    code 143
    quiet
    [ -z "$(find . -name 'stopped*')" ]
    verdict "nothing is left" $?
fi

finish
