"""A PyTorch program with a session of torch.profiler in it, for clients.sh.

usage: clients.py PHASE...

Each phase launches 20 kernels (x.add_) and waits for them:
    plain          as it is
    session        in a session of torch.profiler that ends at once
    long           in a session that goes on for 2.5 s
    range          between cudaProfilerStart and Stop
    session-range  both, the range within the session

Prints how many of these kernels torch.profiler has seen.
"""
import re
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile

seen = 0


def launch(x):
    for _ in range(20):
        x.add_(1)
    torch.cuda.synchronize()


def session(x, seconds, inside):
    global seen
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        inside(x)
        time.sleep(seconds)
        torch.cuda.synchronize()
    seen += sum(bool(re.search("elementwise.*add", event.name, re.IGNORECASE))
                for event in profiler.events())


def captured(x):
    torch.cuda.profiler.start()
    launch(x)
    time.sleep(1.5)
    torch.cuda.profiler.stop()


PHASES = {
    "plain": launch,
    "session": lambda x: session(x, 0, launch),
    "long": lambda x: session(x, 2.5, launch),
    "range": captured,
    "session-range": lambda x: session(x, 0, captured),
}


def main():
    x = torch.zeros(1 << 16, device="cuda")
    torch.cuda.synchronize()
    for phase in sys.argv[1:]:
        PHASES[phase](x)
        time.sleep(0.5)
    print(seen, float(x[0]))


main()
