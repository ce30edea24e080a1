"""What the PyTorch samples share: options, NVTX ranges, the CUDA graph, the inference loop.

Only the inference loop lies between torch.cuda.profiler.start() and stop(), as a TensorRT user
would do it; model construction, warm-up, cuDNN's algorithm search and graph capture stay outside.
Every iteration is one NVTX range "iteration", every leaf module one NVTX range named after it.
"""
import argparse
import pathlib
import sys
import time

import torch

try:
    from miniprof import mark_layers
except ImportError:  # not installed: the source tree's
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools/python"))
    from miniprof import mark_layers


def make_parser(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--mode", choices=("eager", "graph"), default="eager")
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--warmup", type=int, default=10)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--search", action="store_true",
                        help="let cuDNN time its algorithms first; then the kernels differ by run")
    parser.add_argument("--no-layers", action="store_true", help="no NVTX range per layer")
    parser.add_argument("--torch-profiler", metavar="FILE",
                        help="run the loop under torch.profiler and write its Chrome trace there")
    parser.add_argument("--time", action="store_true", help="print iteration times to stderr")
    return parser


def capture_graph(model, device_input):
    """The forward pass as one CUDA graph; returns it with its output tensor."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            model(device_input)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = model(device_input)
    return graph, output


class Inference:
    """One iteration: input to the device, forward pass, scores back, synchronise.

    make_model(): the model, on the host; make_input(arguments): a batch for it; classes: scores
    that it gives for each of the batch.
    """

    def __init__(self, arguments, make_model, make_input, classes):
        torch.manual_seed(arguments.seed)
        torch.backends.cudnn.benchmark = arguments.search
        self.model = make_model().eval().cuda()
        if not arguments.no_layers:
            mark_layers(self.model)
        self.host_input = make_input(arguments).pin_memory()
        self.device_input = torch.empty_like(self.host_input, device="cuda")
        self.scores = torch.empty(arguments.batch, classes).pin_memory()
        self.graph = None
        if arguments.mode == "graph":
            self.device_input.copy_(self.host_input)
            self.graph, self.graph_output = capture_graph(self.model, self.device_input)

    def forward(self):
        if self.graph is None:
            return self.model(self.device_input)
        self.graph.replay()
        return self.graph_output

    def iterate(self):
        torch.cuda.nvtx.range_push("iteration")
        self.device_input.copy_(self.host_input, non_blocking=True)
        self.scores.copy_(self.forward(), non_blocking=True)
        torch.cuda.current_stream().synchronize()
        torch.cuda.nvtx.range_pop()


def run_loop(inference, iterations):
    times = []
    for _ in range(iterations):
        begin = time.perf_counter()
        inference.iterate()
        times.append(time.perf_counter() - begin)
    return times


def profiled_loop(inference, arguments):
    """The inference loop, inside the profiler that was asked for."""
    if arguments.torch_profiler:
        activities = [torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities) as profiler:
            times = run_loop(inference, arguments.iterations)
        profiler.export_chrome_trace(arguments.torch_profiler)
        return times
    torch.cuda.profiler.start()
    times = run_loop(inference, arguments.iterations)
    torch.cuda.profiler.stop()
    return times


def run(name, arguments, make_inference):
    """The program: make_inference(arguments) gives the Inference."""
    if not torch.cuda.is_available():
        sys.exit(f"{name}.py: PyTorch finds no CUDA device")
    with torch.no_grad():
        inference = make_inference(arguments)
        run_loop(inference, arguments.warmup)
        times = sorted(profiled_loop(inference, arguments))
    print(f"{name} {arguments.mode}: {arguments.iterations} iterations,"
          f" class {int(inference.scores.argmax())}")
    if arguments.time:
        middle = times[len(times) // 2]
        print(f"iteration p50 {middle * 1e3:.3f} ms, min {times[0] * 1e3:.3f} ms,"
              f" max {times[-1] * 1e3:.3f} ms", file=sys.stderr)
