"""Signals of a program that is sampled: all of them are still its own. usage: MODE"""
import ctypes
import os
import signal
import sys
import threading
import time

import truth
from truth import launch

REAL_TIME = range(signal.SIGRTMIN, signal.SIGRTMAX + 1)
PROFILERS = signal.SIGRTMAX - 4
counts = {}


def compute(seconds=0.15):
    launch()
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))
    launch()


def count(number, frame):
    counts[number] = counts.get(number, 0) + 1


def take(numbers):
    for number in numbers:
        signal.signal(number, count)


def handler():
    own = (PROFILERS, PROFILERS - 1)
    take(own)
    compute()
    print("before", counts)
    for number in own:
        os.kill(os.getpid(), number)
    print("after", [counts.get(number) for number in own], len(counts))


def every():
    take(REAL_TIME)
    compute()
    print(counts)


def late():
    compute()
    signal.signal(PROFILERS, count)
    compute(0.4)
    counts.clear()
    compute()
    print(counts)


def killed():
    compute()
    os.kill(os.getpid(), PROFILERS)
    print("not reached")


def waits():
    """A thread that blocks all signals and awaits them gets none."""
    def worker():
        signal.pthread_sigmask(signal.SIG_BLOCK, REAL_TIME)
        truth.gpu.bind()
        compute()
        print(signal.sigtimedwait(REAL_TIME, 0.1))

    compute()
    thread = threading.Thread(target=worker)
    thread.start()
    thread.join()


def poll():
    """System calls that are not restarted after a signal: none fails."""
    libc = ctypes.CDLL(None, use_errno=True)
    compute(0.02)
    failed = 0
    for _ in range(150):
        end = time.thread_time() + 0.001
        while time.thread_time() < end:
            pass
        failed += libc.poll(None, 0, 2) != 0
    print(failed)


truth.start()
globals()[sys.argv[1]]()
