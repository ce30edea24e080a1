#!/usr/bin/env python3
"""What `miniprof run --pairs` says that recording costs, against the program's own clock.

    pairs.py line --miniprof FILE --pairs N --program "NAME|SET|KIND" STEM    what pairs.sh left
    pairs.py merge FILE...          the tables of all lines; of a program's lines, the last counts

`line` reads STEM.out, in which each of the 2 N runs has printed its truth, and the kept trace
STEM.PID.mpt. A line of a file is

    PROGRAM|SET|KIND|BARE|RECORDED|LINE|MODEL|WHY

BARE and RECORDED are the runs' own P50s, us with commas between them. LINE is what `iters` says of
recording's cost, and MODEL what it says without the bare runs: "SOURCE OF WITHOUT LOW HIGH", in us,
with "-" for what is not known. WHY is the reason of a line without numbers. SET is zoo or
strangers. Of a program that did not run, the fourth field is "failed" or "not tried", the fifth the
reason.
"""
import argparse
import collections
import glob
import json
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../zoo"))

import judge  # pylint: disable=wrong-import-position

NOT_MEASURED = ("failed", "not tried")
SETS = ("zoo", "strangers")
GOOD = 3.0         # percent of the bare time
OTHER_UNIT = 10.0  # percent: an iteration of `iters` that differs by more is not the program's


# ---- Lines ---------------------------------------------------------------------------------------

def own_p50s(truths, runs):
    """us of each run: the median of its processes."""
    if not truths or len(truths) % runs:
        raise SystemExit(f"{len(truths)} lines of truth in {runs} runs")
    each = len(truths) // runs
    return [statistics.median(truth.p50 for truth in truths[i:i + each])
            for i in range(0, len(truths), each)]


def kept_trace(stem, pids):
    """That of the first process of the last run that left one."""
    for path in [f"{stem}.{pid}.mpt" for pid in pids] + sorted(glob.glob(f"{stem}*.mpt")):
        if os.path.exists(path):
            return path
    raise SystemExit("there is no trace")


def recording_cost(miniprof, trace, *options):
    done = subprocess.run([miniprof, "iters", "--json", *options, trace], check=False,
                          capture_output=True, text=True, timeout=120)
    if done.returncode > 1: # 1: the trace is not whole, and is read all the same
        return {"source": None, "why_not": done.stderr.strip().split("\n")[-1]}
    return json.loads(done.stdout)["recording_cost"]


def us(value):
    return "-" if value is None else f"{value / 1e3:.2f}"


def said_text(cost):
    """SOURCE OF WITHOUT LOW HIGH"""
    without = cost.get("without_ns")
    if without is None and cost.get("cost_ns") is not None:
        without = cost["of_ns"] - cost["cost_ns"]
    words = [cost.get("of_ns"), without, cost.get("low_ns"), cost.get("high_ns")]
    return " ".join([cost["source"] or "-", *map(us, words)])


