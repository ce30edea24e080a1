"""A model of two layers, three times; then a kernel of no operator. With `own`: a profiler of the
program's own in between."""
import ctypes
import sys

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
print("done", sys.modules.get("sitecustomize") and
      getattr(sys.modules["sitecustomize"], "OWN", "none"))
