#!/bin/bash
# Takes 10 s.
# miniprof ranks: jobs of several processes on the software GPU, whose truth.csv says who came last
# to each operation and by how much. The software GPU's ranks share a clock unless they are told
# otherwise; its traces do not say so, hence --one-clock.
. "$(dirname "$0")/lib.sh"

ranks=$build/tests/e2e/ranks
needs nvtx3/nvToolsExtPayload.h

# play NAME N [[RANK@]VAR=VALUE...] -- ARGUMENT...: traces and truth.csv in $work/NAME.
play() {
    local name=$1 count=$2
    local -a settings command
    shift 2
    split "$@"
    RECORD=$lib "$SOURCE/tests/e2e/ranks/launch" "$count" "$work/$name" "${settings[@]}" \
        -- "$ranks" "${command[@]}" </dev/null >/dev/null 2>&1
}

# report NAME [OPTION...]: $status, $work/NAME.csv and $work/NAME.notes
report() {
    local name=$1
    shift
    "$miniprof" ranks --csv "$@" "$work/$name" >"$work/$name.csv" 2>"$work/$name.notes"
    status=$?
}

# matches WHAT NAME TOLERANCE_NS EXPECTED: "COMPARED WRONG within CAUSED MISTAKEN"
matches() {
    same "$1" "$4" "$(python3 "$SOURCE/tests/e2e/ranks/compare.py" "$work/$2.csv" \
        "$work/$2/truth.csv" "$3")"
}

# says WHAT NAME PATTERN
says() {
    check "$1" grep -qE "$3" "$work/$2.notes"
}

# ---- The late rank, with NCCL's plugin and by NVTX alone ----

for told in on nvtx; do
    while read -r kind count expected arguments; do
        read -ra words <<<"$arguments late=1:2:0:host:2000 late=0:3:1:kernel:300"
        play "$told$kind" "$count" MINIPROF_NCCL=$told -- "${words[@]}"
        report "$told$kind" --trace --one-clock
        same "$told, $kind: all is matched" 0 "$status"
        matches "$told, $kind: the late rank of each operation, to 3 us" "$told$kind" 3000 \
            "${expected//_/ }"
    done <<'END'
plain 4 16_0_within_2_0 iterations=8 layers=2
group 2 24_0_within_6_0 iterations=4 layers=2 group=3
graph 2 15_0_within_1_0 iterations=5 layers=3 graph=1
split 4 20_0_within_4_0 iterations=4 layers=2 split=2
pipeline 3 64_0_within_2_0 iterations=4 pipeline=1
END
done

# A send that NCCL buffers ends before its receive comes, if the receiving rank is late to it. Where
# the numbers of operations differ, how they belong together is unknown.
for told in on nvtx; do
    play "buffered$told" 2 MINIPROF_NCCL=$told SIMNCCL_BUFFERED=99999999 -- iterations=8 \
        pipeline=1 kernel=5 late=0:7:0:host:2000 late=1:{1..6}:0:host:2000
    report "buffered$told" --trace --one-clock
    same "buffered sends, $told: all is matched" "0 0" \
        "$status $(grep -c 'fit no other' "buffered$told.notes")"
    matches "buffered sends, $told: the late rank" "buffered$told" 3000 "64 0 within 1 0"
    check "buffered sends, $told: nobody waits for their receives" [ "$(python3 -c 'import csv, sys
print(sum(row["late_ns"] == "0" and int(row["skew_ns"]) > 1000000
          for row in csv.DictReader(sys.stdin)))' <"buffered$told.csv")" -ge 6 ]
done

# Host functions tell the plugin of each replay, on a thread of the driver. A call has one row.
for told in on nvtx; do
    play "proxy$told" 2 MINIPROF_NCCL=$told SIMNCCL_PROXY=1 -- iterations=5 layers=3 graph=1 \
        late=1:3:0:host:2000
    report "proxy$told" --trace --one-clock
    same "replays that host functions tell of, $told: all is matched" "0 3" \
        "$status $("$miniprof" dump --table collective --csv --raw "$work/proxy$told/rank0.mpt" |
            grep -c '^[0-9]')"
    matches "replays that host functions tell of, $told: the late rank" "proxy$told" 3000 \
        "15 0 within 1 0"
done

# As the plugin tells. The kernels' names say LL whatever the protocol, as NCCL's do.
while read -r told kind expected; do
    same "$told, $kind: algorithm and protocol" "${expected//_/ }" \
        "$(awk -F, 'NR > 1 { print $6, $7 }' "$told$kind.csv" | sort -u)"
