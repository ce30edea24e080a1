#!/usr/bin/env python3
"""Two spawned worker processes that each train on their own numbers. The first process does no work
on the GPU. Each worker says its own truth. Iterations have no names.
"""
import multiprocessing

import zoo

WORKERS, ITERATIONS, SIZE = 2, 60, 256


def work(number, everybody):
    torch = zoo.need_torch()
    torch.manual_seed(number)
    model = torch.nn.Sequential(*(part for _ in range(4) for part in
                                  (torch.nn.Linear(SIZE, SIZE), torch.nn.ReLU()))).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    data = torch.randn(64, SIZE, device="cuda")

    def step():
        optimizer.zero_grad()
        model(data).square().mean().backward()
        optimizer.step()
        torch.cuda.synchronize()

    zoo.timed(10, step)
    everybody.wait(60)
    with zoo.torch_profiler():
        seconds = zoo.timed(ITERATIONS, step)
    everybody.wait(60)
    zoo.say_truth(seconds)


def main():
    context = multiprocessing.get_context("spawn")
    everybody = context.Barrier(WORKERS)
    workers = [context.Process(target=work, args=(i, everybody)) for i in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    codes = {worker.exitcode for worker in workers}
    raise SystemExit(max(abs(code) for code in codes))


if __name__ == "__main__":
    main()
