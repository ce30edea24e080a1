#!/usr/bin/env python3
"""A server of Python threads: a pool of eight, a stream each, answers requests that come in bursts.
A request copies its numbers to the GPU, multiplies, copies the answer back and waits for it. It is
timed from its first CUDA call until its thread has the answer. Requests have no names.
"""
import concurrent.futures
import threading
import time

import zoo

THREADS, BURSTS, BURST, SIZE = 8, 40, 16, 512
torch = zoo.need_torch()
mine = threading.local()


def set_up(weight, everybody):
    mine.stream = torch.cuda.Stream()
    mine.host = torch.empty(SIZE, SIZE, pin_memory=True)
    mine.weight = weight
    answer(0)
    everybody.wait()


def answer(number):
    mine.host.fill_(number)
    begin = time.perf_counter()
    with torch.cuda.stream(mine.stream):
        data = mine.host.to("cuda", non_blocking=True)
        for _ in range(4):
            data = data @ mine.weight
        mine.host.copy_(data, non_blocking=True)
    mine.stream.synchronize()
    seconds = time.perf_counter() - begin
    assert float(mine.host[0, 0]) == number
    return seconds


def main():
    weight = torch.eye(SIZE, device="cuda")
    torch.cuda.synchronize()
    # Each thread is there before the first request, since none goes on until all are.
    everybody = threading.Barrier(THREADS)
    with concurrent.futures.ThreadPoolExecutor(THREADS, "worker", set_up,
                                               (weight, everybody)) as pool:
        list(pool.map(answer, [1] * THREADS * 4))
        seconds = []
        with zoo.torch_profiler():
            for burst in range(BURSTS):
                seconds += pool.map(answer, range(burst, burst + BURST))
    zoo.say_truth(seconds, unit="request")


if __name__ == "__main__":
    main()
