#!/usr/bin/env python3
# Takes 30 s.
"""Programs that a signal ends at a random moment: after a random number of launches of one thread,
while another one launches too. The trace opens, says whether it is cut, and has a prefix of what
the program did. Nothing is left behind: no process, no file but the trace.

SIGTERM and SIGINT let miniprof complete the file, so it is whole; after the others it is cut. With
the flight recorder a crash writes a complete file, with the last rows instead of the first."""
import csv
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

# pylint: disable=wrong-import-position
import sweep

DEFAULT_TRIES = 120
ALL_TRIES = 1000
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGABRT,
           signal.SIGSEGV)
COMPLETING = (signal.SIGTERM, signal.SIGINT)
CRASHES = (signal.SIGABRT, signal.SIGSEGV)
STEPS = 300  # of the main thread: a range with one to three kernels, then a pause
MAX_LAUNCHES = 100000  # of the other thread before the signal
FLIGHT = {"MINIPROF_FLIGHT": "60s"}
HURRY = {"MINIPROF_TEST_TIME_DIVISOR": "20"}  # as many rounds of the writer in 5 ms as in 100


def launches_of(random):
    """Of the other thread before the signal."""
    return 0 if random.random() < 0.1 else int(MAX_LAUNCHES ** random.random() ** 0.5)


def kernels_of(random):
    """Names, of the kernels in each of the main thread's steps."""
    return [random.choices(("beta", "gamma"), k=random.randint(1, 3)) for _ in range(STEPS)]


def command(steps, launches, number):
    """The program. The other thread sends the signal; alpha is its kernel. Without launches it does
    so at once, while CUDA begins."""
    killing = f"begin-thread=alpha={launches},raise={int(number)}"
    words = [sweep.STEPS, "init", "print=begun", killing]
    if not launches:
        words = [sweep.STEPS, f"begin-thread=raise={int(number)}", "init", "print=begun"]
    for i, kernels in enumerate(steps):
        words += [f"push=step{i}", *(f"{name}=1" for name in kernels), "sync", "pop"]
    return words + ["join-thread", "exit=99"]


def column(trace, table, name):
    """The values of a column, in the file's order."""
    text = sweep.ask("dump", "--csv", "--table", table, trace)[1]
    return [row[name] for row in csv.DictReader(text.splitlines()) if row.get(name)]


def is_part(found, all_of_them, from_begin):
    """Whether the found ones are the first of all; or some of them, one after the other."""
    if from_begin:
        return found == all_of_them[:len(found)]
    size = len(found)
    return any(found == all_of_them[at:at + size] for at in range(len(all_of_them) - size + 1))


def what_is_left(run, folder):
    """What a process left that is neither its trace nor the flight recorder's half file."""
    left = [path.name for path in folder.iterdir() if path.suffix != ".mpt" and not
            path.name.endswith(".mpt.part")]
    try:
        os.killpg(run.pid, 0)
        left.append("a process")
    except ProcessLookupError:
        pass
    return left


def judge_trace(trace, steps, number, is_flight):
    """What is wrong with a trace; empty: nothing."""
    code, text = sweep.ask("check", trace)
    cut = "no index" in text and "are intact" in text
    names = [name for name in column(trace, "kernel", "shape") if name != "alpha"]
    pushed = [name for name in column(trace, "nvtx", "name") if name.startswith("step")]
    if (is_flight or number in COMPLETING) and code != 0:
        return f"not complete: {text}"
    if code != 0 and not cut:
        return f"not cut short, but damaged: {text}"
    if cut and sweep.ask("summary", trace)[0] != 1:
        return "no report says that it is cut"
    if not is_part(names, [name for kernels in steps for name in kernels], not is_flight):
        return f"not the program's kernels: {names[-5:]}"
    if not is_part(pushed, [f"step{i}" for i in range(STEPS)], not is_flight):
        return f"not the program's ranges: {pushed[-5:]}"
    return ""


def judge(what, folder):
    """Runs a program that a signal ends."""
    number, launches, is_flight, steps = what
    run = sweep.Run(command(steps, launches, number), folder,
                    sweep.recording(folder, **HURRY, **(FLIGHT if is_flight else {})))
    wrong = what_is_left(run, folder)
    has_begun = run.out == b"begun\n"
    if run.code != -number or run.own_lines or (launches and not has_begun) or wrong:
        return "harmed", f"{run}, left: {wrong}"
    if not has_begun:
        return "before the start", ""
    traces = list(folder.glob("*.mpt"))
    if is_flight and number not in CRASHES:
        return ("lost", "a trace without a trigger") if traces else ("nothing to write", "")
    wrong = judge_trace(traces[0], steps, number, is_flight) if traces else "no trace"
    if wrong:
        return "lost", f"{run}: {wrong}"
    if is_flight or number in COMPLETING:
        return "complete", ""
    has_rows = column(traces[0], "kernel", "shape")
    return "cut short" if has_rows else "cut before the first chunk", ""


class Try(tuple):
    """A try, printed without the steps, which the seed gives."""
    __slots__ = ()

    def __str__(self):
        return f"{signal.Signals(self[0]).name} after {self[1]} launches" + \
            (", flight recorder" if self[2] else "")


def main():
    """The sweep."""
    tries = sweep.Sweep("kills")
    random = tries.random
    tries.attempt([Try((random.choice(SIGNALS), launches_of(random), random.random() < 0.25,
                        kernels_of(random)))
                   for _ in range(ALL_TRIES if sweep.ALL else DEFAULT_TRIES)], judge)
    tries.finish()


main()
