#!/bin/bash
# By how much kernel times add up beyond the busy time: summary, kernels and overlap say the same.
# Random kernels: tests/unit/reports/test_kernel_time.c.
. "$SOURCE/tests/tools/cli.sh" || exit 1

# The plain trace has kernels of 1294567 ns, one after the other. Behind them come 100 kernels of
# 50 us in one stream, one every 10 us: 5 ms within 1.04 ms.
trace dependent
line='==4242== Note: kernel times add up to 6.295ms, 3.960ms more than the 2.335ms in which the'
line+=' GPU ran kernels. Overlap: 3.960ms within streams (programmatic dependent launch, branches'
line+=' of CUDA graphs).'
for command in summary 'summary --per-gpu' 'summary --csv' kernels 'kernels --csv'; do
    run $command dependent.mpt
    code 0
    grep -qxF "$line" .stdout .stderr
    verdict "the line" $?
done
for command in summary kernels; do
    run $command --json dependent.mpt
    code 0
    json 'd["kernel_time"] == {"total_ns": 6294567, "busy_ns": 2334567, "beyond_busy_ns": 3960000,
        "within_streams_ns": 3960000, "between_streams_ns": 0}'
done

# A graph launch of 50 us that was recorded as a whole is a kernel for overlap.
run overlap dependent.mpt
code 0
grep -qF 'kernel times add up to 6.345ms, 3.960ms more than the 2.385ms' .stdout
verdict "the line, with the graph" $?
run overlap --json dependent.mpt
json 'd["kernel_time"]["total_ns"] == 6344567 and d["kernel_time"]["busy_ns"] == 2384567'
json 'sum(a["busy_ns"] for a in d["devices"][0]["activities"] if a["activity"] == "kernel") ==
    d["kernel_time"]["busy_ns"]'

# 2000 streams with a kernel of 100 us, one every 1 us: 200 ms within 2.099 ms.
trace streams
run summary streams.mpt
code 0
grep -qF 'kernel times add up to 201.3ms, 197.9ms more than the 3.394ms in which the GPU' .stdout
verdict "how much" $?
grep -q 'Overlap: 197.9ms between streams\.$' .stdout
verdict "between streams" $?

# In nvprof's own output there is no such line.
run nvprof -i dependent.mpt
! grep -q 'add up' .stdout .stderr
verdict "nvprof's output" $?

# Processes add up; each has devices of its own.
another dependent.mpt other.mpt 1
run summary --merge dependent.mpt other.mpt
grep -qF '======== Note: kernel times add up to 12.59ms, 7.920ms more than the 4.669ms' .stdout
verdict "two processes" $?
grep -qF 'in which GPUs ran kernels, added up. Overlap: 7.920ms within streams' .stdout
verdict "two processes have two GPUs" $?
run summary --merge --json dependent.mpt other.mpt
json 'd["kernel_time"]["beyond_busy_ns"] == 7920000'

# Without overlap, without kernels, and without GPU activities.
trace plain
for command in summary kernels overlap; do
    run $command plain.mpt
    ! grep -q 'add up' .stdout
    verdict "nothing overlaps" $?
    run $command --json plain.mpt
    json 'd["kernel_time"]["beyond_busy_ns"] == 0'
done
trace empty
run summary --json empty.mpt
json 'd["kernel_time"]["total_ns"] == 0'
run summary --api --json dependent.mpt
json 'd["kernel_time"] is None'

finish
