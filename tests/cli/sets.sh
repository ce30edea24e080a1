#!/bin/bash
# Several processes: folders and several files, merged and side by side, on one clock. The four
# traces are those of make_trace.c: rank 0 is known_trace.h; rank 1 has one vecAdd of 540000 ns
# more, at 3600000; rank 2 has one launch call at 1004000 and nothing else; rank 3 is rank 0 in
# another boot. By hand: rank 0's clock is 1700000000000000000 behind the time of day, and so is
# rank 1's, which is the same; rank 2's 2000000 more, rank 3's 9000 s more.
. "$SOURCE/tests/tools/cli.sh" || exit 1

mkdir job
# Names in another order than the ranks.
trace rank0 job/z.mpt
trace rank1 job/y.mpt
trace rank2 job/x.mpt
base=1700000000000000000

# ---- One report for each, in the order of the set ----------------------------------------------
for command in summary gpu-trace api-trace nvtx deps; do
    for file in z y x; do
        run $command job/$file.mpt
        cat .stdout
    done >one_by_one
    run $command job
    code 0
    quiet
    stdout <one_by_one
    run $command job/
    code 0
done
for file in x z; do
    run summary job/$file.mpt
    cat .stdout
done >as_given
run summary job/x.mpt job/z.mpt
stdout <as_given

# ---- Merged ------------------------------------------------------------------------------------
run summary --merge job
code 0
quiet
stdout <"$expected/set_merged.txt"

run summary --merge job/y.mpt job/x.mpt job/z.mpt
code 0
sed -n '/Profiling result/,$p' "$expected/set_merged.txt" >table
sed -i -n '/Profiling result/,$p' .stdout
stdout <table

run summary --merge --gpu --csv job
code 0
stdout <"$expected/set_merged_csv.txt"

run summary --merge --json job
code 0
json '[p["process"] for p in d["processes"]] == ["rank 0", "rank 1", "rank 2"]'
json '[p["pid"] for p in d["processes"]] == [100, 101, 100] and d["range"] is None'
json 'all(p["whole"] and p["ppid"] == 99 for p in d["processes"])'
json 'd["groups"][0]["total_ns"] == 2 * (1234567 + 60000 + 50000 + 4000 + 640 + 500) + 540000'
json '{(r["calls"], r["min_ns"], r["max_ns"]) for r in d["groups"][0]["rows"]} ==
      {(2, 1234567, 1234567), (7, 10000, 540000), (2, 50000, 50000), (4, 1000, 3000),
       (2, 640, 640), (2, 500, 500)}'
json '{r["name"]: r["calls"] for r in d["groups"][1]["rows"]}["cudaLaunchKernel"] == 7'

# Exact: what adding up the single reports gives, here of traces of a real GPU.
cat >sums.py <<'END'
import json, subprocess, sys
miniprof, files = sys.argv[1], sys.argv[2:]
def say(*arguments):
    return json.loads(subprocess.run([miniprof, *arguments], stdout=subprocess.PIPE).stdout)
merged = say("summary", "--merge", "--json", *files)
added = {}
for single in (say("summary", "--json", file) for file in files):
    for group in single["groups"]:
        for row in group["rows"]:
            key = group["name"], row["name"]
            old = added.get(key, (0, 0, row["min_ns"], 0))
            added[key] = (old[0] + row["calls"], old[1] + row["total_ns"],
                          min(old[2], row["min_ns"]), max(old[3], row["max_ns"]))
got = {(group["name"], row["name"]): (row["calls"], row["total_ns"], row["min_ns"], row["max_ns"])
       for group in merged["groups"] for row in group["rows"]}
assert got == added and len(got) > 20
for group in merged["groups"]:
    assert group["total_ns"] == sum(v[1] for k, v in added.items() if k[0] == group["name"])
    totals = [row["total_ns"] for row in group["rows"]]
    assert totals == sorted(totals, reverse=True)
beside = say("summary", "--side-by-side", "--json", *files)
assert {(group["name"], row["name"]): (row["calls"], row["total_ns"])
        for group in beside["groups"] for row in group["rows"]} == \
    {key: value[:2] for key, value in added.items()}
assert all(row["total_ns"] == sum(p["total_ns"] for p in row["processes"]) and
           row["calls"] == sum(p["calls"] for p in row["processes"])
           for group in beside["groups"] for row in group["rows"])
END
data=$SOURCE/tests/data
real=("$data/inference.mpt" "$data/branches.mpt" "$data/two_streams.mpt" "$data/managed.mpt")
last="summary --merge of real traces"
python3 sums.py "$miniprof" "${real[@]}"
verdict "is what adding up gives" $?

