"""A program that uses its framework's own profiler beside miniprof, for two_clients.sh.

usage: two_clients.py torch|jax PLACE

PLACE says where a session of that profiler lies, seen from a range between cudaProfilerStart and
Stop: before, inside, around, after, or both (before and after). Each part launches 20 kernels of
the same name, and waits for them.

Prints how many of these kernels the sessions have seen and have had, how many the range has had,
and whether all of them did their work.
"""
import contextlib
import glob
import gzip
import json
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "zoo"))
from zoo import driver_profiler, torch_profiler  # noqa: E402 pylint: disable=wrong-import-position

KERNELS = 20
NAME = re.compile("add", re.IGNORECASE)


class Torch:
    """Kernels of x.add_ under torch.profiler."""
    captured = staticmethod(torch_profiler)

    def __init__(self):
        import torch  # pylint: disable=import-outside-toplevel
        self.torch = torch
        self.x = torch.zeros(1 << 16, device="cuda")
        self.x.add_(0)
        torch.cuda.synchronize()

    def launch(self):
        for _ in range(KERNELS):
            self.x.add_(1)
        self.torch.cuda.synchronize()

    def value(self):
        return float(self.x[0])

    @contextlib.contextmanager
    def session(self, seen):
        profiler = self.torch.profiler
        with profiler.profile(activities=[profiler.ProfilerActivity.CUDA]) as result:
            yield
            self.torch.cuda.synchronize()
        seen.extend(event.name for event in result.events() if "elementwise" in event.name)


def names_of_planes(path):
    """The events on the streams of GPUs, by JAX's own reader."""
    from jax.profiler import ProfileData  # pylint: disable=import-outside-toplevel
    return [event.name for plane in ProfileData.from_file(path).planes
            if plane.name.startswith("/device:GPU") for line in plane.lines
            if line.name.startswith("Stream") for event in line.events]


def names_of_json(path):
    """The same from the JSON that versions without that reader write."""
    with gzip.open(path, "rt") as file:
        events = json.load(file)["traceEvents"]
    streams = {(event["pid"], event["tid"]) for event in events
               if event.get("name") == "thread_name" and
               event["args"]["name"].startswith("Stream")}
    return [event["name"] for event in events
            if event.get("ph") == "X" and (event["pid"], event["tid"]) in streams]


class Jax:
    """Kernels of one jitted function under jax.profiler."""
    captured = staticmethod(driver_profiler)

    def __init__(self):
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        import jax  # pylint: disable=import-outside-toplevel
        self.jax = jax
        self.step = jax.jit(lambda x: x + 1)
        self.x = self.step(jax.numpy.full((1 << 16,), -1.0)).block_until_ready()

    def launch(self):
        for _ in range(KERNELS):
            self.x = self.step(self.x)
        self.x.block_until_ready()

    def value(self):
        return float(self.x[0])

    @contextlib.contextmanager
    def session(self, seen):
        with tempfile.TemporaryDirectory() as folder:
            with self.jax.profiler.trace(folder):
                yield
            for path in glob.glob(f"{folder}/**/*.xplane.pb", recursive=True):
                try:
                    seen.extend(names_of_planes(path))
                except ImportError:
                    for text in glob.glob(f"{folder}/**/*.trace.json.gz", recursive=True):
                        seen.extend(names_of_json(text))


class Run:
    """The parts, in the order of the place, and what they had."""

    def __init__(self, framework):
        self.framework = framework
        self.seen = []
        self.open = set()
        self.had = {"session": 0, "range": 0, "all": 0}

    def launch(self):
        self.framework.launch()
        for what in self.open | {"all"}:
            self.had[what] += KERNELS

    def within(self, what, *parts):
        context = (self.framework.session(self.seen) if what == "session" else
                   self.framework.captured())
        with context:
            self.open.add(what)
            for part in parts:
                part()
            self.open.remove(what)

    def session(self):
        self.within("session", self.launch)

    def range(self):
        self.within("range", self.launch)


PLACES = {
    "before": lambda run: (run.session(), run.range()),
    "inside": lambda run: run.within("range", run.launch, run.session, run.launch),
    "around": lambda run: run.within("session", run.launch, run.range, run.launch),
    "after": lambda run: (run.range(), run.session()),
    "both": lambda run: (run.session(), run.range(), run.session()),
}


def main():
    framework, place = sys.argv[1:]
    run = Run({"torch": Torch, "jax": Jax}[framework]())
    PLACES[place](run)
    print(len([name for name in run.seen if NAME.search(name)]), run.had["session"],
          run.had["range"], "right" if run.framework.value() == run.had["all"] else "WRONG")


main()
