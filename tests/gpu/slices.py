#!/usr/bin/env python3
"""The models of cost_torch.py in slices, one for each line of stdin (lockstep.py).

    slices.py TOOL [ITERATIONS]

TOOL: what is around a slice, as cost_torch.py names it; once: one capture range around them all.
Prints KIND|MS for each model of a slice (p50 of its ITERATIONS, 8), then "done".
"""
import contextlib
import statistics
import sys

import torch

import cost_torch
from cost_torch import loop

WARM_UP = 2


def main():
    tool = sys.argv[1]
    iterations = int(sys.argv[2]) if sys.argv[2:] else 8
    around = contextlib.nullcontext if tool == "once" else cost_torch.AROUND[tool]
    with torch.no_grad():
        models = cost_torch.make_models()
        print("done", flush=True)
        with cost_torch.capture_range() if tool == "once" else contextlib.nullcontext():
            for _ in sys.stdin:
                with around():
                    for name, model in models.items():
                        taken = loop.run_loop(model, WARM_UP + iterations)[WARM_UP:]
                        print(name, f"{statistics.median(taken) * 1e3:.4f}", sep="|")
                print("done", flush=True)


if __name__ == "__main__":
    main()
