#!/bin/bash
# Takes 15 s.
# Jobs of several ranks as one event graph: `miniprof deps FOLDER`. What is planted is known, and
# the same job without it was played too. The software GPU's ranks share a clock, hence --one-clock.
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

# deps NAME [OPTION...]: $status, $work/NAME.json and $work/NAME.err
deps() {
    local name=$1
    shift
    "$miniprof" deps --json "$@" "$work/$name" >"$work/$name.json" 2>"$work/$name.err"
    status=$?
}

# value NAME EXPRESSION: of Python, in which d is the document.
value() {
    python3 -c "import json, sys
d = json.load(open(sys.argv[1]))
print($2)" "$work/$1.json"
}

# within PERCENT A B
within() {
    python3 -c "import sys
percent, a, b = map(float, sys.argv[1:])
sys.exit(abs(a - b) > percent / 100 * b)" "$@"
}

loop=(iterations=20 layers=4)
late=(late=1:3:1:host:2000 late=1:11:2:host:2000 late=0:7:1:kernel:1500)

# ---- A late rank, planted; and the same job without ----

for told in on nvtx; do
    play "late$told" 3 MINIPROF_NCCL=$told -- "${loop[@]}" "${late[@]}"
    play "fine$told" 3 MINIPROF_NCCL=$told -- "${loop[@]}"
    deps "fine$told" --one-clock --iterations=auto
    fine=$(value "fine$told" "d['iterations']['mean_ns']")
    deps "late$told" --one-clock --iterations=auto --what-if=late=0
    same "$told: a folder of ranks is one job" "0 3" \
        "$status $(value "late$told" "len(d['by_rank'])")"
    new=$(value "late$told" "d['what_if']['iterations']['mean_ns']")
    check "$told: all together it takes what it takes without the delays: $new ns of $fine" \
        within 2 "$new" "$fine"
    deps "late$told" --one-clock --iteration=4
    same "$told: the path of a late iteration is the late rank's" "1" \
        "$(value "late$told" "max(d['by_rank'], key=lambda r: r['critical_ns'])['rank']")"
    check "$told: the others' GPUs wait in it" [ "$(value "late$told" \
        "min(r['peer_idle_ns'] for r in d['by_rank'] if r['rank'] != 1)")" -ge 1900000 ]
    deps "late$told" --one-clock --iteration=4 --what-if=rank1:host=0
    check "$told: it would take 2 ms less without rank 1's host code" [ "$(value "late$told" \
        "d['window_ns'] - d['what_if']['new_ns']")" -ge 1900000 ]
    deps "late$told" --one-clock --iteration=4 --what-if=rank0:host=0
    check "$told: and as long without rank 0's" [ "$(value "late$told" \
        "d['window_ns'] - d['what_if']['new_ns']")" -le 10000 ]
done

deps lateon --one-clock --what-if=ncclAllReduce=0
transfers=$(value lateon \
    "sum(r['critical_ns'] for r in d['rows'] if r['name'].endswith('ncclAllReduce'))")
gain=$(value lateon "d['window_ns'] - d['what_if']['new_ns']")
check "transfers on the path are what is gained without them: $gain of $transfers ns" \
    within 1 "$gain" "$transfers"

deps lateon --one-clock --trace --iteration=4
same "a transfer is bound by the late rank's arrival" "D10" "$(value lateon \
    "[a['bound_by'] for a in d['activities'] if a['kind'] == 'transfer' and not a['rank']][1]")"

# ---- Graphs, groups, a pipeline, two hosts ----

play graph 2 -- iterations=6 layers=3 graph=1 late=1:3:0:host:500
deps graph --one-clock --iteration=4
check "replays of a graph: rank 0 waits for rank 1" \
    [ "$(value graph "d['by_rank'][0]['peer_ns']")" -ge 490000 ]

play group 2 -- iterations=4 layers=2 group=3 late=1:2:0:host:500
deps group --one-clock
same "groups: a kernel is one transfer" 8 "$(value group \
    "sum(r['calls'] for r in d['rows'] if r['name'] == 'rank0:ncclAllReduce')")"

