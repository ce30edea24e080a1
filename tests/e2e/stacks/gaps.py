"""Known host code between launches: TOLD, a file, has the CPU time of each function."""
import ctypes
import gc
import hashlib
import json
import os
import sys
import threading
import time

import truth
from truth import launch

cpu = {}
quiet = ctypes.CDLL(None)


def until(seconds, work, *arguments):
    """Works for so much CPU time of the thread."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        work(*arguments)


def told(function):
    def timed():
        launch()
        before = time.thread_time_ns()
        function()
        cpu[function.__name__] = time.thread_time_ns() - before
        launch()
    return timed


@told
def python_loop():
    def turn():
        for i in range(1000):
            i * i
    until(0.3, turn)


@told
def collect():
    cycles = []
    for _ in range(20000):
        cycle = []
        cycle.append(cycle)
        cycles.append(cycle)
    until(0.2, gc.collect)


@told
def holds_gil():
    items = list(range(100000, 0, -1))
    until(0.2, sum, items)


@told
def frees_gil():
    until(0.2, hashlib.pbkdf2_hmac, "sha256", b"word", b"salt", 40000)


@told
def sleeps():
    time.sleep(0.4)


@told
def deep():
    def down(depth):
        if depth:
            return down(depth - 1)
        return until(0.1, sum, range(1000))
    down(200)


def launches():
    """Calls all the time: no gaps."""
    size = (1,) * 6 + (0, None, None, None)
    end = time.thread_time() + 0.2
    while time.thread_time() < end:
        for _ in range(20):
            truth.cuda.cuLaunchKernel(truth.gpu.function, *size)


def no_cuda():
    until(0.2, sum, range(1000))


def worker():
    truth.gpu.bind()
    python_loop()


def many(count):
    """More threads than can be sampled at a time, and again, so that places are used again."""
    def one():
        truth.gpu.bind()
        launch()
        until(0.02, sum, range(1000))
        launch()
    for _ in range(2):
        threads = [threading.Thread(target=one) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def fork():
    """Children compute, and end as they would; one of them starts another program."""
    launch()
    for number in range(10):
        pid = os.fork()
        if pid == 0:
            until(0.02, sum, range(1000))
            if number == 0:
                os.execvp("true", ["true"])
            os._exit(3)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code != (3 if number else 0):
            print("a child ended with", code)
    python_loop()


truth.start()
for name in sys.argv[1:]:
    name, _, argument = name.partition("=")
    if name == "thread":
        thread = threading.Thread(target=globals()[argument])
        thread.start()
        thread.join()
    elif argument:
        globals()[name](int(argument))
    else:
        globals()[name]()
with open(os.environ.get("TOLD", os.devnull), "w") as file:
    json.dump(cpu, file)
print("done")
