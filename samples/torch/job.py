"""What the PyTorch samples of several ranks share: options, the group, the loop, and what is true.

torchrun starts each rank. Only the loop lies between torch.cuda.profiler.start() and stop(), and
all ranks begin it together. Every step is one NVTX range "step" and ends with a synchronisation.

A late rank can be planted: in every N-th step the host of that rank computes for some milliseconds
before it launches anything, as a slow data loader would. At the end rank 0 prints a line "truth"
and a JSON object: which steps were late, how many watched operations a step has, and how long
steps took.
"""
import argparse
import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist


def make_parser(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--warmup", type=int, default=10)
    parser.add_argument("--layers", type=int, default=8, help="of the whole model")
    parser.add_argument("--hidden", type=int, default=4096)
    parser.add_argument("--tokens", type=int, default=2048, help="in a batch or a microbatch")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--late-rank", type=int, default=-1, help="-1: none")
    parser.add_argument("--late-every", type=int, default=10, help="steps from one to the next")
    parser.add_argument("--late-ms", type=float, default=2.0)
    return parser


def late_steps(arguments):
    if arguments.late_rank < 0:
        return []
    return list(range(arguments.late_every - 1, arguments.steps, arguments.late_every))


def compute_on_host(milliseconds):
    end = time.perf_counter() + milliseconds / 1e3
    while time.perf_counter() < end:
        pass


def begin(name, arguments):
    """Joins the group; returns the rank."""
    if "RANK" not in os.environ:
        sys.exit(f"{name}.py: start it with torchrun --nproc-per-node 2 {name}.py")
    if not torch.cuda.is_available():
        sys.exit(f"{name}.py: PyTorch finds no CUDA device")
    if arguments.late_every < 1:
        sys.exit(f"{name}.py: --late-every takes 1 or more")
    local = int(os.environ["LOCAL_RANK"])
    if local >= torch.cuda.device_count():
        sys.exit(f"{name}.py: no GPU for local rank {local}; there are "
                 f"{torch.cuda.device_count()}")
    torch.cuda.set_device(local)
    dist.init_process_group("nccl", device_id=torch.device("cuda", local))
    torch.manual_seed(arguments.seed)
    return dist.get_rank()


def run_steps(step, arguments, late):
    times = []
    for number in range(arguments.steps):
        torch.cuda.nvtx.range_push("step")
        start = time.perf_counter()
        if number in late:
            compute_on_host(arguments.late_ms)
        step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e3)
        torch.cuda.nvtx.range_pop()
    return times


def profiled(step, arguments, rank):
    """The loop, warmed up, with all ranks at its begin; returns ms of each step."""
    for _ in range(arguments.warmup):
        step()
    torch.cuda.synchronize()
    dist.barrier()
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    late = set(late_steps(arguments)) if rank == arguments.late_rank else set()
    times = run_steps(step, arguments, late)
    torch.cuda.profiler.stop()
    return times


def median(values):
    return statistics.median(values) if values else None


def tell(name, arguments, times, watched):
    """What is true. `watched`: the operations whose lateness can be foretold."""
    late = late_steps(arguments)
    others = [ms for number, ms in enumerate(times) if number not in late]
    truth = {"program": name, "ranks": dist.get_world_size(), "steps": arguments.steps,
             "late_rank": arguments.late_rank, "late_ms": arguments.late_ms, "late_steps": late,
             "step_p50_ms": median(times), "step_mean_ms": statistics.mean(times),
             "step_in_time_p50_ms": median(others),
             "step_late_p50_ms": median([times[number] for number in late]), **watched}
    print("truth", json.dumps(truth), flush=True)


def run(name, arguments, make_step):
    """The program: make_step(arguments) gives a step, and what there is to watch in it."""
    rank = begin(name, arguments)
    step, watched = make_step(arguments)
    times = profiled(step, arguments, rank)
    if rank == 0:
        tell(name, arguments, times, watched)
    dist.barrier()
    dist.destroy_process_group()
