#!/usr/bin/env python3
"""torch.compile(mode="reduce-overhead"): kernels that Inductor makes, in a CUDA graph. Iterations
have no names.
"""
import os

# The pool of compiler processes takes longer to start than these few kernels to compile.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

import zoo  # pylint: disable=wrong-import-position

ITERATIONS, LAYERS, SIZE = 100, 12, 512
torch = zoo.need_torch()


def main():
    layers = [part for _ in range(LAYERS)
              for part in (torch.nn.Linear(SIZE, SIZE), torch.nn.GELU(), torch.nn.LayerNorm(SIZE))]
    model = torch.compile(torch.nn.Sequential(*layers).cuda().half().eval(),
                          mode="reduce-overhead")
    data = torch.randn(64, SIZE, device="cuda", dtype=torch.half)

    def step():
        torch.compiler.cudagraph_mark_step_begin()
        model(data)
        torch.cuda.synchronize()

    with torch.no_grad():
        zoo.timed(10, step)
        with zoo.torch_profiler():
            seconds = zoo.timed(ITERATIONS, step)
    zoo.say_truth(seconds)


if __name__ == "__main__":
    main()
