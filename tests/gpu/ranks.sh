#!/bin/bash
# Two ranks on two GPUs: the tensor-parallel and the pipeline-parallel sample under torchrun, with a
# late rank that they plant, by NCCL's plugin and by NVTX alone. Who came last, and by how much, is
# what the program says; "all arrive together" is what a run in time takes; and what recording
# costs. The last lines are tables. ROUNDS=n (5) of the cost, STEPS=n (60) of a run; KEEP=folder
# keeps what was recorded and said. Needs the GPUs for itself.
#
# With one GPU both ranks share it, if there is NVIDIA's Multi-Process Service: without it they take
# turns of 2 ms. NCCL refuses two ranks on a GPU of one host, so each names a host of its own, and
# data goes through sockets. Who came last holds there too; times are not those of two GPUs.
#
# On the software GPU (SIMGPU=1) tests/e2e/programs/ranks plays the jobs; that tries the script.
. "$(dirname "$0")/lib.sh"

rounds=${ROUNDS:-5}
steps=${STEPS:-60}
every=10
late_ms=${LATE_MS:-2}
arithmetic=$SOURCE/tests/gpu/ranks.py
miniprof=$BUILD/miniprof
export PYTHONDONTWRITEBYTECODE=1

if [ -n "${SIMGPU:-}" ]; then
    [ -x "$BUILD/tests/e2e/ranks" ] || skip "no $BUILD/tests/e2e/ranks"
    programs=(played)
    ranks_options=(--one-clock)
else
    python3 -c 'import sys, torch
import torch.distributed as dist
sys.exit(not (torch.cuda.is_available() and dist.is_nccl_available()))' 2>/dev/null ||
        skip "no PyTorch with NCCL that sees a GPU"
    programs=(tensor_parallel pipeline_parallel)
    ranks_options=()
fi

# start_ranks: what starts the two ranks of a program.
start_ranks=(python3 -m torch.distributed.run --standalone --nproc-per-node 2)
sizes=()

# share_gpu PROGRAM...: both ranks on device 0.
share_gpu() {
    local rank status=0
    local -a ranks=()
    export LOCAL_RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + $$ % 9999))
    export NCCL_SOCKET_IFNAME=lo
    for rank in 0 1; do
        RANK=$rank NCCL_HOSTID=host$rank python3 "$@" &
        ranks+=($!)
    done
    for rank in "${ranks[@]}"; do
        wait "$rank" || status=$?
    done
    return $status
}

if [ -z "${SIMGPU:-}" ] && [ "$(nvidia-smi -L | grep -c '^GPU')" -lt 2 ]; then
    command -v nvidia-cuda-mps-control >/dev/null || skip "one GPU, and no nvidia-cuda-mps-control"
    export CUDA_MPS_PIPE_DIRECTORY=$WORK/mps CUDA_MPS_LOG_DIRECTORY=$WORK/mps
    mkdir "$WORK/mps"
    nvidia-cuda-mps-control -f >"$WORK/mps/out" 2>&1 &
    started+=($!)
    sleep 2
    export -f share_gpu
    start_ranks=(bash -c 'share_gpu "$@"' share_gpu)
    sizes=(--hidden 1024 --tokens 256) # a part of the SMs for each rank
    export NEAR_MS=1 # a rank that is not late runs faster while the other one is
fi

# The rank that is late: of the pipeline the first one, which the others wait for.
late_rank_of() {
    [ "$1" = pipeline_parallel ] && echo 0 || echo 1
}

# program NAME PROGRAM late|in_time [COMMAND...]: starts the ranks, if need be by a command in front
# of it; what the program says is NAME.out.
program() {
    local name=$1 program=$2 which=$3 rank
    local -a late=()
    shift 3
    rank=$(late_rank_of "$program")
    if [ "$program" = played ]; then
        played "$name" "$which" "$@"
        return
    fi
    [ "$which" = in_time ] ||
        late=(--late-rank "$rank" --late-every "$every" --late-ms "$late_ms")
    timeout "${PROGRAM_SECONDS:-180}" "$@" "${start_ranks[@]}" \
        "$SOURCE/samples/torch/$program.py" --steps "$steps" "${sizes[@]}" "${late[@]}" \
        >"$WORK/$name.out" 2>"$WORK/$name.err"
}

# The same on the software GPU, in its own time. The delay is planted before a step's first layer.
played() {
    local name=$1 which=$2 step
    local -a plants=() late=()
    shift 2
    for ((step = every - 1; step < steps; step += every)); do
        late+=("$step")
        [ "$which" = in_time ] || plants+=("late=1:$step:0:host:${late_ms}000")
    done
    [ "$which" = late ] || late=()
    env -u SIMGPU_REAL_TIME "$@" "$SOURCE/tests/e2e/ranks/launch" 2 "$WORK/$name.played" -- \
        "$BUILD/tests/e2e/ranks" iterations="$steps" layers=4 kernel=400 "${plants[@]}" \
        >"$WORK/$name.err" 2>&1 || return
    python3 "$arithmetic" played "$WORK/$name.played/truth.csv" 1 "$late_ms" "${late[@]}" \
        >"$WORK/$name.out"
}

