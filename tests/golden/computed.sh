#!/bin/bash
# Takes 90 s.
# Is it true what the command prints of the traces in tests/data? Rows, sums and findings against
# those of programs in Python that read the file themselves (tests/readers) or start from the rows
# of `miniprof dump`, and share no code with the command.
. "$(dirname "$0")/lib.sh"

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
    computed "$name: what overlaps is what the rows say" compare_overlap "${of[@]}"
done
for folder in "$data"/*/; do
    name=$(basename "$folder")
    computed "$name: the merged sums are those of the rows" compare sums "$miniprof" "$name"
done
for pair in $pairs; do
    [ -e "${pair%:*}.mpt" ] || continue
    computed "${pair/:/ against }: the differences are those of the rows" compare_diff \
        "$miniprof" "${pair%:*}.mpt" "${pair#*:}.mpt" iteration
done
finish
