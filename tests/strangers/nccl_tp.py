#!/usr/bin/env python3
"""Tensor parallel: each rank has its part of every layer, and NCCL adds the parts up after it. One
rank a GPU, two at most, each in its own process; with one GPU there is one rank, whose sums have
one part. Each says its own truth. Iterations have no names.
"""
import multiprocessing
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../zoo"))

import zoo  # pylint: disable=wrong-import-position

ITERATIONS, LAYERS, SIZE, TOKENS = 150, 24, 1024, 32


def work(rank, ranks, meeting):
    torch = zoo.need_torch()
    torch.manual_seed(rank)
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl", init_method=f"file://{meeting}", rank=rank,
                                         world_size=ranks)
    layers = [torch.nn.Sequential(torch.nn.LayerNorm(SIZE),
                                  torch.nn.Linear(SIZE, 4 * SIZE // ranks, bias=False),
                                  torch.nn.GELU(),
                                  torch.nn.Linear(4 * SIZE // ranks, SIZE, bias=False))
              for _ in range(LAYERS)]
    model = torch.nn.ModuleList(layers).cuda().half().eval()
    data = torch.linspace(-1, 1, SIZE, device="cuda").half().repeat(TOKENS, 1)  # of all ranks
    results = []

    def step():
        state = data
        for layer in model:
            part = layer(state)
            torch.distributed.all_reduce(part)
            state = state + part
        results[:] = [state]
        torch.cuda.synchronize()

    with torch.no_grad():
        zoo.timed(20, step)
        with zoo.torch_profiler():
            seconds = zoo.timed(ITERATIONS, step)
    assert bool(torch.isfinite(results[0]).all())
    zoo.say_truth(seconds)
    torch.distributed.destroy_process_group()


def main():
    torch = zoo.need_torch()
    if not torch.distributed.is_nccl_available():
        zoo.skip("PyTorch has no NCCL")
    ranks = min(2, torch.cuda.device_count())
    with tempfile.TemporaryDirectory() as folder:
        meeting = os.path.join(folder, "meeting")
        if ranks == 1:
            work(0, 1, meeting)
            return
        context = multiprocessing.get_context("spawn")
        processes = [context.Process(target=work, args=(rank, ranks, meeting))
                     for rank in range(ranks)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        raise SystemExit(max(abs(process.exitcode) for process in processes))


if __name__ == "__main__":
    main()
