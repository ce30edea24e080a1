"""What the Python programs of the zoo share: the profiler's switch, their own clock, and the line
that says what is true (docs/zoo.md). Nothing in it looks at miniprof.
"""
import contextlib
import ctypes
import math
import os
import sys
import time

SKIPPED = 77


def skip(why):
    """This machine cannot run the program."""
    print(f"skipped: {' '.join(str(why).split())}")
    sys.exit(SKIPPED)


@contextlib.contextmanager
def driver_profiler():
    """cuProfilerStart and Stop in the primary context of device 0, which all frameworks use."""
    cuda = ctypes.CDLL("libcuda.so.1")
    context, popped = ctypes.c_void_p(), ctypes.c_void_p()

    def call(name, *arguments):
        result = getattr(cuda, name)(*arguments)
        if result:
            raise SystemExit(f"{name}: error {result}")

    def switch(name):
        call("cuCtxPushCurrent_v2", context)
        call(name)
        call("cuCtxPopCurrent_v2", ctypes.byref(popped))

    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    switch("cuProfilerStart")
    try:
        yield
    finally:
        switch("cuProfilerStop")


@contextlib.contextmanager
def torch_profiler():
    """cudaProfilerStart and Stop by PyTorch, which has nothing left to do at either."""
    import torch  # pylint: disable=import-outside-toplevel
    torch.cuda.synchronize()
    torch.cuda.profiler.start()
    try:
        yield
    finally:
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()


def need_torch():
    """The module, with a GPU."""
    try:
        import torch  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        skip(error)
    if not torch.cuda.is_available():
        skip("PyTorch has no GPU")
    torch.manual_seed(1)
    return torch


def captured(torch, work):
    """A CUDA graph of `work`, after PyTorch's warm-up on a stream of its own."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph


def timed(iterations, step):
    """Seconds of each of so many calls of `step`."""
    seconds = []
    for _ in range(iterations):
        begin = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - begin)
    return seconds


def between(stamps):
    """Seconds from each stamp to the next one."""
    return [after - before for before, after in zip(stamps, stamps[1:])]


def percentile(values, percent):
    """The smallest value that so many percent of all do not exceed."""
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def say_truth(seconds, *, unit="iteration", clock="latency", name="-", kernels=None,
              as_graph=None):
    """The line of truth of this process. `seconds`: of each iteration or request. The clock ran
    for its `latency`, or from its begin to that of the next one (`step`). `as_graph`: seconds of
    each as a CUDA graph, where the program tried it, outside of what is measured."""
    words = [f"pid={os.getpid()}", f"unit={unit}", f"count={len(seconds)}",
             f"clock={clock}", f"p50_us={percentile(seconds, 50) * 1e6:.1f}",
             f"p90_us={percentile(seconds, 90) * 1e6:.1f}", f"name={name}"]
    if kernels is not None:
        words.append(f"kernels={kernels}")
    if as_graph:
        words.append(f"graph_p50_us={percentile(as_graph, 50) * 1e6:.1f}")
    print("truth " + " ".join(words), flush=True)
