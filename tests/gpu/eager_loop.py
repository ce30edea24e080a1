#!/usr/bin/env python3
"""A PyTorch loop in eager mode, small kernels and a synchronisation each step.

    eager_loop.py [--iterations N] [--warmup N]

The loop lies between cudaProfilerStart and cudaProfilerStop. Prints the median of a step and the
loop's time in us. The zoo's line of truth has the median of the same steps as a CUDA graph, too,
which the program tries afterwards.
"""
import argparse
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../zoo"))

import zoo  # pylint: disable=wrong-import-position

torch = zoo.need_torch()


def main():
    parser = argparse.ArgumentParser(description="A PyTorch loop in eager mode.")
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--warmup", type=int, default=30)
    arguments = parser.parse_args()
    layers = [torch.nn.Linear(512, 512) for _ in range(32)]
    model = torch.nn.Sequential(*(part for layer in layers for part in (layer, torch.nn.ReLU())))
    model = model.cuda().eval()
    data = torch.randn(64, 512, device="cuda")
    steps = []
    with torch.no_grad():
        for i in range(-arguments.warmup, arguments.iterations):
            if i == 0:
                torch.cuda.profiler.start()
                loop = time.perf_counter()
            begin = time.perf_counter()
            model(data)
            torch.cuda.synchronize()
            if i >= 0:
                steps.append(time.perf_counter() - begin)
    loop = time.perf_counter() - loop
    torch.cuda.profiler.stop()
    print(f"step_us {statistics.median(steps) * 1e6:.1f}\nloop_us {loop * 1e6:.1f}")
    with torch.no_grad():
        graph = zoo.captured(torch, lambda: model(data))

    def replay():
        graph.replay()
        torch.cuda.synchronize()

    zoo.timed(10, replay)
    zoo.say_truth(steps, as_graph=zoo.timed(100, replay))


if __name__ == "__main__":
    main()
