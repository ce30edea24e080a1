#!/usr/bin/env python3
"""What a tool costs inside a PyTorch process: single calls (the loops of cost_loops.c) and
iterations of the models of samples/torch, in turn, in one capture range.

    cost_torch.py LIBCOST TOOL [--batches N] [--iterations N]

LIBCOST: libcost.so, or - where it was not built. TOOL: what is around the phase "inside": none;
range: cudaProfilerStart and Stop; torch: torch.profiler with CUDA activities; stacks:
torch.profiler with stacks. Prints lines
PHASE|KIND|NUMBER: medians in ns, of phase "model" in ms an iteration.
"""
import argparse
import contextlib
import ctypes
import pathlib
import statistics

import torch

import sys
sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "samples/torch"))
import bert  # pylint: disable=wrong-import-position
import loop  # pylint: disable=wrong-import-position

SLICES = 5  # of each model's iterations, so that none has the machine's slow moment to itself


class Calls:
    def __init__(self, path):
        self.library = None
        if path == "-":
            return
        self.library = ctypes.CDLL(path)
        self.library.cost_name.restype = ctypes.c_char_p
        self.library.cost_batch.restype = ctypes.c_double
        self.library.cost_open()

    def phase(self, name, batches):
        if not self.library:
            return
        count = self.library.cost_count()
        samples = [[] for _ in range(count)]
        for _ in range(batches):
            for kind in range(count):
                samples[kind].append(self.library.cost_batch(kind))
        for kind in range(count):
            print(name, self.library.cost_name(kind).decode(),
                  f"{statistics.median(samples[kind]):.1f}", sep="|")


def make_models():
    """An Inference for each model and mode, warmed up."""
    makers = {"BERT": (bert.make_inference, bert.make_parser())}
    try:
        import resnet50
        makers = {"ResNet-50": (resnet50.make_inference, resnet50.make_parser()), **makers}
    except ImportError as missing:
        print(f"no ResNet-50: {missing}", file=sys.stderr)
    models = {}
    for name, (make, parser) in makers.items():
        for mode in ("eager", "graph"):
            models[f"{name} {mode}"] = make(parser.parse_args(["--mode", mode]))
    for model in models.values():
        loop.run_loop(model, 10)
    return models


def run_models(models, iterations):
    times = {name: [] for name in models}
    for _ in range(SLICES):
        for name, model in models.items():
            times[name] += loop.run_loop(model, iterations // SLICES)
    for name, taken in times.items():
        print("model", name, f"{statistics.median(taken) * 1e3:.4f}", sep="|")


@contextlib.contextmanager
def capture_range():
    torch.cuda.profiler.start()
    yield
    torch.cuda.profiler.stop()


AROUND = {
    "none": contextlib.nullcontext,
    "range": capture_range,
    "torch": lambda: torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]),
    "stacks": lambda: torch.profiler.profile(with_stack=True),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library")
    parser.add_argument("tool", choices=AROUND)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--iterations", type=int, default=100)
    arguments = parser.parse_args()
    torch.zeros(1, device="cuda")
    calls = Calls(arguments.library)
    with torch.no_grad():
        models = make_models()
        calls.phase("before", arguments.batches)
        with AROUND[arguments.tool]():
            calls.phase("inside", arguments.batches)
            run_models(models, arguments.iterations)
        calls.phase("after", arguments.batches)


if __name__ == "__main__":
    main()
