"""A stand-in for PyTorch: what tools/python/startup/sitecustomize.py uses of it, with operators
that launch on the software GPU. Its ranges have the form of getNvtxStr."""
import ctypes
import types

from . import nn  # noqa: F401
from ._nvtx import pop, push

cuda_driver = ctypes.CDLL("libcuda.so.1")
enabled = []  # configurations, of the one thread that there is
calls = 0


def _enable_profiler(config, activities, scopes=()):
    if enabled:
        raise RuntimeError("Profiler is already enabled on this thread")
    enabled.append(config)


def _disable_profiler():
    enabled.pop()


class ProfilerConfig:
    def __init__(self, state, *flags):
        if len(flags) != 6:
            raise TypeError("six flags")
        self.state = state


_C = types.SimpleNamespace(
    _profiler=types.SimpleNamespace(ProfilerConfig=ProfilerConfig, _ExperimentalConfig=object,
                                    ProfilerState=types.SimpleNamespace(NVTX="nvtx", KINETO="k")),
    _autograd=types.SimpleNamespace(_enable_profiler=_enable_profiler,
                                    _disable_profiler=_disable_profiler))
autograd = types.SimpleNamespace(profiler=types.SimpleNamespace(
    _enable_profiler=_enable_profiler, _prepare_profiler=lambda *_: None))
cuda = types.SimpleNamespace(nvtx=types.SimpleNamespace(range_push=push, range_pop=pop))


def operator(name, function, *arguments):
    """Runs a function as an operator, which is told if that is switched on."""
    global calls
    calls += 1
    told = enabled and enabled[-1].state == "nvtx"
    if told:
        push("%s, seq = %d, op_id = %d" % (name, calls * 3, calls))
    try:
        return function(*arguments)
    finally:
        if told:
            pop()
