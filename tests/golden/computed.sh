#!/bin/bash
# Takes 90 s.
# Is it true what the command prints of the traces in tests/data? Rows, sums and findings against
# those of programs in Python that read the file themselves (tests/readers) or start from the rows
# of `miniprof dump`, and share no code with the command.
. "$(dirname "$0")/lib.sh"
SOURCE=$source
. "$source/tests/tools/no_costs.sh"
no_costs "$work/cache"

# computed WHAT PROGRAM [ARGUMENT...]
computed() {
    local what=$1 program=$2
    shift 2
    python3 "$source/tests/golden/$program.py" "$@" >"$work/log" 2>&1
    verdict $? "$what"
}

for trace in "${traces[@]}"; do
    name=$(basename "$trace" .mpt)
    of=("$miniprof" "$name.mpt")
    computed "$name: the independent reader has the same rows" compare rows "${of[@]}"
    computed "$name: the summary's sums are those of the rows" compare sums "${of[@]}"
    computed "$name: the NVTX result's sums are those of the rows" compare_nvtx "${of[@]}"
    computed "$name: the iterations follow from the rows" compare_iters "${of[@]}"
    computed "$name: the layers are those of the rows" compare_layers "${of[@]}"
    computed "$name: the findings follow from the rows" compare_advise "${of[@]}"
    computed "$name: what top shows of all of it follows from the rows" compare_top "${of[@]}"
    computed "$name: memory is what follows from the rows" compare_memory "${of[@]}"
    computed "$name: the traces are those of the rows" compare_traces "${of[@]}"
    computed "$name: kernels' sums and occupancy follow from the rows" compare_kernels "${of[@]}"
    computed "$name: the digest is what the other reports say" compare_report "${of[@]}"
    computed "$name: what overlaps is what the rows say" compare_overlap "${of[@]}"
done
for trace in zoo/server zoo/cupy_streams zoo/stream_alloc; do
    [ -e "$trace.mpt" ] || continue
    computed "$trace: the digest is what the other reports say" compare_report "$miniprof" \
        "$trace.mpt"
done
for folder in "${sets[@]}"; do
    name=$(basename "$folder")
    computed "$name: the merged sums are those of the rows" compare sums "$miniprof" "$name"
    [ -e "$name/truth.csv" ] || continue
    "$miniprof" ranks --one-clock --trace --csv "$name" >"$work/rows" 2>/dev/null
    python3 "$source/tests/e2e/ranks/compare.py" "$work/rows" "$name/truth.csv" 0 >"$work/log" 2>&1
    grep -qx '[1-9][0-9]* 0 within [1-9][0-9]* 0' "$work/log"
    verdict $? "$name: who came last, and by how much, is what was played"
done
for pair in $pairs; do
    [ -e "${pair%:*}.mpt" ] || continue
    computed "${pair/:/ against }: the differences are those of the rows" compare_diff \
        "$miniprof" "${pair%:*}.mpt" "${pair#*:}.mpt" iteration
done
finish
