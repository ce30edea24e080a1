#!/usr/bin/env python3
"""The arithmetic of whatif.sh.

    whatif.py overhead KERNELS.csv MICROSECONDS    ns that alpha takes beyond what was asked for
    whatif.py table FOLDER ITERATIONS ROUNDS CASE...

What was measured is the time per iteration that the program itself prints, on its own clock; of
the profiler nothing is taken but the prediction, and the durations that show whether alpha was
really halved. Exit status 1: a prediction is more than 5 % off, or the experiment says nothing.
"""
import csv
import json
import os
import statistics
import sys

GREATEST_ERROR = 5.0    # percent of the measured time
GREATEST_SKEW = 2.0     # percent, of alpha's second time from half of its first
GREATEST_DISSENT = 2.0  # percent, of the recorded time from what the program measured itself

HEAD = ("case", "alpha, us", "kernels/iteration", "recorded", "predicted at half",
        "run at half, profiled", "error", "run at half, bare")


def kernel_durations(path):
    """ns of each kernel by name, from `miniprof dump --table kernel --csv`."""
    with open(path) as file:
        rows = csv.DictReader(file)
        durations = {}
        for row in rows:
            durations.setdefault(row["shape"], []).append(int(row["duration_ns"]))
    return durations


def alpha_time(path):
    return statistics.median(kernel_durations(path)["alpha_layer"])


def measured(path):
    """ms of an iteration: the median in the program's own line."""
    with open(path) as file:
        words = file.read().split()
    return float(words[words.index("median_us") + 1]) / 1e3


def percent(value, reference):
    return 100 * (value / reference - 1)


def with_spread(values):
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


class Case:
    """All rounds of one case; times are ms of an iteration, by round."""

    def __init__(self, folder, name, iterations, rounds):
        self.name = name
        self.complaints = []
        starts = [os.path.join(folder, f"{name}.{n}") for n in range(rounds)]
        self.alpha_full = statistics.median(alpha_time(s + ".full.csv") for s in starts)
        self.alpha_half = statistics.median(alpha_time(s + ".half.csv") for s in starts)
        self.itself = [measured(s + ".full.out") for s in starts]
        self.half = [measured(s + ".half.out") for s in starts]
        self.bare = [measured(s + ".bare.out") for s in starts]
        self.busy = sum(sum(d) for d in kernel_durations(starts[0] + ".full.csv").values()) \
            / iterations / 1e6
        self.recorded, self.predicted = [], []
        for start in starts:
            with open(start + ".deps.json") as file:
                report = json.load(file)
            self.recorded.append(report["iterations"]["p50_ns"] / 1e6)
            self.predicted.append(report["what_if"]["iterations"]["p50_ns"] / 1e6)
            counts = (report["iterations"]["count"], report["what_if"]["iterations"]["count"])
            if counts != (iterations, iterations):
                self.complaints.append(f"{counts} iterations found, not {iterations}")
        self.error = percent(statistics.median(self.predicted), statistics.median(self.half))
        self.judge()

    def judge(self):
        skew = percent(2 * self.alpha_half, self.alpha_full)
        if abs(skew) > float(os.environ.get("GREATEST_SKEW", GREATEST_SKEW)):
            self.complaints.append("the experiment is invalid: alpha's second time is"
                                   f" {skew:+.1f} % off half of its first")
        dissent = percent(statistics.median(self.recorded), statistics.median(self.itself))
        if abs(dissent) > GREATEST_DISSENT:
            self.complaints.append("the recorded time of an iteration is"
                                   f" {dissent:+.1f} % off what the program measured itself")
        if abs(self.error) > GREATEST_ERROR:
            self.complaints.append(f"the prediction is {self.error:+.1f} % off")

    def row(self):
        share = 100 * self.busy / statistics.median(self.recorded)
        return (self.name, f"{self.alpha_full / 1e3:.2f}, then {self.alpha_half / 1e3:.2f}",
                f"{share:.0f} %", with_spread(self.recorded), with_spread(self.predicted),
                with_spread(self.half), f"{self.error:+.1f} %", with_spread(self.bare))


def print_table(folder, iterations, rounds, names):
    cases = [Case(folder, name, iterations, rounds) for name in names]
    print(f"p50 of {iterations} iterations in ms: median (least to greatest) of {rounds} rounds\n")
    print("| " + " | ".join(HEAD) + " |")
    print("|" + "---|" * len(HEAD))
    for case in cases:
        print("| " + " | ".join(case.row()) + " |")
    complaints = [f"FAILED: {case.name}: {text}" for case in cases for text in case.complaints]
    print("\n".join(complaints) if complaints else
          f"ok all {len(cases)} predictions within {GREATEST_ERROR:g} %")
    return 1 if complaints else 0


def main(arguments):
    if arguments[0] == "overhead":
        print(max(0, round(alpha_time(arguments[1]) - 1000 * int(arguments[2]))))
        return 0
    return print_table(arguments[1], int(arguments[2]), int(arguments[3]), arguments[4:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
