#!/usr/bin/env python3
"""The arithmetic of truth.sh.

    truth.py FOLDER ROUNDS CASE...

Said is what `deps --what-if` predicts for half of a kernel's time; true is the window of a run with
half of it. Beside them stands what the programs measured themselves, alone. Of JAX's loop, the time
of the main thread outside of CUDA calls is divided. Waits with a waker are named; of the rest as
much is computing as the operating system says that the thread was on a processor, less all CUDA
calls; what is left has no name. Exit status 1: a limit is exceeded.
"""
import json
import os
import statistics
import sys

GREATEST_ERROR = 5.0   # percent of the true time
GREATEST_OTHER = 5.0   # percent of the path
MIN_NAMED = 95.0     # percent of the time outside of CUDA calls
MIN_KERNELS = 1.0    # percent of the path


def number(path, key):
    """What a program printed: KEY NUMBER."""
    with open(path, encoding="utf-8") as file:
        return float(dict(line.split(None, 1) for line in file if " " in line)[key])


def document(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.startswith("{")]


def percent_of(part, whole):
    return 100 * part / whole if whole else 0


class Run:
    """What was said of one recorded run."""

    def __init__(self, folder, name):
        self.path = os.path.join(folder, name)
        self.deps = document(self.path + ".deps.json")
        self.window = self.deps["window_ns"] / 1e3
        groups = document(self.path + ".summary.json")["groups"]
        self.on_gpu = {row["name"] for group in groups if group["name"] == "gpu_activities"
                       for row in group["rows"]}

    def share(self, wanted):
        """Percent of the critical path whose rows `wanted` takes."""
        rows = self.deps["rows"]
        whole = sum(row["critical_ns"] for row in rows)
        part = sum(row["critical_ns"] for row in rows if wanted(row["name"]))
        return percent_of(part, whole)

    def other(self):
        return percent_of(sum(self.deps["parts"].values()), self.deps["window_ns"])

    def kernels(self):
        return self.share(lambda name: name in self.on_gpu and not name.startswith("[CUDA mem"))


def percent(one, other):
    return 100 * (one / other - 1)


def median_of(values):
    return statistics.median(list(values))


def judge_prediction(folder, rounds, case):
    """A row of the table, and complaints."""
    full = [Run(folder, f"{case}.{i}.full") for i in range(rounds)]
    half = [Run(folder, f"{case}.{i}.half") for i in range(rounds)]
    alone = [number(f"{folder}/{case}.{i}.half.alone", "loop_us") for i in range(rounds)]
    said = median_of(run.deps["what_if"]["new_ns"] / 1e3 for run in full)
    true = median_of(run.window for run in half)
    kernels, other = median_of(r.kernels() for r in full), median_of(r.other() for r in full)
    complaints = []
    if abs(percent(said, true)) > GREATEST_ERROR:
        complaints.append(f"{case}: what was said is {percent(said, true):+.1f} % off")
    if case == "server" and other > GREATEST_OTHER:
        complaints.append(f"{case}: {other:.1f} % of the path is no activity's")
    row = (case, f"{median_of(r.window for r in full) / 1e3:.2f}", f"{said / 1e3:.2f}",
           f"{true / 1e3:.2f}", f"{said / true:.3f}", f"{median_of(alone) / 1e3:.2f}",
           f"{kernels:.1f} %", f"{other:.1f} %")
    return row, complaints


# ---- JAX ----------------------------------------------------------------------------------------

def union(pieces, begin, end):
    """Sorted pieces of time without overlap, within [begin, end)."""
    merged = []
    for first, last in sorted((max(one, begin), min(two, end)) for one, two in pieces):
        if first >= last:
            continue
        if merged and first <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], last)
        else:
            merged.append([first, last])
    return merged


def length(pieces):
    return sum(last - first for first, last in pieces)


def without(pieces, others):
    """Sorted pieces less sorted others."""
    left = []
    for first, last in pieces:
        for one, two in others:
            if two <= first or one >= last:
                continue
            if one > first:
                left.append([first, one])
            first = max(first, two)
        if first < last:
            left.append([first, last])
    return left


def span(row):
    return row["start"], row["start"] + row["duration"]


def divide(run, pid):
    """us of the main thread in the window: {part: us}. Parts but `calls` are outside of them."""
    main = [row["id"] for row in rows_of(run.path + ".thread.rows") if row["tid"] == pid]
    window = run.deps["windows"][0]
    begin, end = window["begin_ns"], window["end_ns"]
    calls = union((span(row) for row in rows_of(run.path + ".call.rows")
                   if row["thread"] in main), begin, end)
    waits = [row for row in rows_of(run.path + ".wait.rows") if row["thread"] in main]
    named = without(union((span(row) for row in waits if row["waker"]), begin, end), calls)
    unnamed = without(union((span(row) for row in waits), begin, end), calls)
    unnamed = without(unnamed, named)
    outside = end - begin - length(calls)
    return {part: ns / 1e3 for part, ns in
            (("window", end - begin), ("calls", length(calls)), ("outside", outside),
             ("woken by a thread", length(named)), ("waits without a waker", length(unnamed)),
             ("the rest", outside - length(named) - length(unnamed)))}


def judge_jax(folder, rounds):
    """Lines to print, and complaints."""
    lines, complaints, shares, kernels = [], [], [], []
    for i in range(rounds):
        run = Run(folder, f"jax.{i}.full")
        parts = divide(run, run.deps["pid"])
        on_processor = number(run.path + ".out", "cpu_us")
        computing = min(parts["the rest"], max(0, on_processor - parts["calls"]))
        shares.append(100 * (parts["woken by a thread"] + computing) / parts["outside"])
        kernels.append(run.kernels())
        functions = len(rows_of(run.path + ".host_function.rows"))
        lines.append(f"jax: window {parts['window']:.0f} us, calls {parts['calls']:.0f}, outside "
                     f"{parts['outside']:.0f}: woken by a thread {parts['woken by a thread']:.0f}, "
                     f"computing {computing:.0f}, waits without a waker "
                     f"{parts['waits without a waker']:.0f}, without a name "
                     f"{parts['the rest'] - computing:.0f}; {functions} host functions; step "
                     f"{number(run.path + '.out', 'step_us'):.0f} us")
        top = sorted(run.deps["rows"], key=lambda row: -row["critical_ns"])[:4]
        lines.append("     path: " + ", ".join(
            f"{row['name'][:40]} {100 * row['critical_ns'] / run.deps['window_ns']:.1f} %"
            for row in top))
    lines.append(f"jax: named {median_of(shares):.1f} % of the main thread's time outside of CUDA "
                 f"calls; kernels are {median_of(kernels):.1f} % of the path")
    if median_of(shares) < MIN_NAMED:
        complaints.append(f"jax: only {median_of(shares):.1f} % is named")
    if median_of(kernels) < MIN_KERNELS:
        complaints.append("jax: no kernels on the path")
    return lines, complaints


def main(arguments):
    folder, rounds, cases = arguments[0], int(arguments[1]), arguments[2:]
    head = ("program", "window, ms", "said at half", "true at half", "said / true",
            "alone at half", "kernels on the path", "no activity's")
    complaints, lines = [], []
    print(f"medians of {rounds} rounds\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for case in cases:
        if case == "jax":
            lines, more = judge_jax(folder, rounds)
        else:
            row, more = judge_prediction(folder, rounds, case)
            print("| " + " | ".join(row) + " |")
        complaints += more
    print("\n" + "\n".join(lines))
    print("\n".join("FAILED: " + text for text in complaints) if complaints else "ok")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