def make_line(options):
    truths = judge.Truth.read(options.stem + ".out")
    p50s = own_p50s(truths, 2 * options.pairs)
    last = truths[-(len(truths) // len(p50s)):]
    trace = kept_trace(options.stem, [truth.pid for truth in last])
    cost = recording_cost(options.miniprof, trace)
    model = recording_cost(options.miniprof, trace, "--cost-by-model")
    why = str(cost.get("why_not") or model.get("why_not") or "-").replace("|", "/")
    print("|".join([options.program, *(",".join(f"{p50:.2f}" for p50 in side)
                                       for side in (p50s[::2], p50s[1::2])),
                    said_text(cost), said_text(model), why]))


# ---- Tables --------------------------------------------------------------------------------------

def quartiles(values):
    """(first, third); of few values between the two nearest ones."""
    if len(values) == 1:
        return values[0], values[0]
    first, _, third = statistics.quantiles(values, n=4, method="inclusive")
    return first, third


class Said:
    """Recording's cost as it was said: source, and us; None for what is not known."""

    def __init__(self, text, recorded):
        """`recorded`: what the program itself measured of the same runs, us."""
        source, *numbers = text.split(" ")
        self.source = None if source == "-" else source
        of, *rest = [None if word == "-" else float(word) for word in numbers]
        self.scaled = bool(of) and abs(of / recorded - 1) > OTHER_UNIT / 100
        factor = recorded / of if self.scaled else 1
        self.without, self.low, self.high = [word if word is None else word * factor
                                             for word in rest]

    def error(self, bare):
        """Percent of the bare time; None if nothing is said."""
        return None if self.without is None else 100 * (self.without / bare - 1)

    def holds(self, bare):
        """Whether the interval has the bare time; None if there is none."""
        return None if self.low is None or self.high is None else self.low <= bare <= self.high

    def text(self):
        if self.without is None:
            return "-"
        ends = "" if self.low is None or self.high is None else \
            f" ({self.low:,.1f} to {self.high:,.1f})"
        return f"{self.without:,.1f}{ends}, {self.source}{'*' if self.scaled else ''}"


class Program:
    def __init__(self, fields):
        self.name, self.set, self.kind, bare, recorded, line, model, self.why = fields
        self.bare, self.recorded = ([float(word) for word in side.split(",")]
                                    for side in (bare, recorded))
        self.median, self.spread = statistics.median(self.bare), quartiles(self.bare)
        self.line = Said(line, statistics.median(self.recorded))
        self.model = Said(model, self.recorded[-1])

    def ratio(self):
        return statistics.median(one / other for one, other in zip(self.recorded, self.bare))

    def is_good(self):
        """Whether the line is near enough; None if it says nothing."""
        error = self.line.error(self.median)
        if error is None:
            return None
        return abs(error) <= GOOD or self.spread[0] <= self.line.without <= self.spread[1]

    def row(self):
        holds = self.line.holds(self.median)
        return (self.name, self.kind,
                f"{self.median:,.1f} ({self.spread[0]:,.1f} to {self.spread[1]:,.1f})",
                f"{self.ratio():.3f}", self.line.text(), percent(self.line.error(self.median)),
                "-" if holds is None else "yes" if holds else "no", self.model.text(),
                percent(self.model.error(self.median)))


HEAD = ("program", "kind", "bare, us", "recorded / bare", "without recording, us", "error",
        "holds the truth", "by the model, us", "error")


def percent(value):
    return "-" if value is None else f"{value:+.1f} %"


def read_programs(paths):
    """([Program], [why one did not run])"""
    rows = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for line in file:
                fields = line.rstrip("\n").split("|")
                if len(fields) in (5, 8):
                    rows[tuple(fields[:2])] = fields
    return ([Program(row) for row in rows.values() if len(row) == 8],
            [f"{row[3]}: {row[0]}: {row[4]}" for row in rows.values() if row[3] in NOT_MEASURED])


def table_text(head, rows):
    first, *others = [f"| {' | '.join(row)} |" for row in [head, *rows]]
    return [first, "|---" * len(head) + "|", *others]


def counted(verdicts):
    """"K of N, by source", of [(source, whether it is so)]."""
    known = [(source, holds) for source, holds in verdicts if holds is not None]
    by_source = collections.defaultdict(list)
    for source, holds in known:
        by_source[source].append(holds)
    parts = [f"{source} {sum(holds)} of {len(holds)}" for source, holds in by_source.items()]
    return f"{sum(holds for _, holds in known)} of {len(known)}" + \
        (f" ({', '.join(parts)})" if parts else "")


def errors_text(programs):
    """Of the model: programs, median and maximum of the absolute errors."""
    errors = [abs(error) for error in (program.model.error(program.median) for program in programs)
              if error is not None]
    return f"{len(errors)}: {statistics.median(errors):.1f}, {max(errors):.1f}" if errors else "-"


def summary(programs):
    yield f"{len(programs)} programs. *: iterations are not the program's, so shares are compared."
    said = [(program.line.source, program) for program in programs]
    yield (f"The line is within {GOOD:g} % or within the program's own quartiles: "
           + counted([(source, program.is_good()) for source, program in said]))
    yield ("Its interval holds the truth: "
           + counted([(source, program.line.holds(program.median)) for source, program in said]))
    for program in programs:
        if program.line.without is None:
            yield f"The line says nothing: {program.name}: {program.line.source}, {program.why}"
    yield ""
    yield "Errors of the model, in %: programs: median, maximum"
    yield ""
    kinds = sorted({program.kind for program in programs})
    yield from table_text(("kind", *SETS), [
        (kind or "all", *(errors_text([program for program in programs if program.set == name
                                       and kind in ("", program.kind)]) for name in SETS))
        for kind in [*kinds, ""]])


def merged(paths):
    """The lines of all tables."""
    programs, broken = read_programs(paths)
    for name in SETS:
        rows = [program.row() for program in programs if program.set == name]
        if rows:
            yield from [f"{name}:", "", *table_text(HEAD, rows), ""]
    yield from summary(programs)
    yield from (["", *broken] if broken else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    line = commands.add_parser("line")
    line.add_argument("--miniprof", required=True)
    line.add_argument("--pairs", type=int, required=True)
    line.add_argument("--program", required=True)
    line.add_argument("stem")
    merge = commands.add_parser("merge")
    merge.add_argument("files", nargs="+")
    options = parser.parse_args()
    if options.command == "line":
        make_line(options)
    else:
        print("\n".join(merged(options.files)))


if __name__ == "__main__":
    main()