# record NAME PROGRAM late|in_time OPTION...: by `miniprof run`; the traces are in NAME/.
record() {
    local name=$1 program=$2 which=$3
    shift 3
    rm -rf "${WORK:?}/$name"
    program "$name" "$program" "$which" "$miniprof" run "$@" --no-summary -f \
        -o "$WORK/$name/%r.%p.mpt" --
}

need() { # WHAT NAME COMMAND...: or the script ends with what was said
    local what=$1 name=$2
    shift 2
    "$@" || fail "$what: exit status $?: $(tail -n 5 "$WORK/$name.err")"
}

keep() {
    [ -z "${KEEP:-}" ] || cp -r "$WORK"/* "$KEEP"/
}

# ---- Who came last -------------------------------------------------------------------------------

row() { # FILE CELL...
    local file=$WORK/$1
    shift
    (IFS='|' && echo "$*" | sed 's/|/ | /g; s/.*/| & |/') >>"$file"
}

compared=0
for program in "${programs[@]}"; do
    for told in on nvtx; do
        name=$program.$told
        need "$name" "$name" record "$name" "$program" late --nccl "$told"
        [ "$(ls "$WORK/$name"/*.mpt 2>/dev/null | wc -l)" -eq 2 ] ||
            fail "$name: not two traces: $(ls "$WORK/$name" 2>&1)"
        "$miniprof" ranks "${ranks_options[@]}" --json --trace "$WORK/$name" \
            >"$WORK/$name.ranks.json" 2>"$WORK/$name.notes"
        [ $? -le 1 ] || fail "$name: ranks: $(head -n 3 "$WORK/$name.notes")"
        keep
        cells=$(python3 "$arithmetic" compare "$WORK/$name.out" "$WORK/$name.ranks.json") ||
            fail "$name: $cells"
        row late "$program" "$told" "$cells"
        compared=$((compared + 1))
    done
done
ok "$compared jobs: who came last, and by how much"

# ---- All arrive together -------------------------------------------------------------------------

# what_if NAME: deps of both runs.
what_if() {
    local -a deps=("$miniprof" deps "${ranks_options[@]}" --json --iterations step)
    "${deps[@]}" --what-if late=0 "$WORK/$1.on" >"$WORK/$1.late.json" 2>"$WORK/$1.deps.err"
    [ $? -le 1 ] || return
    "${deps[@]}" "$WORK/$1.in_time" >"$WORK/$1.in_time.json" 2>>"$WORK/$1.deps.err"
    [ $? -le 1 ] && grep -q '"by_rank"' "$WORK/$1.late.json"
}

predicted=0
for program in "${programs[@]}"; do
    # The ranks of a pipeline come one behind the other in any case.
    [ "$program" != pipeline_parallel ] || continue
    need "$program in time" "$program.in_time" record "$program.in_time" "$program" in_time
    keep
    what_if "$program" || fail "$program: deps: $(head -n 3 "$WORK/$program.deps.err")"
    cells=$(python3 "$arithmetic" predict "$WORK/$program.on.out" "$WORK/$program.late.json" \
        "$WORK/$program.in_time.json") || fail "$program: $cells"
    row predicted "$program" "$cells"
    predicted=$((predicted + 1))
done
ok "$predicted predictions"

# ---- What recording costs ------------------------------------------------------------------------

# The P50 of a step without a late rank: alone, recorded without NCCL's calls, by NVTX, by the
# plugin too.
one_side() {
    local program name
    for program in "${programs[@]}"; do
        name=cost.$program
        if [ "$1" = alone ]; then
            need "$program alone" "$name" program "$name" "$program" in_time env
        else
            need "$program with --nccl $1" "$name" record "$name" "$program" in_time --nccl "$1"
        fi
        side ranks "$1" echo "$program|a step, P50|$(python3 "$arithmetic" number \
            "$WORK/$name.out" step_p50_ms)"
    done
}

ROUNDS=$rounds
while another_round 0; do in_turn one_side alone off nvtx on; done
ok "$rounds rounds of the cost"
keep

echo
echo "| program | told by | late steps right | off by, us (P50) | range, us | not matched |"
echo "|---|---|---|---|---|---|"
cat "$WORK/late"
echo
echo "| program | late step, ms | all arrive together | in time, ms | off by, % |"
echo "|---|---|---|---|---|"
cat "$WORK/predicted"
print_results ranks
