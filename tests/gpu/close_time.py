#!/usr/bin/env python3
"""The program of close_time.sh: launches kernels one by one and ends the recording.

    close_time.py range KERNELS          between cudaProfilerStart and cudaProfilerStop
    close_time.py torch KERNELS FILE     in a session of torch.profiler, exported as FILE

Prints lines NAME|NUMBER, in ns of the realtime clock: stop, right before the call that ends the
recording; returned, right after it; complete, when torch.profiler has written FILE. The program
ends right after that, so a tool that finishes its file then can do so.

The software GPU (SIMGPU) has no CUDA runtime: the driver's own calls are used there.
"""
import ctypes
import glob
import os
import sys
import sysconfig
import time

PTX = b"""
.version 6.0
.target sm_50
.address_size 64
.visible .entry empty() { ret; }
"""


def fail(text):
    sys.exit(f"close_time.py: {text}")


def check(result, call):
    if result:
        fail(f"{call}: error {result}")


class Load:
    """Launches of an empty kernel in the primary context, which PyTorch uses too."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        module, self.kernel = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.call("cuModuleLoadData", ctypes.byref(module), PTX)
        self.call("cuModuleGetFunction", ctypes.byref(self.kernel), module, b"empty")
        self.run(100)

    def call(self, name, *arguments):
        check(getattr(self.cuda, name)(*arguments), name)

    def run(self, kernels):
        launch = self.cuda.cuLaunchKernel
        launch.argtypes = [ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3]
        for _ in range(kernels):
            if launch(self.kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None):
                fail("cuLaunchKernel failed")
        self.call("cuCtxSynchronize")


def profiler_calls(load):
    """cudaProfilerStart and Stop of the CUDA runtime of the toolkit or of PyTorch."""
    if "SIMGPU" in os.environ:
        return load.cuda.cuProfilerStart, load.cuda.cuProfilerStop
    folders = ["/usr/local/cuda*/lib64", *(f"{sysconfig.get_path(name)}/nvidia/*/lib"
                                           for name in ("purelib", "platlib"))]
    names = [name for folder in folders for name in sorted(glob.glob(f"{folder}/libcudart.so*"))]
    for name in ["libcudart.so", "libcudart.so.13", "libcudart.so.12", *names]:
        try:
            runtime = ctypes.CDLL(name)
        except OSError:
            continue
        if runtime.cudaFree(None) == 0:
            return runtime.cudaProfilerStart, runtime.cudaProfilerStop
    return fail("no CUDA runtime: neither the toolkit's nor PyTorch's")


def say(name):
    print(name, time.time_ns(), sep="|", flush=True)


def run_range(kernels):
    load = Load()
    start, stop = profiler_calls(load)
    check(start(), "cudaProfilerStart")
    load.run(kernels)
    say("stop")
    result = stop()
    say("returned")
    check(result, "cudaProfilerStop")


def run_torch(kernels, path):
    import torch
    torch.zeros(1, device="cuda")
    load = Load()
    profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])
    profiler.start()
    load.run(kernels)
    say("stop")
    profiler.stop()
    say("returned")
    profiler.export_chrome_trace(path)
    say("complete")


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "range":
        run_range(int(sys.argv[2]))
    elif len(sys.argv) == 4 and sys.argv[1] == "torch":
        run_torch(int(sys.argv[2]), sys.argv[3])
    else:
        fail("usage: close_time.py range KERNELS | torch KERNELS FILE")


if __name__ == "__main__":
    main()
