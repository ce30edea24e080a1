"""A loop whose time lies in known lines: `load` copies from pageable memory, `step` launches."""
import ctypes

import truth
from truth import check, cuda, launch

truth.start()
host = ctypes.create_string_buffer(1 << 20)
memory = ctypes.c_uint64()
check(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(1 << 20)))


def load():
    check(cuda.cuMemcpyHtoD_v2(memory, host, ctypes.c_size_t(1 << 20)))


def step():
    load()
    for _ in range(3):
        launch()
    check(cuda.cuCtxSynchronize())


for _ in range(12):
    step()