play pipeline 3 -- iterations=4 pipeline=1
deps pipeline --one-clock --what-if='ncclSend,ncclRecv=0'
check "a pipeline: the path goes from stage to stage" \
    [ "$(value pipeline "d['path_changes']")" -ge 8 ]
check "its bubbles are waiting for peers" \
    [ "$(value pipeline "min(r['peer_idle_ns'] for r in d['by_rank'])")" -ge 500000 ]
check "sends that take no time shorten it" \
    [ "$(value pipeline "d['window_ns'] - d['what_if']['new_ns']")" -gt 500000 ]

play hosts 2 1@SIMGPU_CLOCK_OFFSET_NS=5000000 1@SIMGPU_CLOCK_DRIFT_PPB=20000 \
    -- iterations=50 layers=4 late=1:20:0:host:2000
play same 2 -- iterations=50 layers=4 late=1:20:0:host:2000
deps same --one-clock
one=$(value same "d['window_ns']")
deps hosts
check "two hosts: the job is as long as on one" within 1 "$(value hosts "d['window_ns']")" "$one"
check "and the late rank is found" \
    [ "$(value hosts "d['by_rank'][0]['peer_ns']")" -ge 1900000 ]

# ---- Findings, iterations ----

# documents COMMAND NAME OPTION...: its JSON documents in $work/NAME.json
documents() {
    local command=$1 name=$2
    shift 2
    "$miniprof" "$command" --json --one-clock "$@" "$work/$name" >"$work/$name.json"
    status=$?
}

documents advise lateon
same "advise: all ranks together, then each" "0 ['job', 'rank 0', 'rank 1', 'rank 2']" \
    "$status $(value lateon "[each['process'] for each in d]")"
same "who was late to how many iterations" "[(1, 2), (0, 1)]" "$(value lateon \
    "[(int(f['numbers']['rank']), int(f['numbers']['late_iterations']))
      for f in d[0]['findings'] if f['rule'] == 'late_rank']")"
late_ns=$(value lateon "d[0]['findings'][0]['numbers']['late_ns']")
check "by the planted delay, less what the others computed meanwhile: $late_ns ns" \
    within 8 "$late_ns" 2000000
gain=$(value lateon "d[0]['findings'][0]['gain_ns']")
check "what it would gain: two delays in 20 iterations: $gain ns" within 8 "$gain" 200000
same "from its host code, and from the other's kernel" "host code rank0:spin" "$(value lateon \
    "' '.join(f['lines'][0]['name'] for f in d[0]['findings'] if f['rule'] == 'late_rank')")"
same "a rank of a job needs no more to be known" 0 "$(value lateon \
    "sum(r['reason'] == 'one_rank' for one in d[1:] for r in one['not_tried'])")"
same "and does not ask for a faster kernel of NCCL" False "$(value lateon \
    "any('nccl' in f['lines'][0]['name'] for f in d[1]['findings'] if f['rule'] == 'slow_layer')")"
mkdir alone
cp lateon/rank0.mpt alone
documents advise alone
same "one rank alone says what it cannot know" "one_rank" "$(value alone \
    "next(r['reason'] for r in d['not_tried'] if r['rule'] == 'late_rank')")"
documents advise pipeline
same "bubbles of a pipeline" 1 \
    "$(value pipeline "sum(f['rule'] == 'pipeline_bubbles' for f in d[0]['findings'])")"

same "and its stages have equal work" 0 \
    "$(value pipeline "sum(f['rule'] == 'uneven_stages' for f in d[0]['findings'])")"

# Rank 1 has three times the work of the others; then the same work in equal parts.
play uneven 3 -- iterations=6 pipeline=1 microbatches=8 kernel=300 heavy=1:900
play even 3 -- iterations=6 pipeline=1 microbatches=8 kernel=500
documents advise uneven
stages="next(f for f in d[0]['findings'] if f['rule'] == 'uneven_stages')"
same "a stage with more work is the first finding" "uneven_stages 1" "$(value uneven \
    "d[0]['findings'][0]['rule'], int($stages['numbers']['rank'])" | tr -d "(),'")"
