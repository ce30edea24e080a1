#!/usr/bin/env python3
"""What single calls cost in a process that torch.profiler looks at: the loops of loops.c, inside
Python. Prints the lines of cost.c, phases "before", "inside" and "after".

    cost_torch.py libcost.so ROUNDS none|torch|range      around the middle phase
"""
import contextlib
import ctypes
import statistics
import sys

import torch


class Loops:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.cost_name.restype = ctypes.c_char_p
        self.library.cost_batch.restype = ctypes.c_double
        torch.zeros(1, device="cuda")
        self.library.cost_open()

    def phase(self, name, rounds):
        count = self.library.cost_count()
        samples = [[] for _ in range(count)]
        for _ in range(rounds):
            for kind in range(count):
                samples[kind].append(self.library.cost_batch(kind))
        for kind in range(count):
            print(name, self.library.cost_name(kind).decode(),
                  f"{statistics.median(samples[kind]):.1f}", f"{min(samples[kind]):.1f}", sep="|")


@contextlib.contextmanager
def capture_range(library):
    library.cost_begin_range()
    yield
    library.cost_end_range()


def main():
    path, rounds, tool = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    loops = Loops(path)
    around = {
        "none": contextlib.nullcontext,
        "range": lambda: capture_range(loops.library),
        "torch": lambda: torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CUDA]),
    }[tool]
    loops.phase("before", rounds)
    with around():
        loops.phase("inside", rounds)
    loops.phase("after", rounds)


if __name__ == "__main__":
    main()