done <<'END'
on plain "RING"_"SIMPLE"
on group "RING"_"SIMPLE"
nvtx plain _
nvtx group _
END

# ---- Why: each cause once ----

causes=(late=1:2:0:host:2000 late=2:3:0:blocked:1500 late=3:4:0:launch:1000 late=0:5:0:copy:800
    late=2:6:0:kernel:300 late=1:7:0:call:1000)
while read -r kind expected arguments; do
    read -ra words <<<"$arguments"
    play "why$kind" 4 -- iterations=9 layers=2 "${words[@]}" "${causes[@]}"
    report "why$kind" --trace --one-clock
    matches "$kind: each cause" "why$kind" 3000 "${expected//_/ }"
done <<'END'
plain 18_0_within_6_0
group 54_0_within_18_0 group=3
graph 18_0_within_6_0 graph=1
split 45_0_within_12_0 split=2
END
python3 - whyplain.csv >whyplain.names <<'END'
import csv, sys
for row in csv.DictReader(open(sys.argv[1])):
    if int(row["late_ns"]) > 3000:
        print(row["last_rank"], row["cause"], row["activity"], sep=": ")
END
same "each has its name" "1: host: step
2: blocked: pthread_join
3: launch: cuLaunchKernel
0: copy: [CUDA memcpy HtoD]
2: kernel: spin
1: call: cuModuleLoadData" "$(cat whyplain.names)"
report whysplit --table causes --one-clock
same "who waited in a team has the name of its operation" '"collective","AllReduce"' \
    "$(grep -o '"collective",.*' whysplit.csv | sort -u)"

# ---- Capture windows ----

for told in on nvtx; do
    play "window$told" 3 MINIPROF_NCCL=$told MINIPROF_CAPTURE=range -- iterations=12 layers=2 \
        late=1:5:0:host:2000 window=0:0:9 window=1:3:11 window=2:2:8
    report "window$told" --trace --one-clock
    same "windows, $told: what not all recorded has an exit code" 1 "$status"
    says "windows, $told: and is said" "window$told" \
        "not matched: 12 instances were not recorded by all of their ranks"
    matches "windows, $told: the six iterations in common" "window$told" 3000 "12 0 within 1 0"
done

# ---- Hosts whose clocks are apart and drift ----

play hosts 4 2@SIMGPU_CLOCK_OFFSET_NS=5000000 2@SIMGPU_CLOCK_DRIFT_PPB=20000 \
    3@SIMGPU_CLOCK_OFFSET_NS=5000000 3@SIMGPU_CLOCK_DRIFT_PPB=20000 \
    -- iterations=50 layers=4 late=1:2:0:host:2000 late=2:20:0:host:2000
