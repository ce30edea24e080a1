"""A thread that calls no CUDA holds the interpreter lock while the main one wants it: TOLD, a file,
has its CPU time. With `quiet` nobody waits for it for long."""
import json
import os
import sys
import threading
import time

import truth
from truth import launch

ENOUGH_NS = 300_000_000  # CPU time until the main thread must have met the other one

cpu = {"hog": 0}
over = threading.Event()


def hog():
    while not over.is_set():
        for _ in range(10000):
            pass
        cpu["hog"] = time.thread_time_ns()
        if sys.argv[1:]:
            time.sleep(0.001)


def step():
    launch()
    time.sleep(0)  # leaves the lock
    launch()


def main():
    truth.start()
    sys.setswitchinterval(0.01)
    thread = threading.Thread(target=hog)
    thread.start()
    steps = 0
    while steps < 30 or cpu["hog"] < ENOUGH_NS and not sys.argv[1:]:
        step()
        steps += 1
    truth.wait()
    over.set()
    thread.join()
    with open(os.environ["TOLD"], "w") as file:
        json.dump(cpu, file)


main()
