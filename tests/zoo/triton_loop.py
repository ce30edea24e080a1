#!/usr/bin/env python3
"""Triton: eight pairs of kernels on PyTorch's memory, launched one by one. Iterations have no
names.
"""
import zoo

torch = zoo.need_torch()
try:
    import triton
    import triton.language as tl
except ImportError as error:
    zoo.skip(error)

ITERATIONS, PAIRS, ROWS, COLUMNS = 100, 8, 4096, 1024


@triton.jit
def add_relu(left, right, numbers, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < numbers
    value = tl.load(left + at, mask=inside) + tl.load(right + at, mask=inside)
    tl.store(left + at, tl.maximum(value, 0.0), mask=inside)


@triton.jit
def softmax(data, result, columns: tl.constexpr):
    at = tl.program_id(0) * columns + tl.arange(0, columns)
    value = tl.load(data + at)
    value = tl.exp(value - tl.max(value, axis=0))
    tl.store(result + at, value / tl.sum(value, axis=0))


def main():
    left, right = torch.zeros(2, ROWS, COLUMNS, device="cuda").unbind()
    grid = (triton.cdiv(ROWS * COLUMNS, 1024),)

    def step():
        for _ in range(PAIRS):
            add_relu[grid](left, right, ROWS * COLUMNS, BLOCK=1024)
            softmax[(ROWS,)](left, right, columns=COLUMNS)
        torch.cuda.synchronize()

    zoo.timed(10, step)
    with zoo.torch_profiler():
        seconds = zoo.timed(ITERATIONS, step)
    assert abs(float(right.sum()) / ROWS - 1) < 1e-3
    zoo.say_truth(seconds, kernels=2 * PAIRS * ITERATIONS)


if __name__ == "__main__":
    main()