"$miniprof" ranks --json hosts >hosts.json
bound=$(python3 -c '
import json, sys
print(round(max(clock["bound_ns"] for clock in json.load(sys.stdin)["clocks"])))' <hosts.json)
# Half of the 2 ms; a busy machine spreads the arrivals, and with them the bounds.
check "hosts: the offsets are bounded: $bound ns" [ "$bound" -le 1000000 ]
report hosts --trace
"$miniprof" info hosts >info.txt
same "info says the offsets too" "$(grep -c 'is right within .* by 200 collectives' hosts.notes)" \
    "$(grep -c 'is right within .* by 200 collectives' info.txt)"
"$miniprof" info --json hosts | python3 -c '
import json, sys
one = json.load(sys.stdin)["clock_offsets"]
print(one == json.load(open("hosts.json"))["clocks"], len(one))' >info.same
check "info --json has the same" grep -q "^True [1-9]" info.same
matches "hosts: the late rank, and lateness within two bounds" hosts $((2 * bound)) \
    "200 0 within 2 0"

# ---- Bad input ----

mkdir missing two
cp onplain/rank[012].mpt missing
report missing --trace --one-clock
says "a rank is missing: said" missing "1 of 4 ranks have no trace here"
same "a rank is missing: the others are reported" 17 "$(wc -l <missing.csv)"

cp onplain/rank[01].mpt two
cp nvtxplain/rank1.mpt two/other.mpt
report two --one-clock
same "two jobs with one communicator: an exit code" 1 "$status"
says "two jobs with one communicator: said" two "16 operations .* two jobs in one folder"

mkdir jobs
play another 2 SIMNCCL_SEED=7 -- iterations=2 layers=2
cp onplain/rank?.mpt jobs
for rank in 0 1; do cp another/rank$rank.mpt jobs/another$rank.mpt; done
report jobs --one-clock
says "two jobs: said" jobs "2 groups without a communicator in common"
same "two jobs: both are reported" "16 4" \
    "$(awk -F, 'NR > 1 { print $7 }' jobs.csv | sort -rn | xargs)"

mkdir alone
cp onplain/rank0.mpt alone
report alone
same "one trace: an exit code" 1 "$status"
says "one trace: what to do" alone "one rank alone: give the folder"

play single 1 SIMNCCL_ALONE=1 -- iterations=3
"$miniprof" ranks single >single.txt
same "a job of one rank: nothing is missing" 0 $?
same "a job of one rank: no tables without rows" \
    "======== This is one rank alone: give the folder with the traces of all ranks." \
    "$(tail -1 single.txt)"
same "a job of one rank: nothing is said to be unmatched" 0 "$(grep -c Warning single.txt)"

mkdir unused
play unused 2 -- iterations=0
report unused --one-clock
says "no operation of NCCL: said" unused "No operation of NCCL"

play apart 2 MINIPROF_CAPTURE=range -- iterations=12 layers=2 window=0:0:3 window=1:6:9
report apart --one-clock
same "other steps on each rank: an exit code" 1 "$status"
says "other steps on each rank: said" apart "16 instances were not recorded by all of their ranks"

SIMNCCL_TIMEOUT_MS=2000 play killed 3 -- iterations=8 layers=2 late=1:2:0:host:2000 die=2:5:0
report killed --trace --one-clock
says "a killed rank: its trace is not whole" killed "did not end in order"
matches "a killed rank: what ran before" killed 3000 "10 0 within 1 0"

# ---- Nobody tells the communicators ----

untold=(iterations=4 layers=2 late=1:2:0:host:2000)
play old 3 MINIPROF_NCCL=nvtx SIMNCCL_NVTX=old -- "${untold[@]}"
play names 3 MINIPROF_NCCL=nvtx SIMNCCL_NVTX=names -- "${untold[@]}"
play silent 3 MINIPROF_NCCL=nvtx NCCL_NVTX_DISABLE=1 -- "${untold[@]}"
for nvtx in old names silent; do
    report $nvtx --trace --one-clock
    says "$nvtx: said" $nvtx "nobody told the communicators of 24 operations"
    matches "$nvtx: the order on the stream tells who was late" $nvtx 3000 "8 0 within 1 0"
done

play before 2 MINIPROF_CAPTURE=range -- iterations=12 layers=2 graph=1 late=1:5:0:host:2000 \
    window=0:1:9 window=1:3:11
report before --trace --one-clock
matches "a graph captured before the window: by the order on the stream" before 3000 \
    "14 0 within 1 0"

play mixed 4 MINIPROF_NCCL=nvtx NCCL_NVTX_DISABLE=1 -- iterations=3 layers=2 split=2 \
    late=3:1:0:kernel:400
report mixed --trace --one-clock
same "two communicators on a stream: nothing is guessed" "1 1" "$status $(wc -l <mixed.csv)"
says "two communicators on a stream: said" mixed "operations fit no other rank's"

play pairs 3 MINIPROF_NCCL=nvtx NCCL_NVTX_DISABLE=1 -- iterations=3 pipeline=1
report pairs --one-clock
says "sends without peers: said" pairs "96 kernels of NCCL have no operation"

# Whatever a byte says, and wherever a file ends, there is an answer or a line on stderr.
mkdir broken
cp ongraph/rank0.mpt nvtxgroup/rank1.mpt broken
odd=0
for file in ongraph/rank1.mpt nvtxgroup/rank0.mpt; do
    size=$(stat -c %s $file)
    for ((at = 40; at < size; at += 131)); do
        head -c $at $file >broken/cut.mpt
        cp $file broken/flipped.mpt
        printf '\xff' | dd of=broken/flipped.mpt bs=1 seek=$at conv=notrunc status=none
        "$miniprof" ranks --json --trace broken >broken.json 2>/dev/null
        [ $? -le 3 ] && ! grep -qiE '[^a-z](nan|inf)[^a-z]' broken.json || odd=$((odd + 1))
    done
done
same "cut and changed files" 0 $odd

report nowhere
same "no such folder" 3 "$status"
finish
