#!/usr/bin/env python3
# Takes 20 s.
"""Do the rows of `miniprof deps` follow what is changed, without a jump? Traces in which one thing
moves step by step; between neighbours no row and no part may change by more than the trace does.

- A chain of 200 kernels of which each begins before the one before it ends, or behind it: from a
  gap of 5 us to an overlap of 40 us, in a stream, and as nodes of a graph. Between neighbours the
  whole chain gets shorter by 199 steps: that is the bound for each row. What-if follows too.
- 2,500 kernels of which one launch moves, from 40 us before its kernel to 200 ns and to 0. No row
  may change by more than the time from the launch before it to the one behind.

The last line counts: N passed, N failed.
"""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD", SOURCE / "build"))
WRITE_TRACE = BUILD / "tests" / "tools" / "write_trace"
MINIPROF = BUILD / "miniprof"

LAUNCH, SYNCHRONIZE = 1, 2  # functions
CONTEXT_SYNCHRONIZE, NO_STREAM = 4, 4294967295  # sync_kind, and `stream` of such a row
CHAIN, KERNEL_NS = 200, 50000
STEP = 500
MANY, MOVED = 2500, 1250


class Trace:
    """Rows of a program with one thread and one stream."""

    def __init__(self):
        self.lines, self.correlation = [], 0
        for at, text in enumerate(("cuLaunchKernel", "cuCtxSynchronize", "step"), 1):
            self.row("string", id=at, text=text)
        self.row("thread", id=1, tid=77)
        self.row("device", id=0)
        self.row("stream", id=1, stream=13, context=1)
        for at in (LAUNCH, SYNCHRONIZE):
            self.row("function", id=at, api=2, cbid=at, name=at)
        self.row("shape", id=1, kernel=3, grid_x=1, grid_y=1, grid_z=1, block_x=32, block_y=1,
                 block_z=1)

    def row(self, table, **columns):
        """A row of any table."""
        self.lines.append(" ".join([table] + [f"{n}={v}" for n, v in columns.items()]))

    def call(self, function, start, duration):
        """A call; its correlation id is one more than the last one's."""
        self.correlation += 1
        self.row("call", thread=1, function=function, start=start, duration=duration,
                 correlation=self.correlation)
        return self.correlation

    def kernel(self, start, duration, correlation, node=0):
        """What a call launched."""
        self.row("kernel", stream=1, shape=1, start=start, duration=duration, node=node,
                 correlation=correlation)

    def synchronize(self, start, end):
        """The end of the program."""
        correlation = self.call(SYNCHRONIZE, start, end + 1500 - start)
        self.row("sync", thread=1, kind=CONTEXT_SYNCHRONIZE, context=1, stream=NO_STREAM,
                 start=start + 200, duration=end + 1000 - start - 200, correlation=correlation)

    def deps(self, *options):
        """What miniprof says of it."""
        with tempfile.TemporaryDirectory(prefix="miniprof-sweep.") as folder:
            path = pathlib.Path(folder) / "trace.mpt"
            subprocess.run([WRITE_TRACE, path], input="\n".join(self.lines).encode(), check=True)
            done = subprocess.run([MINIPROF, "deps", "--json", *options, path],
                                  check=False,
                                  capture_output=True)
            if done.returncode not in (0, 1):
                raise AssertionError(done.stderr.decode())
            return json.loads(done.stdout)


def chain_of_launches(overlap):
    """Kernels in a stream, each launched long before it runs."""
    trace, begin = Trace(), 100000
    for at in range(CHAIN):
        launch = trace.call(LAUNCH, 10000 + 3000 * at, 2000)
        trace.kernel(begin + at * (KERNEL_NS - overlap), KERNEL_NS, launch)
    trace.synchronize(10000 + 3000 * CHAIN, begin + CHAIN * KERNEL_NS - (CHAIN - 1) * overlap)
    return trace


