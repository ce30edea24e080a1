"""Launches while other threads make all that a walk reads come and go: garbage collection, modules
that are unloaded, functions that are freed, deep recursions, threads that end.
usage: churn.py FOLDER LAUNCHES [LIBRARY]
LIBRARY: build/bench/stacks.so, which takes 1,000 stacks in place of each launch, without the GIL.
"""
import ctypes
import gc
import importlib
import os
import sys
import threading

import truth
from truth import cuda

folder, launches = sys.argv[1], int(sys.argv[2])
done = threading.Event()
sys.path.insert(0, folder)
sys.dont_write_bytecode = True
for number in range(4):
    with open(os.path.join(folder, "churned%d.py" % number), "w") as file:
        file.write("import sys\ndef call(function, depth):\n    x = [sys, {}]\n    x.append(x)\n" +
                   "    y = 1\n" * number +
                   "    return call(function, depth - 1) if depth else function()\n" +
                   "".join("def f%d(): return %d\n" % (i, i) for i in range(60)))


def collect():
    while not done.is_set():
        gc.collect()


def unload():
    while not done.is_set():
        for number in range(4):
            module = importlib.import_module("churned%d" % number)
            module.call(lambda: None, 40)
            del module, sys.modules["churned%d" % number]


def recurse(depth=0):
    return recurse(depth + 1) if depth < 400 else depth


def deepen():
    while not done.is_set():
        recurse()
        scope = {}
        exec("def g(x):\n    yield x\n    yield from g(x - 1) if x else ()\n", scope)
        list(scope["g"](50))


def begin_and_end():
    while not done.is_set():
        thread = threading.Thread(target=one_call)
        thread.start()
        thread.join()


def call():
    if take:
        return take(1000)
    return cuda.cuMemsetD8_v2(truth.gpu.memory, 1, SIZE)


def one_call():
    truth.gpu.bind()
    call()


def generated(number):
    scope = {"call": call}
    exec("def f():\n%s    call()\n    yield 1\n" % ("    x = 1\n" * (number % 7)), scope)
    list(scope["f"]())


def main():
    truth.start()
    threads = [threading.Thread(target=work) for work in (collect, unload, deepen, begin_and_end)]
    sys.setswitchinterval(1e-4)
    for thread in threads:
        thread.start()
    made = 0
    while made < launches:
        module = importlib.import_module("churned%d" % (made % 4))
        for depth in range(8):
            module.call(call, depth * 8)
        generated(made)
        made += 9
    done.set()
    for thread in threads:
        thread.join()
    print("done")


take = ctypes.CDLL(sys.argv[3]).take_stacks if len(sys.argv) > 3 else None
SIZE = truth.ctypes.c_size_t(64)
main()
