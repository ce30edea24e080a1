#!/usr/bin/env python3
"""Launches from known depths, and layers that note their own stack. Needs a GPU and PyTorch; what
torch.compile generates needs a compiler for Triton too, and is left out with a line without one.

    stacks.py depths FILE       FILE: [depth, [ns of each launch]] for each block of launches; the
                                launches of the blocks are the only ones in the capture range
    stacks.py truth FILE        eager layers, then a compiled function; FILE: {"eager": the stack of
                                each forward(), "compiled": the stacks of the calls of the compiled
                                function, "generated": the folder of the code that it runs}
"""
import json
import os
import sys
import time
import traceback

import torch

COUNT, ROUNDS = 500, 40


def deeper(depth, call):
    return deeper(depth - 1, call) if depth else call()


def launches(one):
    """ns of each of COUNT launches."""
    clock, stamps = time.perf_counter_ns, []
    for _ in range(COUNT):
        stamps.append(clock())
        one.add_(1)
    stamps.append(clock())
    return [after - before for before, after in zip(stamps, stamps[1:])]


def depths(path):
    sys.setrecursionlimit(5000)
    one = torch.zeros(1, device="cuda")
    launches(one)
    torch.cuda.synchronize()
    blocks = []
    torch.cuda.profiler.start()
    for _ in range(ROUNDS):
        for depth in (10, 30, 100):
            blocks.append([depth, deeper(depth, lambda: launches(one))])
            torch.cuda.synchronize()
    torch.cuda.profiler.stop()
    with open(path, "w") as file:
        json.dump(blocks, file)


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


def scaled(x):
    return torch.relu(x * 2 + 1)


def compiled_or_none(generated, data):
    """The function, compiled and called once; Inductor writes its code to that folder."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = generated
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    try:
        function = torch.compile(scaled)
        function(data)
    except Exception as error:  # whatever compilers say
        print(f"skipped: torch.compile: {type(error).__name__}: {str(error).splitlines()[:1]}")
        return None
    return function


def call_compiled(function, data):
    """The stack from which its kernels are launched, as far as the program knows it."""
    stack = traceback.extract_stack(); function(data)  # on one line
    return [[entry.name, entry.filename, entry.lineno] for entry in reversed(stack)]


def truth(path):
    layers = torch.nn.Sequential(*(Layer() for _ in range(20)))
    data = torch.rand(64, device="cuda")
    generated = path + ".generated"
    with torch.no_grad():
        function = compiled_or_none(generated, data)
        layers(data)
        torch.cuda.synchronize()
        lines.clear()
        torch.cuda.profiler.start()
        for _ in range(10):
            layers(data)
        told = [call_compiled(function, data) for _ in range(10)] if function else []
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()
    with open(path, "w") as file:
        json.dump({"eager": lines, "compiled": told, "generated": generated}, file)


{"depths": depths, "truth": truth}[sys.argv[1]](*sys.argv[2:])