def chain_of_nodes(overlap):
    """The same as a graph."""
    trace, begin = Trace(), 100000
    for at in range(CHAIN):
        trace.row("node", id=at + 1, graph=7, graph_node=(7 << 32) + at + 1)
        if at:
            trace.row("edge", graph=7, **{"from": (7 << 32) + at, "to": (7 << 32) + at + 1},
                      programmatic=1)
    launch = trace.call(LAUNCH, 10000, 80000)
    for at in range(CHAIN):
        trace.kernel(begin + at * (KERNEL_NS - overlap), KERNEL_NS, launch, at + 1)
    trace.synchronize(100000, begin + CHAIN * KERNEL_NS - (CHAIN - 1) * overlap)
    return trace


def moved_launch(before):
    """Kernels that are launched one after the other, about as fast as they run; one of them, behind
    a pause, is launched so long before it begins. Returns the trace and the pause's neighbourhood.
    """
    r, trace, now, ended, around = random.Random(1), Trace(), 100000, 0, 0
    for at in range(MANY):
        if at == MOVED:
            begin = now + 60000
            launch = trace.call(LAUNCH, begin - before, 3000)
            around, now = begin + 4000 - (now - 3600), begin + 4000
        else:
            launch = trace.call(LAUNCH, now, 3000)
            begin = max(now + 4500 + r.randrange(600), ended + 900 + r.randrange(300))
            now += 3600 + r.randrange(100)
        duration = 1000 + r.randrange(2500)
        trace.kernel(begin, duration, launch)
        ended = begin + duration
    trace.synchronize(now, ended)
    return trace, around


def numbers(answer):
    """The rows and parts of an answer."""
    found = {"row " + row["name"]: row["critical_ns"] for row in answer["rows"]}
    found.update({"part " + name: ns for name, ns in answer["parts"].items()})
    if "what_if" in answer:
        found["what-if"] = answer["what_if"]["windows"][0]["new_ns"]
    return found


def compare(what, one, other, bound):
    """Texts on what is further apart than it may be."""
    return [f"{what}: {name} {one.get(name, 0)} -> {other.get(name, 0)}, may change by {bound}"
            for name in sorted(one.keys() | other.keys())
            if abs(one.get(name, 0) - other.get(name, 0)) > bound]


def sweep_overlap(name, make):
    """Checks neighbours, and what is known of each."""
    wrong, last = [], None
    for overlap in range(-5000, 40001, STEP):
        answer = make(overlap).deps("--what-if=step=0.5x")
        found = numbers(answer)
        if last:
            wrong += compare(f"{name}, overlap of {overlap} ns", last, found, (CHAIN - 1) * STEP)
        last = found
        # It is all kernel: what each ran alone.
        kernel = CHAIN * KERNEL_NS - (CHAIN - 1) * max(0, overlap)
        if found["row step"] != kernel:
            wrong.append(f"{name}, overlap of {overlap} ns: {found['row step']} of the kernel, "
                         f"must be {kernel}")
        # Half the kernel saves half of it, but for what is rounded.
        if overlap >= 0 and abs(answer["window_ns"] - found["what-if"] - kernel // 2) > CHAIN:
            wrong.append(f"{name}, overlap of {overlap} ns: half the kernel makes "
                         f"{found['what-if']} of {answer['window_ns']}")
    return wrong


def sweep_launch():
    """Any two are neighbours here."""
    wrong, first = [], None
    for before in (40000, 20000, 10000, 8000, 6000, 5000, 4500, 4000, 3000, 2000, 1000, 500, 200,
                   100, 50, 0):
        trace, around = moved_launch(before)
        found = numbers(trace.deps())
        first = first or found
        wrong += compare(f"launched {before} ns before", first, found, around)
    return wrong


def main():
    """The program."""
    failed = 0
    for wrong in (sweep_overlap("stream", chain_of_launches),
                  sweep_overlap("graph", chain_of_nodes), sweep_launch()):
        failed += bool(wrong)
        print("\n".join(wrong[:12] + [f"... and {len(wrong) - 12} more"] * (len(wrong) > 12)))
    print(f"{3 - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