foreseen=$(value uneven "d[0]['step_mean_ns'] - $stages['gain_ns']")
documents advise even
taken=$(value even "d[0]['step_mean_ns']")
check "what balance gains is what it takes: $foreseen of $taken ns" within 3 "$foreseen" "$taken"

# What report, iters and advise begin with.
documents report lateon
same "report: who is late and why" "0 1 host step" \
    "$status $(value lateon "' '.join(map(str, (d['job']['late_rank'], d['job']['cause'],
                                                d['job']['activity'])))")"
same "the late rank follows in full" "rank 1" "$(value lateon "d['traces'][d['shown']]['process']")"
check "in time, it would gain its two delays: $(value lateon "d['job']['in_time_gain_ns']") ns" \
    within 8 "$(value lateon "d['job']['in_time_gain_ns']")" 200000
documents report uneven
same "report: a stage with more work is late by its kernel" "1 kernel spin True" \
    "$(value uneven "' '.join(map(str, (d['job']['late_rank'], d['job']['cause'],
                                        d['job']['activity'], d['job']['in_time_by_work'])))")"
foreseen=$(value uneven "d['job']['step_mean_ns'] - d['job']['balanced_gain_ns']")
check "and what balance gains is what it takes: $foreseen ns" within 3 "$foreseen" "$taken"
play third 3 -- iterations=6 pipeline=1 microbatches=8 kernel=300
documents advise third
taken=$(value third "d[0]['step_mean_ns']")
foreseen=$(value uneven "d['job']['step_mean_ns'] - d['job']['in_time_gain_ns']")
check "with the others' work it takes what it takes without: $foreseen of $taken ns" \
    within 6 "$foreseen" "$taken"

documents iters lateon --each
same "iters: the iterations to which others waited long for a rank" "[4, 8, 12]" "$(value lateon \
    "sorted({e['iteration'] for e in d[0]['each'] if e['peer_ns'] > 1000000})")"
same "their critical path is on the late rank" "[1, 0, 1]" "$(value lateon \
    "[max((e for e in d[0]['each'] if e['iteration'] == i), key=lambda e: e['critical_ns'])['rank']
      for i in (4, 8, 12)]")"
# A rank with a slower GPU: kernels of the same name and shape take longer.
slow=(iterations=20 layers=4 kernel=200 slow=1:25)
play slow 3 -- "${slow[@]}"
play clock 3 MINIPROF_SAMPLE=sm_clock@100kHz 1@SIMGPU_CLOCK_PERCENT=80 -- "${slow[@]}"
play busy 3 MINIPROF_SAMPLE=sm_clock@100kHz -- "${slow[@]}"
play equal 3 -- iterations=20 layers=4 kernel=200
documents advise equal
taken=$(value equal "d[0]['step_mean_ns']")
same "equal GPUs: none is slower" 0 \
    "$(value equal "sum(f['rule'] in ('slowed_gpu', 'slower_clocks') for f in d[0]['findings'])")"
short='(lambda ratio: ratio and round(float(ratio), 3))'
for name in slow busy clock; do
    rule=slowed_gpu ratio=None
    [ $name = busy ] && ratio=1.0
    [ $name = clock ] && rule=slower_clocks ratio=0.8
    documents advise $name
    found="next(f for f in d[0]['findings']
        if f['rule'] in ('slowed_gpu', 'slower_clocks'))"
    same "$name: advise names the rule, the rank, and how much slower it is" \
        "$rule 1 1.25 $ratio" "$(value $name "' '.join(map(str, (
            $found['rule'], int($found['numbers']['rank']),
            round($found['numbers']['kernel_ratio'], 2),
            $short($found['numbers'].get('clock_ratio')))))")"
    foreseen=$(value $name "d[0]['step_mean_ns'] - $found['gain_ns']")
    check "$name: as fast as the others it takes what it takes: $foreseen of $taken ns" \
        within 2 "$foreseen" "$taken"
    documents report $name
    same "$name: report names the rank and its cause" "1 kernel spin 1.25 $ratio" \
        "$(value $name "' '.join(map(str, (d['job']['late_rank'], d['job']['cause'],
            d['job']['activity'], round(d['job']['kernel_ratio'], 2),
            $short(d['job']['clock_ratio']))))")"
    deps $name --one-clock
    same "$name: the path is on this rank" 1 \
        "$(value $name "max(d['by_rank'], key=lambda r: r['critical_ns'])['rank']")"
