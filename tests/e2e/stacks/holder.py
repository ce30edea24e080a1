"""A thread that calls no CUDA holds the interpreter lock while the main one wants it: TOLD, a file,
has its CPU time. With `quiet` nobody waits for it for long."""
import json
import os
import sys
import threading
import time

import truth
from truth import launch

cpu = {}
over = threading.Event()


def hog():
    while not over.is_set():
        for _ in range(10000):
            pass
        if sys.argv[1:]:
            time.sleep(0.001)
    cpu["hog"] = time.thread_time_ns()


def step():
    launch()
    time.sleep(0)  # leaves the lock
    launch()


def main():
    truth.start()
    sys.setswitchinterval(0.01)
    thread = threading.Thread(target=hog)
    thread.start()
    for _ in range(30):
        step()
    truth.wait()
    over.set()
    thread.join()
    with open(os.environ["TOLD"], "w") as file:
        json.dump(cpu, file)


main()
