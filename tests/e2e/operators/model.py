"""A model of two layers, three times; then a kernel of no operator. With `own`: a profiler of the
program's own in between. With `xla`: two kernels of an operator of XLA. With `graph`: an operator
that is captured, and launched three times."""
import ctypes
import sys

import miniprof
import torch
from torch.nn.modules import Linear, Sequential

cuda = torch.cuda_driver
PTX = b""".version 7.0
.target sm_70
.address_size 64
.visible .entry work() { ret; }
.visible .entry alone() { ret; }
"""


def check(status):
    if status:
        raise RuntimeError("CUDA says %d" % status)


def launch(function):
    check(cuda.cuLaunchKernel(function, *(1,) * 6, 0, None, None, None))


def entry(name):
    function = ctypes.c_void_p()
    check(cuda.cuModuleGetFunction(ctypes.byref(function), module, name))
    return function


context, module = ctypes.c_void_p(), ctypes.c_void_p()
check(cuda.cuInit(0))
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(cuda.cuCtxSetCurrent(context))
check(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
work, alone = entry(b"work"), entry(b"alone")
torch.kernel = lambda x: launch(work)
model = Sequential(first=Linear(), block=Sequential(second=Linear()))
for _ in range(3):
    model(None)
launch(alone)
check(cuda.cuCtxSynchronize())
if "own" in sys.argv:
    torch.autograd.profiler._enable_profiler(
        torch._C._profiler.ProfilerConfig("kineto", *(False,) * 6), set())
    model(None)
    torch._C._autograd._disable_profiler()
    model(None)
if "xla" in sys.argv:
    for _ in range(2):
        with miniprof.range("Thunk:#name=jit(f)/dot,hlo_op=fusion.3#", domain="TSL"):
            launch(work)
if "graph" in sys.argv:
    stream, graph, ready = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cuStreamCreate(ctypes.byref(stream), 1))
    check(cuda.cuStreamBeginCapture_v2(stream, 0))
    with miniprof.range("aten::mm"):
        check(cuda.cuLaunchKernel(work, *(1,) * 6, 0, stream, None, None))
    check(cuda.cuStreamEndCapture(stream, ctypes.byref(graph)))
    check(cuda.cuGraphInstantiateWithFlags(ctypes.byref(ready), graph, ctypes.c_uint64(0)))
    for _ in range(3):
        check(cuda.cuGraphLaunch(ready, stream))
    check(cuda.cuStreamSynchronize(stream))
print("done", sys.modules.get("sitecustomize") and
      getattr(sys.modules["sitecustomize"], "OWN", "none"))
