#!/bin/bash
# miniprof top of files: complete, without their end, damaged; options and bad input.
. "$SOURCE/tests/tools/cli.sh" || exit 1

cp "$SOURCE/tests/data/inference.mpt" whole.mpt
run top --top 1 whole.mpt
code 0
quiet
stdout_like <<'END'
405 * 5,350 records, 0 dropped  [[]ended]
GPU 0    70.9% busy,  70.9% since the start  NVIDIA H100 80GB HBM3
Kernels 79,343/s   HtoD *   DtoH *   other copies 0.000B/s
Iterations "iteration"
   now: 50, avg 228.8us, p50 229us, p99 246us
   all: 50, avg 228.8us, p50 229us, p99 246us

    Now      Time     Calls       Avg     All  Kernel
 25.23%   2.760ms       250   11.04us   25.2%  conv_layer

    Now      Time     Calls       Avg     All  Layer (innermost NVTX range of the launch)
  4.89%   555.9us        50   11.12us    4.9%  res2b_branch2a
The * has ended.
END

run top --json --iteration layer.0 whole.mpt
code 0
json 'd["state"] == "ended" and d["kernel_count_all"] == 1000 and d["iterations"] is None'

# On a terminal the screen is left, and the last block stays below the command line.
python3 - "$miniprof" <<'END'
import os, pty, sys
pid, terminal = pty.fork()
if not pid:
    os.execl(sys.argv[1], "miniprof", "top", "whole.mpt")
text = b""
while True:
    try:
        part = os.read(terminal, 65536)
    except OSError: # the other end is closed
        break
    if not part:
        break
    text += part
assert os.waitpid(pid, 0)[1] == 0
stays = text.split(b"\033[?1049l")[-1]
assert b"GPU 0    70.9% busy" in stays and b"conv_layer" in stays, stays
assert stays.rstrip().endswith(b"The program has ended.") or b"is complete." in stays, stays
END
verdict "on a terminal the last block stays" $?

# CSV says of the same file what JSON says.
run top --json whole.mpt
cp .stdout whole.json
run top --csv whole.mpt
code 0
quiet
python3 - <<'END'
import csv, json
titles, *rows = csv.reader(open(".stdout"))
d = json.load(open("whole.json"))
assert d["elapsed_ns"] == d["read_span_ns"]
now = d["iterations"]["now"]
wanted = {"time_ns": d["elapsed_ns"], "interval_ns": d["interval_ns"], "state": "ended",
          "records_read": 5350, "dropped": 0, "kernels_per_second": d["kernels_per_second"],
          "htod_bytes_per_second": d["copies"]["HtoD"]["bytes_per_second"],
          "dtoh_bytes_per_second": d["copies"]["DtoH"]["bytes_per_second"],
          "other_copies_bytes_per_second": 0, "iterations": 50, "mean_ns": now["mean_ns"],
          "p50_ns": now["p50_ns"], "p99_ns": now["p99_ns"], "device": 0,
          "busy_percent": d["devices"][0]["busy_percent"]}
same = [cell == want if isinstance(want, str) else abs(float(cell) - want) < 1e-6 * (1 + want)
        for cell, want in zip(rows[0], wanted.values())]
assert titles == list(wanted) and len(rows) == 1 and all(same), rows
END
verdict "CSV: titles, and the numbers of JSON" $?
run top --csv --count 3 --interval 20 whole.mpt
[ "$(wc -l <.stdout)" -eq 2 ]
verdict "CSV: titles, one row of a complete file" $?

# Without its index: as far as it goes, for as many refreshes as are asked for.
size=$(stat -c %s whole.mpt)
for ((at = 100; at < size; at += 1111)); do
    head -c "$at" whole.mpt >cut.mpt
    timeout 300 "$miniprof" top --plain --count 2 --interval 20 cut.mpt >.stdout 2>.stderr \
        </dev/null
    got=$?
    last="top of the first $at bytes"
    [ "$got" -eq 0 ] || [ "$got" -eq 3 ]
    verdict "exit code $got" $?
    cp whole.mpt flipped.mpt
    printf '\xa5' | dd of=flipped.mpt bs=1 seek="$at" conv=notrunc status=none
    timeout 300 "$miniprof" top --plain --count 2 --interval 20 flipped.mpt \
        >.stdout 2>.stderr </dev/null
    got=$?
    [ "$got" -eq 0 ] || [ "$got" -eq 3 ]
    verdict "byte $at changed: exit code $got" $?
done

trace plain
run top plain.mpt
code 0
grep -q '^Iterations: no NVTX range has ended yet' .stdout
verdict "no ranges" $?
trace empty
run top empty.mpt
code 0

run top
code 2
stderr <<'END'
miniprof top: which process or trace? 'miniprof top PID' or 'miniprof top TRACE.mpt'
END
run top whole.mpt plain.mpt
code 2
run top --interval 5 whole.mpt
code 2
stderr <<'END'
miniprof top: --interval takes 20 to 3600000 milliseconds
END
run top 0
code 2
stderr <<'END'
miniprof top: '0' is no process id
END
run top nothing.mpt
code 3
stderr <<'END'
miniprof top: cannot open 'nothing.mpt': No such file or directory
END
run top .
code 3

finish
