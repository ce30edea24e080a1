#!/bin/bash
# Several processes and GPUs: a file each, told apart by rank, host and process id, and reports over
# all of them. What the programs run is known by construction.
. "$SOURCE/tests/e2e/lib.sh" || exit 1

# value EXPRESSION: python's value of it with the JSON on stdin as d.
value() {
    python3 -c "import json, sys; d = json.load(sys.stdin); print($1)"
}

# ---- two ranks on two GPUs, at the same time ---------------------------------------------------
mkdir job
for rank in 0 1; do
    start "rank$rank" SIMGPU_DEVICES=2 SIMGPU_REAL_TIME=1 RANK=$rank \
        MINIPROF_OUTPUT="$work/job/%r.%p.mpt" -- \
        "$steps" init device=$rank alpha=$((3 + rank)) beta=2 sync
    pids[rank]=$pid
done
for rank in 0 1; do
    wait "${pids[rank]}"
    same "rank $rank: exit code" 0 $?
done
same "a file each" "0.${pids[0]}.mpt 1.${pids[1]}.mpt" "$(echo $(ls job))"
"$miniprof" info --json job >info.json
same "info: exit code" 0 $?
same "info: ranks, processes, this host" "[0, 1] [${pids[0]}, ${pids[1]}] ['$(hostname)']" \
    "$(value '[p["rank"] for p in d["processes"]], [p["pid"] for p in d["processes"]],
              sorted({p["host"] for p in d["processes"]})' <info.json | tr -d '()' |
        sed 's/\], /] /g')"
same "info: the GPU that only rank 1 used differs from the first" True "$(value \
    'd["processes"][0]["devices"][0]["uuid"] != d["processes"][1]["devices"][-1]["uuid"]' \
    <info.json)"
same "info: ordinal 0 is the same GPU in both" True "$(value \
    'd["processes"][0]["devices"][0]["uuid"] == d["processes"][1]["devices"][0]["uuid"]' \
    <info.json)"
like "info: UUIDs that begin alike are shown by their end" \
    'GPU-\.\.[0-9a-f]{7}0.*GPU-\.\.[0-9a-f]{7}1' \
    "$("$miniprof" info job)"
# The clock is CLOCK_REALTIME here: both ran within the last minute.
same "info: times are ns since 1970" True "$(value 'all(0 < __import__("time").time() * 1e9 -
    p["first_ns"] < 60e9 for p in d["processes"])' <info.json)"

calls='{r["name"]: r["calls"] for r in d["groups"][0]["rows"]}'
"$miniprof" summary --merge --gpu --json job >merged.json
same "merged: kernels of both" "7 4" "$(value "$calls['alpha'], $calls['beta']" <merged.json |
    tr -d '(),')"
"$miniprof" summary --side-by-side --gpu --json job >beside.json
same "side by side: alpha" "[('rank 0', 3), ('rank 1', 4)]" "$(value \
    '[(p["process"], p["calls"]) for r in d["groups"][0]["rows"] if r["name"] == "alpha"
      for p in r["processes"]]' <beside.json)"
"$miniprof" gpu-trace --merge --json job >trace.json
same "one stream: all kernels, in order" "11 True" "$(value 'len(d["rows"]),
    [r["start_ns"] for r in d["rows"]] == sorted(r["start_ns"] for r in d["rows"])' <trace.json |
    tr -d '(),')"
same "one stream: each on its GPU" "[('rank 0', 0), ('rank 1', 1)]" \
    "$(value 'sorted({(r["process"], r["device"]) for r in d["rows"]})' <trace.json)"

# ---- a child that was forked and became another program ----------------------------------------
mkdir family
bare family CUDA_INJECTION64_PATH="$lib" SIMGPU_DEVICES=2 SIMGPU_REAL_TIME=1 \
    MINIPROF_OUTPUT="$work/family/%p.mpt" -- \
    "$steps" init alpha=4 sync fork-exec=init,device=1,beta=6,sync alpha=1 sync
same "fork and exec: exit code" 0 "$status"
"$miniprof" info --json family >info.json
same "fork and exec: two files" 2 "$(value 'len(d["processes"])' <info.json)"
same "fork and exec: the child's parent is the other one" 1 "$(value \
    'sum(p["ppid"] == q["pid"] for p in d["processes"] for q in d["processes"])' <info.json)"
"$miniprof" gpu-trace --merge --json family >trace.json
same "fork and exec: in order of time, the child in the middle" "alpha alpha alpha alpha \
beta beta beta beta beta beta alpha" "$(value '" ".join(r["name"] for r in d["rows"])' <trace.json)"
same "fork and exec: two processes" 2 \
    "$(value 'len({r["process"] for r in d["rows"]})' <trace.json)"
"$miniprof" summary --merge --gpu --json family >merged.json
same "fork and exec: merged" "5 6" "$(value "$calls['alpha'], $calls['beta']" <merged.json |
    tr -d '(),')"

# ---- a process that was killed, beside one that ended ------------------------------------------
mkdir cut
for end in sync raise=9; do
    bare "cut.$end" CUDA_INJECTION64_PATH="$lib" MINIPROF_OUTPUT="$work/cut/%p.mpt" -- \
        "$steps" init alpha=2 sync written "$end"
done
output=$("$miniprof" summary --merge cut)
same "killed: exit code" 1 $?
like "killed: the first line says which" '^======== Warning: pid [0-9]+: .*no index' "$output"
like "killed: the kernels of both" ' 4 .* alpha' "$output"

finish
