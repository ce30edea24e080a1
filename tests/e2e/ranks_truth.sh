#!/bin/bash
# Ranks on the software GPU (tests/simgpu/nccl): what the program ranks says of a job is what was
# planted, and what the ranks' traces hold.
. "$(dirname "$0")/lib.sh"

ranks=$build/tests/e2e/ranks
needs nvtx3/nvToolsExtPayload.h

# job NAME N [[RANK@]VAR=VALUE...] -- ARGUMENT...: sets $status; $work/NAME has what launch leaves.
job() {
    local name=$1 count=$2
    local -a settings command
    shift 2
    split "$@"
    RECORD=$lib "$SOURCE/tests/e2e/ranks/launch" "$count" "$work/$name" "${settings[@]}" \
        -- "$ranks" "${command[@]}" 2>"$work/$name.err"
    status=$?
}

# truth NAME FUNCTION COLUMN...: columns of the lines of a function, separated by spaces.
truth() {
    local file=$work/$1/truth.csv function=$2
    shift 2
    awk -F, -v called="$function" -v wanted="$*" '
        NR == 1 { for (i = 1; i <= NF; i++) place[$i] = i; n = split(wanted, names, " ") }
        NR > 1 && $2 == called { line = $place[names[1]]
            for (i = 2; i <= n; i++) line = line " " $place[names[i]]
            print line }' "$file"
}

# kernels_of NAME RANK: begin and end of each kernel of NCCL in that rank's trace.
kernels_of() {
    "$miniprof" dump --csv --table kernel "$work/$1/rank$2.mpt" | grep ncclDevKernel |
        awk -F, '{ print $(NF - 2), $(NF - 1) }' |
        while read -r start duration; do echo "$start $((start + duration))"; done
}

# arrivals NAME RANK: the same by the truth, of a job whose ranks all are in every collective.
arrivals() {
    truth "$1" AllReduce arrivals end_ns | awk -v rank="$2" '
        { split($1, arrival, ";"); print arrival[rank + 1], $2 }'
}

# What is planted at the first layer, behind a wait of the host, makes the rank late by so much.
# Beside it lie the noise of a kernel, what a thread costs, the load of a function (15 us) and the
# allocations of a copy (42 us).
job causes 4 -- iterations=8 layers=2 late=1:2:0:host:2000 late=2:3:0:blocked:1500 \
    late=3:4:0:launch:1000 late=0:5:0:copy:800 late=2:6:0:kernel:300 late=1:7:0:call:960
same "a job of four ranks ends" 0 "$status"
same "who is late, and why, is what was planted" \
    "1 host
2 blocked
3 launch
0 copy
2 kernel
1 call" "$(truth causes AllReduce last cause | grep -v -- -)"
truth causes AllReduce iteration late_ns cause | grep -v -- -$ >"$work/late"
while read -r iteration planted within; do
    late=$(awk -v iteration="$iteration" '$1 == iteration { print $2 }' "$work/late")
    check "iteration $iteration: $late ns late, planted were $planted us" \
        [ $((late - planted * 1000)) -le "$within" -a $((planted * 1000 - late)) -le "$within" ]
done <<'END'
2 2000 1000
3 1500 3000
4 1000 16000
5 800 50000
6 300 1000
7 960 1000
END
for rank in 0 1 2 3; do
    same "rank $rank's kernels lie where the truth says" "$(arrivals causes $rank)" \
        "$(kernels_of causes $rank)"
done
same "nobody is late otherwise by more than the noise of a kernel" 0 \
    "$(truth causes AllReduce cause late_ns layer | awk '$1 == "-" && $2 > 12000' | wc -l)"

# The replays of a graph.
job graph 2 -- iterations=5 layers=3 graph=1 late=1:3:0:host:500
same "15 collectives in five replays" 15 "$(truth graph AllReduce number | wc -l)"
same "the late replay" "3 0 1 host" \
    "$(truth graph AllReduce iteration layer last cause | grep host)"
same "a graph's kernels lie where the truth says" "$(arrivals graph 1)" "$(kernels_of graph 1)"

# Groups are one kernel.
job group 2 -- iterations=2 layers=2 group=3
same "12 collectives in four kernels" "12 4" \
    "$(truth group AllReduce number | wc -l) $(kernels_of group 0 | wc -l)"

# Teams, and what their lateness does to all.
job split 4 -- iterations=3 layers=2 split=2 late=2:1:0:kernel:400
same "the late team comes late to the others" "2 kernel
-1 collective" "$(truth split AllReduce last cause | awk '$2 != "-"' | sort -r)"
same "two teams and all" 3 "$(truth split AllReduce communicator | sort -u | wc -l)"

# A pipeline: three ranks, two microbatches there and back.
job pipeline 3 -- iterations=2 pipeline=1 microbatches=2
same "16 sends" 16 "$(truth pipeline Send number | wc -l)"
same "each in two kernels" 32 \
    "$(for rank in 0 1 2; do kernels_of pipeline $rank; done | wc -l)"

# Two hosts.
job hosts 2 1@SIMGPU_CLOCK_OFFSET_NS=5000000000 -- iterations=3 layers=2
shifted=$(arrivals hosts 1 | while read -r start end; do
    echo "$((start + 5000000000)) $((end + 5000000000))"; done)
same "a host's trace has its own clock" "$shifted" "$(kernels_of hosts 1)"
same "and the other one's the common one" "$(arrivals hosts 0)" "$(kernels_of hosts 0)"

# Windows that differ.
job windows 2 -- iterations=6 layers=2 window=0:1:4 window=1:2:5
same "windows of four iterations" "8 8" \
    "$(kernels_of windows 0 | wc -l) $(kernels_of windows 1 | wc -l)"
same "one begins with the third collective" "$(arrivals windows 0 | sed -n '3,10p')" \
    "$(kernels_of windows 0)"
same "one with the fifth" "$(arrivals windows 1 | sed -n '5,12p')" "$(kernels_of windows 1)"

# A killed rank.
job death 3 -- iterations=4 layers=2 die=2:2:1
same "the killed rank, and those that wait for it" "1 1 137" \
    "$(echo $(cat "$work"/death/rank?.status))"
like "say so" "ncclAllReduce.*remote process exited" "$(cat "$work/death/rank0.err")"
same "and keep their traces" "$(arrivals death 0)" "$(kernels_of death 0 | head -n 5)"

# Bad input.
job typo 1 -- late=1:2:3:sleepy:4
like "an unknown cause" "'sleepy' makes nobody late: host, blocked" "$(cat "$work/typo/rank0.err")"
job torchrun 2 -- iterations=0
same "no iteration, no line" "" "$(truth torchrun AllReduce number)"

finish
