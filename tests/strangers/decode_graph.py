#!/usr/bin/env python3
"""Decoding of a language model as one CUDA graph of some 800 nodes: 32 layers of a Llama with
random weights, written out, so that norms are six kernels each. The host reads the token of each
step. Iterations have no names.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../zoo"))

import zoo  # pylint: disable=wrong-import-position

STEPS, LAYERS, SIZE, HEADS, ROOM, VOCABULARY = 250, 32, 512, 8, 512, 4096
torch = zoo.need_torch()


def norm(state, weight):
    return state * torch.rsqrt(state.pow(2).mean(-1, keepdim=True) + 1e-6) * weight


class Layer(torch.nn.Module):
    """One token for one sequence, with the keys and values of those before it."""

    def __init__(self):
        super().__init__()
        self.norms = torch.nn.ParameterList(torch.ones(SIZE) for _ in range(2))
        self.mixed = torch.nn.Linear(SIZE, 3 * SIZE, bias=False)
        self.out = torch.nn.Linear(SIZE, SIZE, bias=False)
        self.wide = torch.nn.Linear(SIZE, 4 * SIZE, bias=False)
        self.narrow = torch.nn.Linear(2 * SIZE, SIZE, bias=False)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, HEADS, ROOM, SIZE // HEADS))

    def forward(self, state, position, mask):
        mixed = self.mixed(norm(state, self.norms[0])).view(3, 1, HEADS, 1, SIZE // HEADS)
        self.keys.index_copy_(2, position, mixed[1])
        self.values.index_copy_(2, position, mixed[2])
        seen = torch.nn.functional.scaled_dot_product_attention(mixed[0], self.keys, self.values,
                                                                attn_mask=mask)
        state = state + self.out(seen.reshape(1, SIZE))
        gate, up = self.wide(norm(state, self.norms[1])).chunk(2, -1)
        return state + self.narrow(torch.nn.functional.silu(gate) * up)


class Decoder:
    def __init__(self):
        self.layers = torch.nn.ModuleList(Layer() for _ in range(LAYERS)).cuda().half()
        self.embedding = torch.nn.Embedding(VOCABULARY, SIZE).cuda().half()
        self.token = torch.ones(1, dtype=torch.long, device="cuda")
        self.position = torch.zeros(1, dtype=torch.long, device="cuda")
        self.places = torch.arange(ROOM, device="cuda")
        self.graph = zoo.captured(torch, self.forward)
        self.position.zero_()

    def forward(self):
        state, mask = self.embedding(self.token), self.places <= self.position
        for layer in self.layers:
            state = layer(state, self.position, mask[None, None, None])
        self.token.copy_((state @ self.embedding.weight.T).argmax(-1))
        self.position.add_(1)

    def step(self):
        self.graph.replay()
        return self.token.item()


def main():
    with torch.no_grad():
        decoder = Decoder()
        zoo.timed(20, decoder.step)
        with zoo.torch_profiler():
            seconds = zoo.timed(STEPS, decoder.step)
        assert decoder.position.item() == 20 + STEPS
    zoo.say_truth(seconds)


if __name__ == "__main__":
    main()