run summary --merge --range 1 --api job/z.mpt job/y.mpt
code 0
stdout_like <<'END'
======== Profiling 2 processes:
======== rank 0: host node-a, pid 100, /opt/train
======== rank 1: host node-a, pid 101, /opt/train
======== Capture range 1 of each
======== Profiling result:
            Type  Time(%)      Time     Calls       Avg       Min       Max    StdDev  Name
      API calls:   84.62%   22.00us         4   5.500us * 6.000us     577ns  cudaLaunchKernel
                   15.38%   4.000us         2   2.000us * 2.000us       0ns  cuMemcpyHtoDAsync
END
run summary --merge --range 1 job
code 2
stderr <<'END'
miniprof summary: 'job/x.mpt': there is no capture range 1; the trace has 0
END
[ "$(head -n 1 .stdout)" = '======== Warning: rank 2: it could not be read and is left out.' ]
verdict "the first line" $?

# ---- Side by side ------------------------------------------------------------------------------
run summary --side-by-side job
code 0
quiet
stdout <"$expected/set_side_by_side.txt"

run summary --side-by-side --gpu --csv job/z.mpt job/y.mpt
code 0
stdout <"$expected/set_side_by_side_csv.txt"

run summary --side-by-side --json job
code 0
json '[(r["mean_total_ns"], r["of"]) for r in d["groups"][0]["rows"] if "vecAdd" in r["name"]] ==
      [(220000, "rank 1")]'
json 'd["groups"][1]["rows"][1]["processes"] ==
      [{"process": "rank 0", "calls": 3, "total_ns": 18000},
       {"process": "rank 1", "calls": 3, "total_ns": 18000},
       {"process": "rank 2", "calls": 1, "total_ns": 5000}]'

