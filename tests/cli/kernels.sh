#!/bin/bash
# miniprof kernels: launch shapes, what the trace lacks, and bad input. Occupancy itself:
# tests/unit/reports/test_occupancy.c and tests/golden.
. "$SOURCE/tests/tools/cli.sh" || exit 1

trace plain
run kernels plain.mpt
code 0
quiet
stdout <"$expected/kernels.txt"

run kernels --by-name --demangling off --range 2 plain.mpt
code 0
stdout_like <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== Capture range 2 of 2
==4242== Kernels by name:
Time(%) * Shapes *
 98.41%   1.235ms      1 *      1   (30 1 1) * _Z4gemmILi128EEvPKfS1_Pf
  1.59%   20.00us      1 *      1   (10 1 1) * _Z6vecAddPKfS0_Pfi
==4242== Tensor-core kernels, *
==4242== Note: 1 launch *
==4242== Note: the trace lacks *
END

run kernels --by-name plain.mpt
code 0
grep -qE '^ +4\.63% +60\.00us +3 .* 2 +- +\(256 1 1\)' .stdout
verdict "two shapes of a name in one row, without a grid" $?

run kernels --csv plain.mpt
code 0
sed -n '1,2p' .stdout | cut -d, -f1-12 >rows
diff - rows <<'END'
percent,total_ns,calls,mean_ns,min_ns,max_ns,device,multiprocessors,shapes,grid_x,grid_y,grid_z
95.365246,1234567,1,1234567.000000,1234567,1234567,0,,1,30,1,1
END
verdict "the first columns of the CSV" $?

run kernels -u us plain.mpt
code 0
grep -qE '^ +% +us +us +us +us +B +B +%' .stdout
verdict "a row of units" $?

run kernels --json plain.mpt
code 0
json 'd["pid"] == 4242 and d["by_name"] is False and d["calls"] == 4 and d["total_ns"] == 1294567'
json 'd["graph_launches"] == 1 and d["tensor_core_ns"] == 0 and d["occupancy_percent"] is None'
json '[k["total_ns"] for k in d["kernels"]] == [1234567, 30000, 30000]'
json '[k["grid_x"] for k in d["kernels"]] == [30, 10, 20]'
json 'all(k["limit"] is None and k["waves"] is None and k["device"] == 0 for k in d["kernels"])'

trace undefined
run kernels undefined.mpt
code 1
grep -q '\[unnamed kernel\]' .stdout
verdict "a kernel without a name" $?

for kind in empty calls no-api; do
    trace $kind
    run kernels $kind.mpt
    code 0
    stdout <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== No kernels in the trace.
END
    run kernels --json $kind.mpt
    code 0
    json 'd["kernels"] == [] and d["calls"] == 0 and d["occupancy_percent"] is None'
done

trace no-gpu
run kernels no-gpu.mpt
code 0
stdout <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== No kernels in the trace: MINIPROF_GPU=off.
END

trace doubtful
run kernels doubtful.mpt
code 1
head -n 1 .stdout | grep -q '^==4242== Warning: '
verdict "a warning first" $?

run kernels --range 9 plain.mpt
code 2
stdout </dev/null
stderr <<'END'
miniprof kernels: 'plain.mpt': there is no capture range 9; the trace has 2
END

run kernels
code 2
stderr <<'END'
miniprof kernels: which trace? 'miniprof kernels TRACE.mpt'
END

run kernels nothing.mpt
code 3
stderr_like <<'END'
miniprof kernels: *'nothing.mpt'*
END

# Cut anywhere, and with any byte of it changed: an answer or a complaint, never a number that is
# none.
size=$(stat -c %s plain.mpt)
for ((at = 40; at < size; at += 97)); do
    head -c $at plain.mpt >cut.mpt
    cp plain.mpt flipped.mpt
    printf '\xff' | dd of=flipped.mpt bs=1 seek=$at conv=notrunc status=none
    for file in cut flipped; do
        run kernels --json $file.mpt
        [ "$got" -le 1 ] || [ "$got" -eq 3 ] || verdict "$file at $at: exit code $got" 1
        ! grep -qiE '[^a-z](nan|inf)[^a-z]' .stdout || verdict "$file at $at: not a number" 1
    done
done
verdict "cut and changed files" 0

finish
