"""A GPU for Python programs whose stacks are known: each call notes the stack that Python itself
tells at that point. At the end TRUTH, a file, has all of them, by thread and in order.
"""
import atexit
import ctypes
import json
import os
import sys
import threading
import traceback

cuda = ctypes.CDLL("libcuda.so.1")      # releases the GIL around each call
held = ctypes.PyDLL("libcuda.so.1")     # keeps it
calls = {}
PTX = b""".version 7.0
.target sm_70
.address_size 64
.visible .entry work() { ret; }
"""


def check(status):
    if status:
        raise RuntimeError("CUDA says %d" % status)


class Gpu:
    def __init__(self):
        self.context, self.module = ctypes.c_void_p(), ctypes.c_void_p()
        self.function, self.memory = ctypes.c_void_p(), ctypes.c_uint64()
        check(cuda.cuInit(0))
        check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), 0))
        self.bind()
        check(cuda.cuModuleLoadData(ctypes.byref(self.module), PTX))
        check(cuda.cuModuleGetFunction(ctypes.byref(self.function), self.module, b"work"))
        check(cuda.cuMemAlloc_v2(ctypes.byref(self.memory), ctypes.c_size_t(4096)))

    def bind(self):
        check(cuda.cuCtxSetCurrent(self.context))


gpu = None


def start():
    global gpu
    gpu = Gpu()


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def note(frame):
    """What Python says of the stack, by its frames and by traceback."""
    stack, at = [], frame
    while at:
        stack.append([name_of(at.f_code), at.f_code.co_filename, at.f_lineno or 0])
        at = at.f_back
    told = [[entry.name, entry.filename, entry.lineno or 0]
            for entry in reversed(traceback.StackSummary.extract(
                traceback.walk_stack(frame), lookup_lines=False))]
    told.reverse()
    if [entry[1:] for entry in told] != [entry[1:] for entry in stack]:
        raise RuntimeError("traceback and frames differ: %s %s" % (told, stack))
    calls.setdefault(threading.get_native_id(), []).append(stack)


# The note and the call stand on one line, so both have one stack.
def launch(api=cuda):
    size = (1,) * 6 + (0, None, None, None)
    check(note(sys._getframe()) or api.cuLaunchKernel(gpu.function, *size))


def copy(api=cuda):
    host = ctypes.create_string_buffer(64)
    check(note(sys._getframe()) or api.cuMemcpyHtoD_v2(gpu.memory, host, ctypes.c_size_t(64)))


def fill(api=cuda):
    check(note(sys._getframe()) or api.cuMemsetD8_v2(gpu.memory, 1, ctypes.c_size_t(64)))


def wait(api=cuda):
    check(note(sys._getframe()) or api.cuCtxSynchronize())


@atexit.register
def write():
    if "TRUTH" in os.environ and os.getpid() == int(os.environ.get("TRUTH_PID", os.getpid())):
        with open(os.environ["TRUTH"], "w") as file:
            json.dump(calls, file)
