#!/usr/bin/env python3
"""Tensor-parallel inference: an all-reduce behind each layer, which all ranks compute a part of.

    torchrun --nproc-per-node 2 samples/torch/tensor_parallel.py
    miniprof run -o job/%r.%p.mpt -- torchrun --nproc-per-node 2 \\
        samples/torch/tensor_parallel.py --late-rank 1 --late-every 10 --late-ms 2
    miniprof ranks job

job.py says what the options are, what lies between cudaProfilerStart and Stop, and what the program
prints of a late rank.
"""
import torch
import torch.distributed as dist
from torch import nn

import job


class ParallelBlock(nn.Module):
    """A feed-forward block. The first matrix is divided by columns, the second one by rows, so that
    a sum over the ranks gives the result."""

    def __init__(self, hidden, ranks):
        super().__init__()
        self.norm = nn.LayerNorm(hidden)
        self.up = nn.Linear(hidden, 4 * hidden // ranks, bias=False)
        self.down = nn.Linear(4 * hidden // ranks, hidden, bias=False)

    def forward(self, data):
        part = self.down(nn.functional.gelu(self.up(self.norm(data))))
        dist.all_reduce(part)
        return data + part


def make_step(arguments):
    ranks = dist.get_world_size()
    model = nn.Sequential(*(ParallelBlock(arguments.hidden, ranks)
                            for _ in range(arguments.layers))).bfloat16().cuda().eval()
    data = torch.randn(arguments.tokens, arguments.hidden, device="cuda", dtype=torch.bfloat16)
    dist.broadcast(data, 0)

    def step():
        with torch.no_grad():
            model(data)

    return step, {"function": "AllReduce", "from_rank": None, "to_rank": None,
                  "per_step": arguments.layers,
                  "bytes": arguments.tokens * arguments.hidden * data.element_size()}


if __name__ == "__main__":
    job.run("tensor_parallel", job.make_parser(__doc__.splitlines()[0]).parse_args(), make_step)
