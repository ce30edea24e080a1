#!/usr/bin/env python3
"""The arithmetic of gains.sh.

    gains.py overhead KERNELS.csv MICROSECONDS    ns that alpha takes beyond what was asked for
    gains.py table FOLDER ROUNDS CASE:FORESEEN...

Of each round, FOLDER has CASE.ROUND.SIDE.out, in which the program says its median: alone, with the
fault and without (bare_before, bare_after), and recorded (before, after). CASE.ROUND.before.json is
what miniprof foresees. Where kernel alpha is to take half its time, before.csv and after.csv show
whether it does. Exit status 1: a what-if is too far off, or the experiment says nothing.
"""
import csv
import json
import os
import statistics
import sys

MAX_WHAT_IF_ERROR = 5.0  # points: percent of the time before; rules are only shown
MAX_SKEW = 2.0           # percent, of alpha's second time from half of its first

HEAD = ("case", "foreseen by", "basis", "bare before, us", "bare after, us", "gain taken",
        "gain if recorded", "gain foreseen", "error, points")


def alpha_time(path):
    """ns: the median, from `miniprof dump --table kernel --csv`."""
    with open(path, encoding="utf-8") as file:
        return statistics.median(int(row["duration_ns"]) for row in csv.DictReader(file)
                                 if row["shape"] == "alpha_layer")


def own_median(path):
    """us of an iteration, in the program's own line."""
    with open(path, encoding="utf-8") as file:
        words = file.read().split()
    return float(words[words.index("median_us") + 1])


def gain(before, after):
    """Percent of the time before."""
    return 100 * (1 - after / before)


def foreseen_gain(report, how):
    """(percent, on which basis it is) of what `deps` or `advise` says; 0 without a finding."""
    if "what_if" in report:
        windows = report["what_if"]["windows"]
        now, new = (statistics.median(window[key] for window in windows)
                    for key in ("now_ns", "new_ns"))
        return gain(now, new), report["what_if"].get("basis") or report.get("basis")
    for finding in report["findings"]:
        if finding["rule"] == how:
            return finding["gain_percent"], finding.get("basis") or report.get("basis")
    return 0.0, report.get("basis")


def with_spread(values):
    return f"{statistics.median(values):,.1f} ({min(values):,.1f} to {max(values):,.1f})"


class Case:
    """All rounds of one case."""

    def __init__(self, folder, rounds, name, how):
        self.name, self.how, self.complaints = name, how, []
        starts = [os.path.join(folder, f"{name}.{n}") for n in range(rounds)]
        self.before, self.after, *recorded = [
            [own_median(f"{start}.{side}.out") for start in starts]
            for side in ("bare_before", "bare_after", "before", "after")]
        self.taken = gain(*map(statistics.median, (self.before, self.after)))
        self.recorded = gain(*map(statistics.median, recorded))
        said = []
        for start in starts:
            with open(start + ".before.json", encoding="utf-8") as file:
                said.append(foreseen_gain(json.load(file), how))
        self.basis = said[0][1] or "as_recorded"
        self.foreseen = statistics.median(percent for percent, _ in said)
        self.error = self.foreseen - self.taken
        if "=" in how and abs(self.error) > MAX_WHAT_IF_ERROR:
            self.complaints.append(f"the gain is {self.error:+.1f} points off")
        if os.path.exists(starts[0] + ".before.csv"):
            self.judge_alpha(starts)

    def judge_alpha(self, starts):
        first, second = (statistics.median(alpha_time(f"{start}.{side}.csv") for start in starts)
                         for side in ("before", "after"))
        skew = 100 * (2 * second / first - 1)
        if abs(skew) > float(os.environ.get("MAX_SKEW", MAX_SKEW)):
            self.complaints.append("the experiment is invalid: alpha's second time is"
                                   f" {skew:+.1f} % off half of its first")

    def row(self):
        return (self.name, self.how.replace(";", ", "), self.basis.replace("_", " "),
                with_spread(self.before), with_spread(self.after), f"{self.taken:.1f} %",
                f"{self.recorded:.1f} %", f"{self.foreseen:.1f} %", f"{self.error:+.1f}")


def table(folder, rounds, named):
    """The lines of the table, then what is wrong."""
    cases = [Case(folder, rounds, *word.split(":", 1)) for word in named]
    lines = [f"| {' | '.join(row)} |" for row in [HEAD, *(case.row() for case in cases)]]
    return ([f"Medians of an iteration (least to greatest) of {rounds} rounds", "", lines[0],
             "|---" * len(HEAD) + "|", *lines[1:]],
            [f"FAILED: {case.name}: {text}" for case in cases for text in case.complaints])


def main(arguments):
    if arguments[0] == "overhead":
        print(max(0, round(alpha_time(arguments[1]) - 1000 * int(arguments[2]))))
        return 0
    lines, complaints = table(arguments[1], int(arguments[2]), arguments[3:])
    print("\n".join(lines + complaints))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
