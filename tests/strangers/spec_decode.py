#!/usr/bin/env python3
"""Speculative decoding: a small model drafts four tokens, a larger one checks them all at once.
Each is a CUDA graph, so that a round has five; then the host reads the tokens and decides which of
them it takes. Iterations have no names.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../zoo"))

import zoo  # pylint: disable=wrong-import-position

ROUNDS, DRAFTED, VOCABULARY, SEQUENCES = 300, 4, 2048, 8
torch = zoo.need_torch()


class Model(torch.nn.Module):
    """The next token of each token, by blocks without attention: what counts is the launches."""

    def __init__(self, width, blocks):
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, width)
        self.blocks = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.LayerNorm(width), torch.nn.Linear(width, 4 * width),
                                torch.nn.GELU(), torch.nn.Linear(4 * width, width))
            for _ in range(blocks))
        self.head = torch.nn.Linear(width, VOCABULARY)

    def forward(self, tokens):
        state = self.embedding(tokens)
        for block in self.blocks:
            state = state + block(state)
        return self.head(state).argmax(-1)


class Decoder:
    """Its graphs read and write `tokens`: the last one that was taken, then those drafted."""

    def __init__(self):
        draft, self.target = Model(256, 2).cuda().half(), Model(1024, 12).cuda().half()
        self.tokens = torch.zeros(SEQUENCES, DRAFTED + 1, dtype=torch.long, device="cuda")
        self.checked = torch.zeros_like(self.tokens)
        self.drafts = [zoo.captured(torch, lambda at=at: self.tokens[:, at + 1].copy_(
            draft(self.tokens[:, at]))) for at in range(DRAFTED)]
        self.check = zoo.captured(torch, lambda: self.checked.copy_(self.target(self.tokens)))
        self.taken = torch.zeros(SEQUENCES, dtype=torch.long).pin_memory()

    def step(self):
        for draft in self.drafts:
            draft.replay()
        self.check.replay()
        drafted, checked = self.tokens.tolist(), self.checked.tolist()
        for number, (mine, its) in enumerate(zip(drafted, checked)):
            agreed = 0
            while agreed < DRAFTED and mine[agreed + 1] == its[agreed]:
                agreed += 1
            self.taken[number] = its[agreed]
        self.tokens[:, 0].copy_(self.taken, non_blocking=True)


def main():
    with torch.no_grad():
        decoder = Decoder()
        zoo.timed(20, decoder.step)
        with zoo.torch_profiler():
            seconds = zoo.timed(ROUNDS, decoder.step)
        torch.cuda.synchronize()
        assert torch.equal(decoder.tokens[:, 0].cpu(), decoder.taken)
    zoo.say_truth(seconds)


if __name__ == "__main__":
    main()
