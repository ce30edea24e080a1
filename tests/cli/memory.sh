#!/bin/bash
# miniprof memory: options, what it says of traces that lack something, and bad input.
. "$SOURCE/tests/tools/cli.sh" || exit 1

memory=$SOURCE/tests/data/memory.mpt
cp "$memory" memory.mpt

run memory --top 1 --range 1 memory.mpt
code 0
quiet
stdout_like <<'END'
==2374== Profiling application: /opt/miniprof/steps
==2374== Capture range 1 of 1
==2374== Memory result:
*
*
*
*
*
*
*
*

==2374== Alive at the peak of SimGPU (0), 1 of 6 allocations:
*
8.000MiB * managed * cuMemAllocManaged  setup

==2374== Alive at the peak of SimGPU (1), 1 of 2 allocations:
*
2.000MiB * device * cuMemAlloc  -

==2374== Alive at the peak of the host, 1 of 1 allocation:
*
64.00KiB * pinned * cuMemHostAlloc  setup

==2374== Memory pools:
*
     3 *

==2374== Not freed, 6 allocations, 9,175,040 bytes:
*
     1  8.000MiB    8.000MiB  cuMemAllocManaged  setup

==2374== Allocated and freed:
*
    14 * <all> *
     4 * cuMemAlloc *

END

run memory --json --iteration step memory.mpt
code 0
json 'd["iterations"]["count"] == 3 and d["iterations"]["with_allocations_or_frees"] == 3'
json 'd["iterations"]["unfinished"] == 0 and d["until_the_end"] is True'
json '[s["statistic"] for s in d["iterations"]["statistics"]] ==
      ["mean", "p50", "p99", "min", "max"]'
json 'd["iterations"]["statistics"][4]["bytes"] == 1048576 + 4096'
json 'd["churn"][0]["pairs"] == 5 and d["churn"][0]["allocations"] == 6'

run memory --points 2 --json memory.mpt
code 0
[ "$(wc -l <.stdout)" -eq 8 ] # two GPUs, host and pool in two steps
verdict "a line for each step and place" $?
run memory --timeline --json memory.mpt
[ "$(wc -l <.stdout)" -eq 22 ]
verdict "a line for each row" $?
# The same iterations, found as iters finds them.
run memory --json --iteration step memory.mpt
cp .stdout by_name
run memory --json --iteration auto memory.mpt
code 0
json 'd["iterations"] == dict(json.load(open("by_name"))["iterations"], name="auto")'
run memory --iteration graph memory.mpt
code 2
stderr_like <<'END'
miniprof memory: 'memory.mpt': no CUDA graph launches; the trace has *
END

run memory --iteration stop memory.mpt
code 2
stdout </dev/null
stderr_like <<'END'
miniprof memory: 'memory.mpt': there is no NVTX range 'stop'; there are for example step
END

# What lacks something.
trace plain
run memory plain.mpt
code 0
stdout <<'END'
==4242== Profiling application: ./infer --batch 1
==4242== No allocations in the trace: none was made while it was recorded.
END
run memory --csv --timeline plain.mpt
code 0
stdout <<'END'
time_ns,change_bytes,live_bytes,pool_live_bytes,pool,kind,device_name
END
run memory --json plain.mpt
code 0
json 'd["memory"] == [] and d["peaks"] == [] and d["not_freed"]["rows"] == []'
trace empty
run memory empty.mpt
code 0
trace dropped
run memory dropped.mpt
code 1
head -n 1 .stdout | grep -q '^==4242== Warning: '
verdict "a warning first" $?

# Names of the program cannot move the cursor.
PYTHONPATH=$SOURCE/tests/readers python3 - <<'END'
import mpt, struct
data = open("memory.mpt", "rb").read()
text = data[32:32 + struct.unpack_from("<I", data, 24)[0]]
head = bytearray(data[:8 + struct.unpack_from("<I", data, 4)[0]])
new = text.replace(b"MINIPROF_MEMORY=on\n", b"MINIPROF_MEMORY=off\n") \
          .replace(b"/opt/miniprof/steps", b"/opt/\x1b[2J/steps")
head[32:] = new
struct.pack_into("<I", head, 24, len(new))
struct.pack_into("<I", head, 4, len(new) + 32)
head += struct.pack("<Q", mpt.xxh64(bytes(head[8:])))
open("off.mpt", "wb").write(head)
END
run memory off.mpt
code 1
grep -q 'Allocations were not recorded: MINIPROF_MEMORY=off.' .stdout
verdict "why there are none" $?
! grep -q $'\033' .stdout
verdict "no escape sequences" $?

# Cut and changed files: an answer or a line, never a crash.
size=$(stat -c %s memory.mpt)
for ((at = 40; at < size; at += 97)); do
    head -c "$at" memory.mpt >cut.mpt
    run memory cut.mpt
    [ "$got" -eq 1 ] || [ "$got" -eq 3 ]
    verdict "cut at $at: exit code $got" $?
    cp memory.mpt flipped.mpt
    printf '\xa5' | dd of=flipped.mpt bs=1 seek="$at" conv=notrunc status=none
    run memory --iteration step flipped.mpt
    [ "$got" -le 3 ]
    verdict "changed at $at: exit code $got" $?
done

# Usage.
run memory
code 2
stderr <<'END'
miniprof memory: which trace? 'miniprof memory TRACE.mpt'
END
run memory --points 1000001 memory.mpt
code 2
stderr <<'END'
miniprof memory: --points takes at most 1000000
END
run memory --timeline --iteration step memory.mpt
code 2
stderr <<'END'
miniprof memory: --iterations goes with neither --timeline nor --points
END
run memory --range 7 memory.mpt
code 2
stderr <<'END'
miniprof memory: 'memory.mpt': there is no capture range 7; the trace has 1
END
run memory nothing.mpt
code 3

finish
