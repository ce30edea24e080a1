#!/bin/bash
# miniprof gpu-trace and api-trace: the rows of known_trace.h in order of time, in nvprof's layout.
# The expected texts are worked out by hand: starts count from the first row, throughput is bytes
# over duration (4096 bytes in 1000 ns are 4.096 GB/s).
. "$SOURCE/tests/tools/cli.sh" || exit 1

trace plain
run gpu-trace plain.mpt
code 0
quiet
stdout <"$expected/gpu_trace.txt"

run gpu-trace --csv plain.mpt
code 0
quiet
stdout <"$expected/gpu_trace_csv.txt"

# nvprof's own form of it.
run -i plain.mpt --csv --print-gpu-trace
code 0
stderr <"$expected/nvprof_trace_csv.txt"

run gpu-trace --with-api plain.mpt
code 0
stdout <"$expected/gpu_trace_with_api.txt"

run gpu-trace --with-api --csv --range 1 plain.mpt
code 0
stdout <"$expected/gpu_trace_range.txt"

run api-trace plain.mpt
code 0
quiet
stdout <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== Profiling result:
        Start  Duration  Name
          0ns   2.000us  cuMemcpyHtoDAsync
      3.000us   5.000us  cudaLaunchKernel (vecAdd(float const*, float const*, float*, int) [102])
      9.000us   6.000us  cudaLaunchKernel (vecAdd(float const*, float const*, float*, int) [103])
   1.000000ms   2.001us  cuMemcpyHtoDAsync
   1.003000ms   7.000us  cudaLaunchKernel (vecAdd(float const*, float const*, float*, int) [203])
   1.099000ms   1.300ms  cudaStreamSynchronize
END

run api-trace --csv --demangling=off plain.mpt
code 0
quiet
python3 - <<'END'
import csv
rows = [(r["kind"], int(r["start_ns"]), int(r["duration_ns"]), r["name"], r["kernel"],
         r["correlation"]) for r in csv.DictReader(open(".stdout"))]
launch = ("cudaLaunchKernel", "_Z6vecAddPKfS0_Pfi")
assert rows == [("call", 1001000, 2000, "cuMemcpyHtoDAsync", "", "101"),
                ("call", 1004000, 5000, *launch, "102"), ("call", 1010000, 6000, *launch, "103"),
                ("call", 2001000, 2001, "cuMemcpyHtoDAsync", "", "201"),
                ("call", 2004000, 7000, *launch, "203"),
                ("call", 2100000, 1300000, "cudaStreamSynchronize", "", "207")], rows
END
verdict "the rows" $?

run api-trace --normalized-time-unit=ms --range=2 plain.mpt
code 0
stdout <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== Capture range 2 of 2
==4242== Profiling result:
        Start  Duration  Name
           ms        ms
     0.000000  2.00e-03  cuMemcpyHtoDAsync
     0.003000  7.00e-03  cudaLaunchKernel (vecAdd(float const*, float const*, float*, int) [203])
     0.099000     1.300  cudaStreamSynchronize
END

# JSON has the recorder's own times, and numbers where the table has texts.
run gpu-trace --with-api --json plain.mpt
code 0
json 'd["pid"] == 4242 and d["command"] == "./infer --batch 1" and d["range"] is None'
json 'd["quality"]["whole"] and d["quality_of_rows"] == d["quality"] and d["ranges"] == 2'
json '[r["kind"] for r in d["rows"]] == ["call"] * 3 + ["copy", "kernel", "call", "call"] +
      ["copy"] * 2 + ["kernel"] * 2 + ["set", "call", "kernel", "graph"]'
json 'd["rows"][0] == dict(d["rows"][0], start_ns=1001000, duration_ns=2000, thread=77,
      name="cuMemcpyHtoDAsync", kernel=None, device=None, correlation=101)'
json 'd["rows"][1]["name"] == "cudaLaunchKernel" and d["rows"][1]["kernel"].startswith("vecAdd(")'
json 'd["rows"][3] == dict(d["rows"][3], start_ns=1010000, bytes=4096, bytes_per_second=4.096e9,
      source_memory="Pageable", target_memory="Device", device=0, context=1, stream=13)'
json '(d["rows"][13]["grid_x"], d["rows"][13]["block_x"], d["rows"][13]["dynamic_shared_bytes"],
       d["rows"][13]["correlation"]) == (30, 256, 0, 204)'

run gpu-trace --range=3 plain.mpt
code 2
stdout </dev/null
stderr <<'END'
miniprof gpu-trace: 'plain.mpt': there is no capture range 3; the trace has 2
END

