#!/bin/bash
# Who was late in NCCL, by how much and why, on two GPUs: PyTorch with an all-reduce a layer, where
# rank 1 is late to the first one of a step in a way that the step's number says. Needs torch.
. "$(dirname "$0")/lib.sh"

have_torch || skip "no PyTorch with torchvision and CUDA"
[ "$(nvidia-smi -L | wc -l)" -ge 2 ] || skip "one GPU"
cd "$WORK" || exit 1

cat >job.py <<'PROGRAM'
import os, sys, time, torch, torch.distributed as dist
LAYERS, STEPS = 4, 80
rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
weights = torch.randn(2048, 2048, device="cuda")
data = torch.randn(2048, 2048, device="cuda")
small = torch.zeros(1 << 18, device="cuda")
host = torch.zeros(1 << 26, dtype=torch.uint8, pin_memory=True)
there = torch.zeros(1 << 26, dtype=torch.uint8, device="cuda")
def compute():
    end = time.perf_counter() + 0.002
    while time.perf_counter() < end:
        pass
def copy():
    there.copy_(host, non_blocking=True)
plants = {3: compute, 7: lambda: time.sleep(0.002),
          11: lambda: torch.cuda._sleep(4_000_000), 15: copy}
def step(number, planted):
    torch.cuda.nvtx.range_push("step")
    if planted and rank == 1 and number % 16 in plants:
        plants[number % 16]()
    for _ in range(LAYERS):
        torch.mm(data, weights)
        dist.all_reduce(small)
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_pop()
for number in range(20):
    step(number, False)
dist.barrier()
torch.cuda.synchronize()
torch.cuda.profiler.start()
for number in range(STEPS):
    step(number, True)
torch.cuda.profiler.stop()
dist.destroy_process_group()
PROGRAM

cat >check.py <<'PROGRAM'
import csv, sys
causes = {3: "host", 7: "blocked", 11: "kernel", 15: "copy"}
rows = [row for row in csv.DictReader(sys.stdin) if row["function"] == "AllReduce"]
planted = wrong = 0
for i in range(0, len(rows), 4):
    cause = causes.get(i // 4 % 16)
    if not cause:
        continue
    row = rows[i]
    planted += 1
    if (row["last_rank"], row["cause"]) != ("1", cause) or int(row["late_ns"]) < 500000:
        wrong += 1
        print(i // 4, cause, {key: row[key] for key in (
            "last_rank", "late_ns", "cause", "activity", "cause_ns")}, file=sys.stderr)
print(len(rows), planted, wrong)
PROGRAM

mkdir traces
timeout 300 "$BUILD/miniprof" run --capture range --no-summary -o "traces/%r.mpt" -- \
    python3 -m torch.distributed.run --nproc-per-node 2 --master-port 29551 job.py \
    >job.out 2>job.err || fail "the job: $(tail -n 3 job.err)"
ok "the job"
"$BUILD/miniprof" ranks traces >ranks.txt 2>&1 || fail "not all is matched: $(head -n 8 ranks.txt)"
ok "all operations are matched"
found=$("$BUILD/miniprof" ranks --csv --trace traces 2>notes.txt | python3 check.py 2>wrong.txt)
[ "$found" = "320 20 0" ] || fail "operations, planted, wrong: $found; $(head -n 4 wrong.txt)"
ok "20 planted operations: rank 1 is late, and why"
cat ranks.txt
