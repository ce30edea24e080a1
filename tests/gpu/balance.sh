#!/bin/bash
# A job of PyTorch with a planted fault, on all GPUs (two at least): what `advise FOLDER` says of it
# beside the same job without the fault. In turn, both recorded.
#
#     uneven    a pipeline whose rank 1 has twice the layers; mended: all have equally many
#     late      an all-reduce a layer, and 2 ms of host code of rank 1 in each step
#     slow      the same, and another process computes on rank 1's GPU
#
# Needs torch and the GPUs for itself. ROUNDS=n (3), CASES="uneven late slow". 15 s a run.
. "$(dirname "$0")/lib.sh"

have_torch || skip "no PyTorch with torchvision and CUDA"
ranks=$(nvidia-smi -L | wc -l)
[ "$ranks" -ge 2 ] || skip "one GPU"
rounds=${ROUNDS:-3}
read -ra cases <<<"${CASES:-uneven late slow}"
cd "$WORK" || exit 1

cat >job.py <<'PROGRAM'
import os, sys, time, torch, torch.distributed as dist
layers, late_us, pipeline = [int(n) for n in sys.argv[1].split(",")], int(sys.argv[2]), sys.argv[3]
rank, ranks, PARTS, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), 12, 4096
torch.cuda.set_device(rank)
dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
weights = [torch.randn(SIZE, SIZE, device="cuda").half() / 64 for _ in range(layers[rank])]
data = torch.randn(1024, SIZE, device="cuda").half()
def compute(state):
    for weight in weights:
        state = state @ weight
    return state
def stage():
    for _ in range(PARTS):
        state = data
        if rank:
            state = torch.empty_like(data)
            dist.recv(state, rank - 1)
        state = compute(state)
        if rank + 1 < ranks:
            dist.send(state, rank + 1)
def tensor():
    if rank == 1 and late_us:
        end = time.perf_counter() + late_us / 1e6
        while time.perf_counter() < end:
            pass
    for weight in weights:
        part = data @ weight
        dist.all_reduce(part)
def step():
    torch.cuda.nvtx.range_push("step")
    (stage if pipeline == "pipeline" else tensor)()
    dist.all_reduce(token)
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()
token = torch.zeros(1, device="cuda")
for _ in range(10):
    step()
torch.cuda.profiler.start()
begin = time.perf_counter()
for _ in range(40):
    step()
if not rank:
    print("step_us", (time.perf_counter() - begin) / 40 * 1e6)
torch.cuda.profiler.stop()
dist.destroy_process_group()
PROGRAM

cat >neighbour.py <<'PROGRAM'
import torch
torch.cuda.set_device(1)
one = torch.randn(4096, 4096, device="cuda").half()
print("ready", flush=True)
while True:
    for _ in range(20):
        one @ one
    torch.cuda.synchronize()
PROGRAM

# layers FIRST OTHER: of each rank; rank 1 has OTHER.
layers() {
    local list=$1 i
    for ((i = 1; i < ranks; i++)); do list+=,$([ $i = 1 ] && echo "$2" || echo "$1"); done
    echo "$list"
}

run_job() { # NAME LAYERS LATE_US HOW
    local folder=$1
    shift
    mkdir -p "$folder"
    timeout 120 "$BUILD/miniprof" run --no-summary --capture range -o "$folder/%p.mpt" -- \
        python3 -m torch.distributed.run --standalone --nproc-per-node "$ranks" job.py "$@" \
        >"$folder.out" 2>"$folder.err" || fail "$folder: $(tail -n 3 "$folder.err")"
    "$BUILD/miniprof" advise --json "$folder" >"$folder.json" || fail "$folder: no advice"
}

with_neighbour() { # COMMAND...
    python3 neighbour.py >neighbour.out &
    local pid=$!
    started+=("$pid")
    until grep -q ready neighbour.out; do sleep 0.2; done
    "$@"
    kill "$pid"
}

one_round() { # CASE ROUND
    local same=$((4 * ranks + 4))
    case $1 in
    uneven)
        run_job "$1.$2.fault" "$(layers 8 16)" 0 pipeline
        run_job "$1.$2.mended" "$(layers $((8 + 8 / ranks)) $((8 + 8 / ranks)))" 0 pipeline
        ;;
    late)
        run_job "$1.$2.fault" "$(layers $same $same)" 2000 tensor
        run_job "$1.$2.mended" "$(layers $same $same)" 0 tensor
        ;;
    slow)
        with_neighbour run_job "$1.$2.fault" "$(layers $same $same)" 0 tensor
        run_job "$1.$2.mended" "$(layers $same $same)" 0 tensor
        ;;
    esac
}

for ((round = 0; round < rounds; round++)); do
    for case in "${cases[@]}"; do one_round "$case" "$round"; done
done
[ -z "${KEEP:-}" ] || cp -r "$WORK"/*.fault "$KEEP"/
python3 - "$rounds" "${cases[@]}" <<'PROGRAM' || fail "see above"
import json, statistics, sys
wrong = []
print("| job | step, ms | late | cause | first finding | foreseen, ms | mended, ms | off |")
print("|---|---|---|---|---|---|---|---|")
for case in sys.argv[2:]:
    said = []
    for number in range(int(sys.argv[1])):
        faulty, mended = (json.load(open(f"{case}.{number}.{side}.json"))[0]
                          for side in ("fault", "mended"))
        fault, mended, findings = faulty["job"], mended["job"], faulty["findings"]
        gain = fault["balanced_gain_ns" if case == "uneven" else "in_time_gain_ns"] or 0
        before, after = fault["step_mean_ns"], mended["step_mean_ns"]
        said.append((before / 1e6, fault["late_rank"], fault["cause"],
                     findings[0]["rule"] if findings else "none",
                     (before - gain) / 1e6, after / 1e6, 100 * ((before - gain) / after - 1)))
    middle = [statistics.median(one[i] for one in said) for i in (0, 4, 5, 6)]
    ranks, causes, rules = ("/".join(sorted({str(one[i]) for one in said})) for i in (1, 2, 3))
    print(f"| {case} | {middle[0]:.2f} | rank {ranks} | {causes} | {rules} | {middle[1]:.2f} | "
          f"{middle[2]:.2f} | {middle[3]:+.1f} % |")
    if ranks != "1":
        wrong.append(f"{case}: late is rank {ranks}")
print("\n".join(wrong))
sys.exit(bool(wrong))
PROGRAM
ok "${#cases[@]} jobs of $ranks ranks"