done
play stage 3 -- iterations=6 pipeline=1 microbatches=8 kernel=300 slow=1:200
documents advise stage
same "a stage on a slower GPU has no more work than others" "slowed_gpu" \
    "$(value stage "' '.join(f['rule'] for f in d[0]['findings']
                             if f['rule'] in ('uneven_stages', 'slowed_gpu'))")"
documents advise uneven
same "and one with more work is on no slower GPU" "uneven_stages" \
    "$(value uneven "' '.join(f['rule'] for f in d[0]['findings']
                              if f['rule'] in ('uneven_stages', 'slowed_gpu'))")"
deps uneven --one-clock
same "the path is on the stage with more work" 1 \
    "$(value uneven "max(d['by_rank'], key=lambda r: r['critical_ns'])['rank']")"

# A late host in a pipeline.
play lazy 3 -- iterations=6 pipeline=1 microbatches=8 $(seq -f 'late=1:%g:3:host:3000' 0 5)
documents report lazy
same "a pipeline: its host makes a rank late" "1 host microbatch" \
    "$(value lazy "' '.join(map(str, (d['job']['late_rank'], d['job']['cause'],
                                      d['job']['activity'])))")"
deps lazy --one-clock
same "and the path is on that rank" 1 \
    "$(value lazy "max(d['by_rank'], key=lambda r: r['critical_ns'])['rank']")"

# NCCL that waits for peers is no work: the GPU is idle for a cause of its own.
documents iters lateon
same "iters: a rank waits for peers as the job has it" 0 "$(value lateon \
    "round(d[0]['by_rank'][0]['peer_idle_mean_ns'] -
           d[1]['statistics']['idle_peer_ns']['mean'])")"
documents iters fineon
busy=$(value fineon "d[1]['statistics']['busy_ns']['mean']")
documents iters lateon
check "the delays do not make the others' GPUs busier: $busy ns" \
    within 2 "$(value lateon "d[3]['statistics']['busy_ns']['mean']")" "$busy"
documents report lateon
check "report: idle for peers" [ "$(value lateon "int(d['time']['idle_peer_ns'])")" -gt 0 ]
documents iters alone
same "one rank alone does not know it" None "$(value alone "d['statistics']['idle_peer_ns']")"
check "and its NCCL is busy" [ "$(value alone "int(d['statistics']['busy_ns']['mean'] - $busy)")" \
    -gt 190000 ]
