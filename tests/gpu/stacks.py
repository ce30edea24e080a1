#!/usr/bin/env python3
"""Launches from known depths, and models of samples/torch in eager mode: what a stack costs.

    stacks.py depths            DEPTH|NS lines: ns a launch, the median of 40 rounds of 500
    stacks.py model TOOL [MODE] MODEL|MS lines: ms an iteration; TOOL: none, torch (torch.profiler
                                with_stack); MODE: eager, graph
    stacks.py truth FILE        eager layers; FILE: the lines of which forward() was called
"""
import contextlib
import pathlib
import statistics
import sys
import time
import traceback

import torch

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "samples/torch"))
COUNT, ROUNDS = 500, 40


def deeper(depth, call):
    return deeper(depth - 1, call) if depth else call()


def launches():
    one = torch.zeros(1, device="cuda")
    begin = time.perf_counter_ns()
    for _ in range(COUNT):
        one.add_(1)
    taken = (time.perf_counter_ns() - begin) / COUNT
    torch.cuda.synchronize()
    return taken


def depths():
    sys.setrecursionlimit(5000)
    launches()
    torch.cuda.profiler.start()
    for depth in (10, 30, 100):
        taken = [deeper(depth, launches) for _ in range(ROUNDS)]
        print(depth, f"{statistics.median(taken):.0f}", sep="|")
    torch.cuda.profiler.stop()


def model(tool, mode="eager"):
    import loop
    import resnet50
    inference = resnet50.make_inference(loop.make_parser("").parse_args(["--mode", mode]))
    profiler = torch.profiler.profile(with_stack=True) if tool == "torch" else None
    with torch.no_grad():
        loop.run_loop(inference, 20)
        torch.cuda.profiler.start()
        with profiler or contextlib.nullcontext():
            times = loop.run_loop(inference, 200)
        torch.cuda.profiler.stop()
    print(f"ResNet-50 {mode}", f"{statistics.median(times) * 1e3:.4f}", sep="|")


class Layer(torch.nn.Module):
    """Notes the stack of each forward, whose launches come from the same line."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(64, device="cuda"))

    def forward(self, x):
        stack = traceback.extract_stack(); y = x * self.weight  # on one line
        lines.append([[entry.name, entry.filename, entry.lineno] for entry in reversed(stack)])
        return y


lines = []


def truth(path):
    import json
    layers = torch.nn.Sequential(*(Layer() for _ in range(20)))
    data = torch.rand(64, device="cuda")
    with torch.no_grad():
        layers(data)
        torch.cuda.synchronize()
        lines.clear()
        torch.cuda.profiler.start()
        for _ in range(10):
            layers(data)
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()
    with open(path, "w") as file:
        json.dump(lines, file)


{"depths": depths, "model": model, "truth": truth}[sys.argv[1]](*sys.argv[2:])
