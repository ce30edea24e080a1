#!/usr/bin/env python3
"""Diffusion: a small UNet under torch.compile takes noise away step by step. An iteration is a step
of the sampler, whose last lines are in eager mode. Iterations have no names.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../zoo"))

import zoo  # pylint: disable=wrong-import-position

# The pool of compiler processes takes longer to start than these few kernels to compile.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

STEPS, CHANNELS, SIZE = 150, 64, 64
torch = zoo.need_torch()
functional = torch.nn.functional


class Block(torch.nn.Module):
    """Two convolutions, with the time of the step added between them."""

    def __init__(self, before, after):
        super().__init__()
        self.norms = torch.nn.ModuleList([torch.nn.GroupNorm(8, before),
                                          torch.nn.GroupNorm(8, after)])
        self.first = torch.nn.Conv2d(before, after, 3, padding=1)
        self.second = torch.nn.Conv2d(after, after, 3, padding=1)
        self.time = torch.nn.Linear(CHANNELS, after)
        self.skip = torch.nn.Conv2d(before, after, 1)

    def forward(self, image, time):
        state = self.first(functional.silu(self.norms[0](image)))
        state = state + self.time(time)[:, :, None, None]
        return self.skip(image) + self.second(functional.silu(self.norms[1](state)))


class Unet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        wide = [CHANNELS, 2 * CHANNELS, 4 * CHANNELS]
        self.enter, self.leave = (torch.nn.Conv2d(a, b, 3, padding=1)
                                  for a, b in ((4, CHANNELS), (CHANNELS, 4)))
        self.down = torch.nn.ModuleList(Block(a, b) for a, b in zip(wide, wide[1:]))
        self.middle = Block(wide[-1], wide[-1])
        self.up = torch.nn.ModuleList(Block(2 * b, a) for b, a in zip(wide[:0:-1], wide[-2::-1]))

    def forward(self, image, time):
        state, skipped = self.enter(image), []
        for block in self.down:
            state = block(state, time)
            skipped.append(state)
            state = functional.avg_pool2d(state, 2)
        state = self.middle(state, time)
        for block in self.up:
            state = functional.interpolate(state, scale_factor=2.0)
            state = block(torch.cat([state, skipped.pop()], 1), time)
        return self.leave(state)


def main():
    model = torch.compile(Unet().cuda().half().eval())
    image = torch.randn(2, 4, SIZE, SIZE, device="cuda", dtype=torch.half)
    times = torch.randn(STEPS, 2, CHANNELS, device="cuda", dtype=torch.half)
    at = iter(range(1_000_000))

    def step():
        noise = model(image, times[next(at) % STEPS])
        image.sub_(noise, alpha=0.02).clamp_(-4, 4)
        torch.cuda.synchronize()

    with torch.no_grad():
        zoo.timed(10, step)
        with zoo.torch_profiler():
            seconds = zoo.timed(STEPS, step)
    assert bool(torch.isfinite(image).all())
    zoo.say_truth(seconds)


if __name__ == "__main__":
    main()
