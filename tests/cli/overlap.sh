#!/bin/bash
# miniprof overlap: what the known trace says, and bad input. The numbers themselves:
# tests/unit/reports/test_overlap.c and tests/golden.
. "$SOURCE/tests/tools/cli.sh" || exit 1

trace plain
run overlap plain.mpt
code 0
quiet
stdout <"$expected/overlap.txt"

run overlap --range 2 plain.mpt
code 0
head -n 3 .stdout | tail -n 2 >lines
diff - lines <<'END'
==4242== Capture range 2 of 2
==4242== Overlap: window 1.440ms, from the first to the last activity of the devices.
END
verdict "one capture range" $?

run overlap --csv plain.mpt
code 0
grep -q '^"Tested GPU (0)","HtoD",2,4000,' .stdout
verdict "copies to the device" $?
for table in kernels streams; do
    run overlap --csv --table $table plain.mpt
    code 0
    head -n 1 .stdout | grep -q '^device_name,'
    verdict "$table" $?
done

run overlap -u us plain.mpt
code 0
grep -qE '^ +us +% +us +% +us' .stdout
verdict "a row of units" $?

run overlap --json plain.mpt
code 0
json 'd["window_ns"] == 2440000 and d["windows"] == 2 and d["graph_launches"] == 1'
json 'd["devices"][0]["busy_ns"] + d["devices"][0]["idle_ns"] == d["window_ns"]'
json '[a["calls"] for a in d["devices"][0]["activities"]] == [5, 2, 0, 0, 1, 1]'
json '[(s["stream"], s["context"], s["calls"]) for s in d["devices"][0]["streams"]] == [(13, 1, 9)]'

for kind in empty calls no-api; do
    trace $kind
    run overlap $kind.mpt
    code 0
    stdout <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== No kernels and no copies in the trace.
END
    run overlap --json $kind.mpt
    code 0
    json 'd["devices"] == [] and d["window_ns"] == 0'
done

trace no-gpu
run overlap no-gpu.mpt
code 0
stdout <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== No kernels and no copies in the trace: MINIPROF_GPU=off.
END

trace doubtful
run overlap doubtful.mpt
code 1
head -n 1 .stdout | grep -q '^==4242== Warning: 2 rows without a begin time are left out; 1 row '
verdict "a warning first" $?

run overlap --range 9 plain.mpt
code 2
stderr <<'END'
miniprof overlap: 'plain.mpt': there is no capture range 9; the trace has 2
END

run overlap
code 2
stderr <<'END'
miniprof overlap: which trace? 'miniprof overlap TRACE.mpt'
END

run overlap nothing.mpt
code 3
stderr_like <<'END'
miniprof overlap: *'nothing.mpt'*
END

size=$(stat -c %s plain.mpt)
for ((at = 40; at < size; at += 97)); do
    head -c $at plain.mpt >cut.mpt
    cp plain.mpt flipped.mpt
    printf '\xff' | dd of=flipped.mpt bs=1 seek=$at conv=notrunc status=none
    for file in cut flipped; do
        run overlap --json $file.mpt
        [ "$got" -le 1 ] || [ "$got" -eq 3 ] || verdict "$file at $at: exit code $got" 1
        ! grep -qiE '[^a-z](nan|inf)[^a-z]' .stdout || verdict "$file at $at: not a number" 1
    done
done
verdict "cut and changed files" 0

finish
