#!/usr/bin/env python3
"""ResNet-50 inference: the PyTorch program that miniprof is tried on.

Only the inference loop lies between torch.cuda.profiler.start() and stop(), as a TensorRT user
would do it; model construction, warm-up, cuDNN's algorithm search and graph capture stay outside.
Every iteration is one NVTX range "iteration", every leaf module one NVTX range named after it.

    CUDA_INJECTION64_PATH=libminiprof.so python3 samples/torch/resnet50.py --mode eager
    python3 samples/torch/resnet50.py --mode graph --torch-profiler loop.json   # the peer
"""
import argparse
import sys
import time

import torch
import torchvision


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
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
    return parser.parse_args()


def mark_layers(model):
    """One NVTX range per leaf module, pushed before its forward and popped after it."""
    def push(name):
        def hook(module, inputs):  # what it returned would replace the inputs
            torch.cuda.nvtx.range_push(name)
        return hook

    def pop(module, inputs, output):
        torch.cuda.nvtx.range_pop()

    for name, module in model.named_modules():
        if not list(module.children()):
            module.register_forward_pre_hook(push(name))
            module.register_forward_hook(pop)


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
    """One iteration: image to the device, forward pass, scores back, synchronise."""

    def __init__(self, arguments):
        torch.manual_seed(arguments.seed)
        torch.backends.cudnn.benchmark = arguments.search
        self.model = torchvision.models.resnet50(weights=None).eval().cuda()
        if not arguments.no_layers:
            mark_layers(self.model)
        self.host_input = torch.randn(arguments.batch, 3, 224, 224).pin_memory()
        self.device_input = torch.empty_like(self.host_input, device="cuda")
        self.scores = torch.empty(arguments.batch, 1000).pin_memory()
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


def main():
    arguments = parse_arguments()
    if not torch.cuda.is_available():
        sys.exit("resnet50.py: PyTorch finds no CUDA device")
    with torch.no_grad():
        inference = Inference(arguments)
        run_loop(inference, arguments.warmup)
        times = sorted(profiled_loop(inference, arguments))
    print(f"resnet50 {arguments.mode}: {arguments.iterations} iterations,"
          f" class {int(inference.scores.argmax())}")
    if arguments.time:
        middle = times[len(times) // 2]
        print(f"iteration p50 {middle * 1e3:.3f} ms, min {times[0] * 1e3:.3f} ms,"
              f" max {times[-1] * 1e3:.3f} ms", file=sys.stderr)


if __name__ == "__main__":
    main()
