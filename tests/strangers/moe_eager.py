#!/usr/bin/env python3
"""A mixture of experts in eager mode: a router sends each token to two of eight experts. The host
asks the GPU for each expert's tokens, so that it waits eight times a layer. Iterations have no
names.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../zoo"))

import zoo  # pylint: disable=wrong-import-position

ITERATIONS, LAYERS, EXPERTS, CHOSEN, SIZE, TOKENS = 150, 4, 8, 2, 512, 256
torch = zoo.need_torch()


class Mixture(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.router = torch.nn.Linear(SIZE, EXPERTS)
        self.experts = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.Linear(SIZE, 2 * SIZE), torch.nn.SiLU(),
                                torch.nn.Linear(2 * SIZE, SIZE)) for _ in range(EXPERTS))

    def forward(self, state):
        weights, experts = self.router(state).softmax(-1).topk(CHOSEN)
        result = torch.zeros_like(state)
        for number, expert in enumerate(self.experts):
            token, choice = torch.where(experts == number)
            share = weights[token, choice].unsqueeze(-1)
            result.index_add_(0, token, expert(state[token]) * share)
        return state + result


def main():
    model = torch.nn.Sequential(*(Mixture() for _ in range(LAYERS))).cuda().half().eval()
    data = torch.randn(TOKENS, SIZE, device="cuda", dtype=torch.half)
    results = []

    def step():
        results[:] = [model(data)]
        torch.cuda.synchronize()

    with torch.no_grad():
        zoo.timed(10, step)
        with zoo.torch_profiler():
            seconds = zoo.timed(ITERATIONS, step)
    assert bool(torch.isfinite(results[0]).all())
    zoo.say_truth(seconds)


if __name__ == "__main__":
    main()
