#!/usr/bin/env python3
"""A loader with two worker processes and pinned memory. The copy of a batch runs on a stream of its
own, beside the work on the batch before. The host waits for a batch only when its memory is used
again, so iterations overlap. They have no names.
"""
import time

import zoo

ITERATIONS, WARMUP, BATCH, SIZE = 60, 10, 256, 2048
torch = zoo.need_torch()


class Numbers(torch.utils.data.Dataset):
    """Rows that are made as they are asked for."""

    def __len__(self):
        return (WARMUP + ITERATIONS) * BATCH

    def __getitem__(self, index):
        return torch.full((SIZE,), float(index % 7))


def main():
    weights = [torch.randn(SIZE, SIZE, device="cuda") / SIZE ** 0.5 for _ in range(8)]
    loader = torch.utils.data.DataLoader(Numbers(), BATCH, num_workers=2, pin_memory=True,
                                         prefetch_factor=4)
    copying, used = torch.cuda.Stream(), [torch.cuda.Event(), torch.cuda.Event()]
    stamps = []

    def step(number, batch):
        stamps.append(time.perf_counter())
        used[number % 2].synchronize()
        with torch.cuda.stream(copying):
            data = batch.to("cuda", non_blocking=True)
        torch.cuda.current_stream().wait_stream(copying)
        data.record_stream(torch.cuda.current_stream())
        for weight in weights:
            data = torch.relu(data @ weight)
        used[number % 2].record()

    batches = enumerate(loader)
    for _ in range(WARMUP):
        step(*next(batches))
    stamps.clear()
    with zoo.torch_profiler():
        for number, batch in batches:
            step(number, batch)
        stamps.append(time.perf_counter())
    zoo.say_truth(zoo.between(stamps), clock="step")


if __name__ == "__main__":
    main()