run api-trace -u minutes plain.mpt
code 2
stdout </dev/null
stderr <<'END'
miniprof api-trace: --unit takes s, ms, us, ns, col or auto, not 'minutes'
END

for command in gpu-trace api-trace; do
    run $command
    code 2
    stderr <<END
miniprof $command: which trace? 'miniprof $command TRACE.mpt'
END
    run $command --frob plain.mpt
    code 2
    stderr <<END
miniprof $command: unknown option '--frob'; 'miniprof help $command' lists them
END
    run $command --help
    code 0
    quiet
    awk 'length > 79 { print; long = 1 } END { exit long }' .stdout
    verdict "lines that fit a terminal" $?
    run $command nothing.mpt
    code 3
    stdout </dev/null
done

# Nothing to print is said in words.
trace calls
run gpu-trace calls.mpt
code 0
stdout <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== Profiling result:
No kernels were profiled.
END
run gpu-trace --with-api calls.mpt
code 0
stdout <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== Profiling result:
No kernels were profiled.
        Start  Duration  Name
          0ns   5.000us  cudaLaunchKernel
END
run gpu-trace --csv calls.mpt
code 0
[ "$(wc -l <.stdout)" -eq 1 ]
verdict "a header row alone" $?
echo "==4242== No kernels were profiled." | stderr
trace empty
run gpu-trace --with-api empty.mpt
code 0
stdout <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== Profiling result:
No kernels were profiled.
No API activities were profiled.
END
run api-trace --json empty.mpt
code 0
json 'd["rows"] == []'

# A trace that says nothing of its program.
trace anonymous
run api-trace --range 1 anonymous.mpt
code 0
stdout_like <<'END'
======== Capture range 1 of 2
======== Profiling result:
        Start  Duration  Name
          0ns   2.000us  cuMemcpyHtoDAsync
      3.000us  *
      9.000us  *
END

# What is known before the first row stands above the table, what the rows show below it.
trace dropped
run api-trace dropped.mpt
code 1
head -n 1 .stdout >.first
mv .first .stdout
stdout <<'END'
==4242== Warning: 12 records were dropped; busy time, idle causes and gains are not known.
END
for command in gpu-trace summary; do
    trace doubtful
    run $command doubtful.mpt
    code 1
    grep Warning .stdout >.line
    mv .line .stdout
    stdout_like <<'END'
==4242== Warning: 2 rows without a begin time are left out; 1 row that ends before it begins is *
END
    rm doubtful.mpt
done
trace doubtful
run gpu-trace --json doubtful.mpt
code 1
json 'd["quality"]["whole"] and not d["quality_of_rows"]["whole"]'
json 'd["quality_of_rows"]["unknown_times"] == 2 and d["quality_of_rows"]["reversed_times"] == 1'
json 'len(d["rows"]) == 9'
trace undefined
run gpu-trace undefined.mpt
code 1
grep -c 'Warning: 1 row refers to a name that is not in the file' .stdout >.line
mv .line .stdout
stdout <<<1
run gpu-trace --csv undefined.mpt
grep unnamed .stdout >.line
mv .line .stdout
stdout_like <<'END'
"kernel",2600000,777,*,0,1,13,*,"[[]unnamed kernel]",,,,
END

# Damage in a chunk of kernels costs its rows, and is told once, whatever is read twice.
trace many
run gpu-trace --csv many.mpt
code 0
wc -l <.stdout >.line
mv .line .stdout
stdout <<<$((1 + 9 + 200000))
python3 - <<'END'
data = bytearray(open("many.mpt", "rb").read())
at = data.rindex(b"MPCHUNK")
while int.from_bytes(data[at + 12:at + 14], "little") != 32:
    at = data.rindex(b"MPCHUNK", 0, at)
data[at + 100] ^= 0xff
open("broken.mpt", "wb").write(data)
END
for command in "gpu-trace" "gpu-trace --csv" "gpu-trace --with-api" "summary"; do
    # shellcheck disable=SC2086
    run $command broken.mpt
    code 1
    cat .stdout .stderr | grep '== Warning' >.line
    mv .line .stdout
    stdout_like <<'END'
==4242== Warning: the trace is damaged, 1 chunk unreadable, *
END
done

# Several traces, one behind the other.
run api-trace plain.mpt
cp .stdout one.txt
run api-trace plain.mpt plain.mpt
cat one.txt one.txt >two.txt
stdout <two.txt

# A reader that goes away early is no error of ours, and does not keep us working.
"$miniprof" gpu-trace many.mpt 2>.stderr | head -n 3 >.stdout
stdout_like <<'END'
==4242== Profiling application: *
==4242== Profiling result:
        Start  Duration *
END

finish