# More processes than a table has columns for; in CSV each has rows of its own.
mkdir many
another job/x.mpt many/%d.mpt 18
run summary --side-by-side --csv --api many
code 0
[ "$(grep -c '^"[^"]*","API calls",5000,1,5000.000000,,,"cudaLaunchKernel"$' .stdout)" -eq 18 ]
verdict "a row for each process" $?

# ---- One stream --------------------------------------------------------------------------------
run api-trace --merge --csv job
code 0
stderr <<END
======== Note: times are of 2 clocks, aligned by the time of day when recording began: \
right as far as these agree.
END
stdout <"$expected/set_api_trace.txt"

run gpu-trace --merge --json job/z.mpt job/y.mpt
code 0
json "d['clocks'] == 'all times are of one clock'"
json "[r['start_ns'] - $base for r in d['rows']][:4] == [1010000, 1010000, 1020000, 1020000]"
json "d['rows'][-1]['start_ns'] - $base == 3600000 and d['rows'][-1]['process'] == 'rank 1'"

run gpu-trace --merge job
code 0
quiet
grep -q '^rank 1  *2.590000ms  *540.0us .* vecAdd(float const' .stdout
verdict "the straggler, counted from the first copy" $?

# The rows of each trace, moved by what lies between the clocks, sorted.
cat >rows.py <<'END'
import json, subprocess, sys
miniprof, command, files = sys.argv[1], sys.argv[2], sys.argv[3:]
def say(*arguments):
    return json.loads(subprocess.run([miniprof, *arguments], stdout=subprocess.PIPE).stdout)
merged = say(command, "--merge", "--json", *files)
processes = say("info", "--json", *files)["processes"]
rows, offsets = [], []  # all are of one host: two of them of one boot
for number, (file, process) in enumerate(zip(files, processes)):
    keys = say("info", "--json", file)["properties"]
    offset = int(keys["start_realtime_ns"]) - int(keys["start_clock_ns"])
    offset = next((other for other in offsets if abs(other - offset) < 10 ** 9), offset)
    offsets.append(offset)
    for place, row in enumerate(say(command, "--json", file)["rows"]):
        row["start_ns"] += offset
        row["process"] = process["process"]
        rows.append((row["start_ns"], number, place, row))
rows.sort(key=lambda row: row[:3])
assert [process["aligned_by"] for process in processes].count("clock") == 2
assert len(rows) == len(merged["rows"]) > 100
for (*_, row), got in zip(rows, merged["rows"]):
    assert all(got.get(key) == value for key, value in row.items()), (row, got)
END
last="traces of a real GPU, merged"
for command in gpu-trace api-trace; do
    python3 rows.py "$miniprof" $command "${real[@]}"
    verdict "$command: all rows in order of time" $?
done

# ---- A table of processes ----------------------------------------------------------------------
run info job
code 0
quiet
for file in z y x; do # their sizes are the compressor's business
    size=$(stat -c %s job/$file.mpt)
    sed -i "/^job.$file/s/ ${size%???},${size: -3}  / BYTES  /" .stdout
done
stdout <"$expected/set_info.txt"
trace rank3 job3.mpt
run info --json job job3.mpt
code 0
json "[p['first_ns'] - $base for p in d['processes']] ==
      [1001000, 1001000, 3004000, 9000 * 10 ** 9 + 1001000]"
json '[p["aligned_by"] for p in d["processes"]] == ["clock", "clock", "realtime", "realtime"]'
json '[p["clock_number"] for p in d["processes"]] == [0, 0, 1, 2]'
json 'd["realtime_spread_ns"] == 12345 and d["clock_count"] == 3'
json '[p["records"] for p in d["processes"]] == [15, 16, 1, 15]'
run info --csv job/z.mpt job/y.mpt
code 0
head -n 1 .stdout | grep -q '^file,host,rank,pid,first_ns,last_ns,records,dropped,bytes,devices$'
verdict "head" $?

# A folder with one trace is that trace.
mkdir single
cp job/z.mpt single/only.mpt
run info single/only.mpt
cp .stdout single.txt
run info single
code 0
stdout <single.txt

# Without the clock's keys a trace is put where the first begins; without names, numbers.
trace plain
trace calls
run info --json job/z.mpt plain.mpt calls.mpt
code 0
json '[p["process"] for p in d["processes"]] == ["#1", "#2", "#3"]'
json '[p["aligned_by"] for p in d["processes"]] == ["realtime", "none", "none"]'
json 'len({p["first_ns"] for p in d["processes"]}) == 1'
json 'd["clocks"].endswith("; 2 traces do not say when that was: put where the first begins")'

# ---- Bad input ---------------------------------------------------------------------------------
mkdir empty other
echo "no trace" >other/notes.txt
for command in "summary" "summary --merge" "summary --side-by-side" "info" "gpu-trace" "deps" \
    "nvtx" "gpu-trace --merge" "api-trace --merge"; do
    for place in empty other; do
        # shellcheck disable=SC2086
        run $command $place
        code 3
        stdout </dev/null
        echo "miniprof ${command%% *}: no traces (*.mpt) in the folder '$place'" | stderr
    done
done

# Among good ones: said, passed over, exit code 1.
mkdir mixed
cp job/z.mpt mixed/good.mpt
cp job/y.mpt mixed/also.mpt
echo "something else altogether, longer than a header of a trace would be" >mixed/text.mpt
: >mixed/zero.mpt
mkfifo mixed/pipe.mpt
mkdir mixed/folder.mpt
cp job/x.mpt mixed/folder.mpt
ln -s nowhere mixed/broken.mpt
run summary --merge job/z.mpt job/y.mpt
cp .stdout good.txt
for command in "summary" "summary --merge" "info" "gpu-trace --merge" "nvtx"; do
    # shellcheck disable=SC2086
    run $command mixed
    code 1
    sed 's/^miniprof [a-z-]*: //' .stderr >said
    last="miniprof $command mixed"
    same said <<'END'
cannot open 'mixed/broken.mpt': No such file or directory
cannot read 'mixed/folder.mpt': it is a directory
cannot read 'mixed/pipe.mpt': not a regular file
'mixed/text.mpt' is not a miniprof trace
'mixed/zero.mpt' is empty
END
done
run summary --merge mixed
stdout <good.txt

# Named, it is a trace that cannot be read; the others are there all the same.
run summary --merge job/z.mpt missing job/y.mpt
code 3
stdout <good.txt
stderr <<'END'
miniprof summary: cannot open 'missing': No such file or directory
END
mkfifo pipe
run summary --side-by-side pipe
code 3
stdout </dev/null
stderr <<'END'
miniprof summary: cannot read 'pipe': not a regular file
END

# A trace that is cut short counts as far as it goes, and the first line says so.
mkdir cut
cp job/z.mpt cut/a.mpt
head -c $(($(stat -c %s job/y.mpt) - 100)) job/y.mpt >cut/b.mpt
for command in "summary --merge" "summary --side-by-side" "gpu-trace --merge" "info"; do
    # shellcheck disable=SC2086
    run $command cut
    code 1
    quiet
    head -n 1 .stdout | grep -q '^======== Warning: rank 1: .*no index'
    verdict "the first line" $?
done
run summary --merge --json cut
code 1
json '[p["whole"] for p in d["processes"]] == [True, False]'

# What a trace says of its host and program moves no cursor.
cp job/z.mpt cursor.mpt
PYTHONPATH=$SOURCE/tests/readers python3 - <<'END'
import mpt, struct
data = bytearray(open("cursor.mpt", "rb").read().replace(b"node-a", b"\x1b[31mX")
                 .replace(b"/opt/train", b"/opt/\x1b[2J!"))
end = 32 + struct.unpack_from("<I", data, 24)[0]
struct.pack_into("<Q", data, end, mpt.xxh64(bytes(data[8:end])))
open("cursor.mpt", "wb").write(data)
END
cp job/z.mpt ordinary.mpt
for command in "summary --merge" "summary --side-by-side" "info" "gpu-trace --merge"; do
    # shellcheck disable=SC2086
    run $command cursor.mpt ordinary.mpt
    code 0
    ! grep -q "$(printf '\033')" .stdout
    verdict "no escapes" $?
done
run summary --merge cursor.mpt ordinary.mpt
[ "$(sed -n 2p .stdout)" = '======== ?[31mX:100: host ?[31mX, pid 100, /opt/?[2J!' ]
verdict "the head" $?

# The same file twice, by another name too.
ln job/z.mpt link.mpt
for again in job/z.mpt ./job/z.mpt link.mpt; do
    run summary --merge job/z.mpt job/y.mpt $again
    code 1
    stdout <good.txt
    echo "miniprof summary: '$again' is given twice: taken once" | stderr
done
run info job job/x.mpt
code 1

# More files than may be open at once.
# A copy is the same recording under another name: it counts once, and a line says so.
mkdir copies
cp job/z.mpt copies/first.mpt
cp job/z.mpt copies/second.mpt
cp job/y.mpt copies/third.mpt
ln job/y.mpt copies/fourth.mpt
run summary --merge --csv job/z.mpt job/y.mpt
cp .stdout once.txt
for order in "job/z.mpt copies/first.mpt job/y.mpt" "job/z.mpt job/y.mpt copies/first.mpt"; do
    # shellcheck disable=SC2086
    run summary --merge --csv $order
    code 1
    stdout <once.txt
    echo "miniprof summary: 'copies/first.mpt' is a copy of 'job/z.mpt': left out" | stderr
done
run summary --merge --csv copies
code 1
stdout <once.txt
echo "miniprof summary: 'copies/second.mpt' is a copy of 'copies/first.mpt': left out, and so is 1 \
more file" | stderr
for i in 1 2 3; do cp job/z.mpt copies/more$i.mpt; done
run info copies
code 1
echo "miniprof info: 'copies/more1.mpt' is a copy of 'copies/first.mpt': left out, and so are 4 \
more files" | stderr
# Of a copy that was cut short the whole one counts, in either order, and so it is with damage.
size=$(stat -c %s job/z.mpt)
for cut in $((size / 2)) $((size / 4)) 600; do
    head -c $cut job/z.mpt >cut.mpt
    for order in "cut.mpt job/z.mpt job/y.mpt" "job/z.mpt cut.mpt job/y.mpt"; do
        # shellcheck disable=SC2086
        run summary --merge --csv $order
        code 1
        stdout <once.txt
        echo "miniprof summary: 'cut.mpt' is a part of 'job/z.mpt': left out" | stderr
    done
done
# Without the process and the time in the header, the first chunks decide.
cp plain.mpt again.mpt
run summary --merge plain.mpt again.mpt
code 1
echo "miniprof summary: 'again.mpt' is a copy of 'plain.mpt': left out" | stderr
run summary --merge plain.mpt calls.mpt
code 0
quiet
# Two recordings of one program, or of one process that became another program, are no copies.
another job/z.mpt other_process.mpt 1
run summary --merge --json job/z.mpt other_process.mpt
code 0
json 'len(d["processes"]) == 2'

mkdir crowd
another job/x.mpt crowd/%d.mpt 300
ulimit -n 64
run summary --merge --json crowd
code 0
json 'len(d["processes"]) == 300 and d["groups"][1]["rows"][0]["calls"] == 300'
run info --json crowd
code 0
run gpu-trace --merge crowd
code 3
stderr_like <<'END'
miniprof gpu-trace: cannot open 'crowd/*.mpt': Too many open files
END

run summary --merge --side-by-side job
code 2
stderr <<'END'
miniprof summary: --merge does not go with --side-by-side
END
run summary --merge --per-gpu job
code 2
stderr <<'END'
miniprof summary: --per-gpu goes with neither --merge nor --side-by-side
END

finish
