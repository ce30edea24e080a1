"""Marks parts of a program while it is recorded: NVTX ranges, layers, and what to record."""
import contextlib
import ctypes
import os
import re
import warnings
from typing import Any, List, Optional

from . import _nvtx
from ._errors import MiniprofWarning


class range(contextlib.ContextDecorator):  # pylint: disable=redefined-builtin,invalid-name
    """An NVTX range around a block or a function:

        with miniprof.range("iteration"): ...
        @miniprof.range("decode", domain="server")

    Without a profiler it does nothing.
    """

    def __init__(self, name: str, domain: Optional[str] = None):
        self.name, self.domain = str(name), domain
        self._told: List[bool] = []

    def _recreate_cm(self) -> "range":
        return range(self.name, self.domain)

    def __enter__(self) -> "range":
        self._told.append(_nvtx.push(self.name, self.domain))
        return self

    def __exit__(self, *_: object) -> None:
        if self._told.pop():
            _nvtx.pop(self.domain)


def mark_layers(model: Any, domain: Optional[str] = None) -> List[Any]:
    """An NVTX range around the forward of each leaf module of a PyTorch model, named after it.
    Returns the hooks; each has remove()."""
    def begin(name: str) -> Any:
        def hook(_module: Any, _inputs: Any) -> None:  # what it returned would replace the inputs
            told.append(_nvtx.push(name, domain))
        return hook

    def end(_module: Any, _inputs: Any, _output: Any) -> None:
        if told and told.pop():
            _nvtx.pop(domain)

    told: List[bool] = []
    hooks = []
    for name, module in model.named_modules():
        if not list(module.children()):
            hooks += [module.register_forward_pre_hook(begin(name)),
                      module.register_forward_hook(end)]
    return hooks


class profile(contextlib.ContextDecorator):  # pylint: disable=invalid-name
    """Records only what runs inside, by cudaProfilerStart and cudaProfilerStop:

        with miniprof.profile():
            for _ in iterations: ...

    It warns once and does nothing without a GPU, and where the process has neither a CUDA context
    nor a CUDA runtime, which makes one.
    """

    _begun = False

    def __enter__(self) -> "profile":
        self._begun = _profiler("Start")
        return self

    def __exit__(self, *_: object) -> None:
        if self._begun:
            _profiler("Stop")


def _runtime() -> Optional[str]:
    """The CUDA runtime that the process has loaded, such as PyTorch's."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
            found = re.search(r"(/\S*/libcudart[-.\w]*\.so[.\d]*)$", maps.read(), re.MULTILINE)
    except OSError:
        return None
    return found.group(1) if found else None


def _call(library: str, function: str) -> Optional[str]:
    """Why it failed; None if it did not."""
    try:
        loaded = ctypes.CDLL(library)
        if library == "libcuda.so.1":
            status = loaded.cuInit(0)
            if status:
                return f"cuInit says {status}"
        status = getattr(loaded, function)()
    except (OSError, AttributeError) as error:
        return str(error)
    return f"{function} says {status}" if status else None


def _profiler(what: str) -> bool:
    """Calls the runtime if there is one, since it makes a context if needed; else the driver.
    Whether that worked."""
    runtime = _runtime()
    if runtime:
        why = _call(runtime, f"cudaProfiler{what}")
    else:
        why = _call("libcuda.so.1", f"cuProfiler{what}")
    if why:
        warnings.warn(f"miniprof.profile does nothing, the process {os.getpid()} has no usable "
                      f"GPU or no CUDA context yet: {why}", MiniprofWarning, stacklevel=3)
    return not why
