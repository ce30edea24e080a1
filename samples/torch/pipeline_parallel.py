#!/usr/bin/env python3
"""Pipeline-parallel training: each rank has some of the layers; microbatches go there and back.

    torchrun --nproc-per-node 2 samples/torch/pipeline_parallel.py
    miniprof run -o job/%r.%p.mpt -- torchrun --nproc-per-node 2 \\
        samples/torch/pipeline_parallel.py --late-rank 0 --late-every 10 --late-ms 2
    miniprof ranks job

A step is GPipe's: all microbatches forward, then all backward, then the optimiser. job.py says what
the options are, what lies between cudaProfilerStart and Stop, and what the program prints of a late
rank.
"""
import torch
import torch.distributed as dist
from torch import nn

import job


class Block(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(hidden)
        self.up = nn.Linear(hidden, 4 * hidden, bias=False)
        self.down = nn.Linear(4 * hidden, hidden, bias=False)

    def forward(self, data):
        return data + self.down(nn.functional.gelu(self.up(self.norm(data))))


class Stage:
    """The layers of one rank, between its neighbours."""

    def __init__(self, arguments):
        self.rank, self.ranks = dist.get_rank(), dist.get_world_size()
        self.shape = arguments.tokens, arguments.hidden
        self.microbatches = arguments.microbatches
        self.model = nn.Sequential(*(Block(arguments.hidden) for _ in range(
            max(arguments.layers // self.ranks, 1)))).bfloat16().cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-5)
        self.data = torch.randn(self.shape, device="cuda", dtype=torch.bfloat16)

    def receive(self, rank):
        data = torch.empty(self.shape, device="cuda", dtype=torch.bfloat16)
        dist.recv(data, rank)
        return data

    def forward(self):
        """One microbatch: what came in, and what went out."""
        data = self.data if self.rank == 0 else self.receive(self.rank - 1).requires_grad_()
        result = self.model(data)
        if self.rank < self.ranks - 1:
            dist.send(result.detach(), self.rank + 1)
        return data, result

    def backward(self, data, result):
        if self.rank == self.ranks - 1:
            result.float().square().mean().backward()
        else:
            result.backward(self.receive(self.rank + 1))
        if self.rank > 0:
            dist.send(data.grad, self.rank - 1)

    def step(self):
        passed = [self.forward() for _ in range(self.microbatches)]
        for data, result in passed:
            self.backward(data, result)
        self.optimizer.step()
        self.optimizer.zero_grad()


def make_step(arguments):
    stage = Stage(arguments)
    return stage.step, {"function": "Send", "from_rank": 0, "to_rank": 1,
                        "per_step": arguments.microbatches,
                        "bytes": arguments.tokens * arguments.hidden * stage.data.element_size()}


if __name__ == "__main__":
    parser = job.make_parser(__doc__.splitlines()[0])
    parser.add_argument("--microbatches", type=int, default=4)
    job.run("pipeline_parallel", parser.parse_args(), make_step)