documents overlap lateon
peers=$(value lateon "d[2]['devices'][0]['idle_peer_ns']")
waited=$("$miniprof" ranks --one-clock --json lateon | python3 -c "import json, sys
print(round(json.load(sys.stdin)['ranks'][2]['waiting_ns']))")
same "overlap: rank 2 is idle for peers as long as ranks says" "$waited" "$peers"
same "and its NCCL is busy for the transfers" True "$(value lateon \
    "d[2]['devices'][0]['busy_ns'] + d[2]['devices'][0]['idle_ns'] == d[2]['window_ns'] and
     d[2]['devices'][0]['idle_ns'] >= $peers")"
documents overlap alone
same "overlap of one rank alone does not know it" None "$(value alone \
    "d['devices'][0]['idle_peer_ns']")"

documents iters lateon --iteration=99
same "an iteration that is not there" 2 $status

# ---- Bad input ----

mkdir missing one two
cp lateon/rank[01].mpt missing
deps missing --one-clock
same "a rank is missing: the others are joined" "2 1" \
    "$(value missing "len(d['by_rank'])") $(value missing "d['communicators'][0]['missing_ranks']")"
cp lateon/rank0.mpt one
deps one --one-clock
same "one rank alone is no job" "0 False" "$status $(value one "'by_rank' in d")"
cp lateon/rank[01].mpt two
cp latenvtx/rank1.mpt two/other.mpt
deps two --one-clock
same "two jobs with one communicator: an exit code, and the first is joined" "1 2" \
    "$status $(value two "len(d['by_rank'])")"

same "who is left out is said" "none of its operations of NCCL matched: it is not part of the job" \
    "$(value two "''.join(p['warning'] or '' for p in d['processes'])")"

play windows 3 MINIPROF_CAPTURE=range -- iterations=12 layers=2 late=1:5:0:host:2000 \
    window=0:0:9 window=1:3:11 window=2:2:8
deps windows --one-clock
same "windows that differ: an exit code, and one job" "1 3" \
    "$status $(value windows "len(d['by_rank'])")"
deps windows --one-clock --range=1
same "a capture range of all ranks is one window" "1 1 0" \
    "$status $(value windows "len(d['windows'])") $(value windows \
        "d['windows'][0]['window_ns'] - sum(r['critical_ns'] for r in d['by_rank'])")"
deps windows --one-clock --range=2
same "a range that is not there" 2 $status
deps lateon --one-clock --gains=3 --parts
same "gains are of names with their ranks" True \
    "$(value lateon "all(g['name'].startswith('rank') for g in d['top'])")"
same "rows and parts sum up to the window" 0 "$(value lateon \
    "d['window_ns'] - sum(r['critical_ns'] for r in d['rows'])")"
SIMNCCL_TIMEOUT_MS=2000 play killed 3 -- iterations=8 layers=2 late=1:2:0:host:2000 die=2:5:0
deps killed --one-clock
same "a killed rank: an exit code" 1 "$status"
check "and what it did until then" [ "$(value killed "d['by_rank'][0]['peer_ns']")" -ge 1900000 ]
play silent 2 MINIPROF_NCCL=nvtx NCCL_NVTX_DISABLE=1 -- iterations=4 layers=2 late=1:2:0:host:2000
deps silent --one-clock
check "nobody told the communicators: kernels in their order" \
    [ "$(value silent "d['by_rank'][0]['peer_ns']")" -ge 1900000 ]

"$miniprof" deps --one-clock --what-if=rank7:late=0 lateon >/dev/null 2>lateon.err
same "a rank that is not there" 2 $?
check "is said" grep -q "rank7:late" lateon.err
"$miniprof" deps --one-clock --iterations=nowhere lateon >/dev/null 2>lateon.err
same "iterations that are not there" 2 $?
check "are said" grep -q "no NVTX range 'nowhere'" lateon.err

# Whatever a byte says, and wherever a file ends, there is an answer or a line on stderr.
mkdir broken
cp graph/rank0.mpt broken
odd=0
size=$(stat -c %s graph/rank1.mpt)
for ((at = 40; at < size; at += 211)); do
    head -c $at graph/rank1.mpt >broken/cut.mpt
    "$miniprof" deps --json --what-if=late=0 broken >broken.json 2>/dev/null
    [ $? -le 3 ] || odd=$((odd + 1))
    cp graph/rank1.mpt broken/cut.mpt
    printf '\xff' | dd of=broken/cut.mpt bs=1 seek=$at conv=notrunc status=none
    "$miniprof" deps --json --what-if=late=0 --gains=3 broken >broken.json 2>/dev/null
    [ $? -le 3 ] && ! grep -qiE '[^a-z](nan|inf)[^a-z]' broken.json || odd=$((odd + 1))
done
same "cut and changed files" 0 $odd

finish
