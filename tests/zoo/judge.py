#!/usr/bin/env python3
"""What miniprof says of a trace against the line of truth that its program printed.

    judge.py --miniprof FILE [--keep FOLDER] WORK ROUNDS "SIDE..." CASE...    what run.sh left
    judge.py --miniprof FILE --committed FOLDER              NAME.mpt with NAME.truth, a line each

docs/zoo.md has the statements that are judged. Exit status 1: one of them does not hold.
"""
import argparse
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys

GREATEST_P50_ERROR = 5.0       # percent of what the program measured in the same run
GREATEST_P50_ERROR_US = 5.0    # or this much, for the calls around what miniprof sees
GREATEST_ESTIMATE_ERROR = 7.0  # percent of what the program takes alone, by estimate,
GREATEST_MEASURED_ERROR = 3.0  # and with a baseline
MIN_COVERAGE = 80.0          # percent of the GPU's work; below it a warning stands
MIN_NAMED = 95.0             # percent of the critical path
GREATEST_GRAPH_ERROR = 20.0    # percent of what the iteration takes alone as a CUDA graph
GREATEST_TRACE = 300 * 1000    # bytes of a trace that is kept
SKIPPED = 77


def strangers_fields(fields):
    """Those of a line `TRUTH kernels= iters= p50_us= ... note=`, in the zoo's words. A count below
    0 is not meant."""
    known = {"pid": fields["pid"], "count": fields["iters"], "p50_us": fields["p50_us"],
             "unit": "iteration", "clock": "latency", "name": "-"}
    if int(fields["kernels"]) >= 0:
        known["kernels"] = fields["kernels"]
    return known


class Truth:
    """A line `truth KEY=VALUE...`, or one of strangers: `TRUTH KEY=VALUE... note=WORDS`."""

    def __init__(self, line):
        words = line.split(" note=")[0].split()
        fields = dict(word.split("=", 1) for word in words[1:])
        if words[0] == "TRUTH":
            fields = strangers_fields(fields)
        self.line = line.strip()
        self.pid, self.count = int(fields["pid"]), int(fields["count"])
        self.unit, self.clock, self.name = fields["unit"], fields["clock"], fields["name"]
        # One for each capture range if they differ.
        self.by_range = [float(p50) for p50 in fields["p50_us"].split(",")]
        self.p50 = self.by_range[0]
        self.whole = fields.get("whole") != "no"
        self.alone = float(fields["alone_p50_us"]) if "alone_p50_us" in fields else None
        self.graph_p50 = float(fields["graph_p50_us"]) if "graph_p50_us" in fields else None
        self.graph_alone = (float(fields["graph_alone_p50_us"])
                            if "graph_alone_p50_us" in fields else None)
        self.kernels = int(fields["kernels"]) if "kernels" in fields else None
        if self.unit not in ("iteration", "request") or self.clock not in ("latency", "step"):
            raise ValueError(f"unit={self.unit} clock={self.clock}")

    @classmethod
    def read(cls, path):
        """The truths in what a program said."""
        with open(path, encoding="utf-8", errors="replace") as file:
            return [cls(line) for line in file if cls.is_one(line)]

    @staticmethod
    def is_one(line):
        return line.startswith(("truth ", "TRUTH ")) and "skipped=1" not in line.split()


class Said:
    """What the commands say of a trace; a command that fails says nothing."""

    def __init__(self, miniprof, trace):
        self.trace, self.errors = trace, []
        for command in ("info", "iters", "deps", "advise", "summary"):
            setattr(self, command, self.ask(miniprof, command))
        self.pid = int(self.info["properties"]["pid"]) if self.info else None

    def ask(self, miniprof, command, *options):
        done = subprocess.run([miniprof, command, "--json", *options, self.trace], check=False,
                              capture_output=True, text=True, timeout=120)
        try:
            return json.loads(done.stdout)
        except ValueError:
            said = done.stderr.strip().splitlines() or ["nothing"]
            self.errors.append(f"{command}: exit status {done.returncode}: {said[-1]}")
            return None

    def p50(self, clock):
        """us of an iteration, by the same clock as the program's."""
        said = self.advise if clock == "step" else self.iters
        if not said:
            return None
        return (said["step_p50_ns"] if clock == "step"
                else said["statistics"]["latency_ns"]["p50"]) / 1e3

    def times(self, truth):
        """us of an iteration: P50, or that of each capture range if they differ."""
        kinds = self.iters["headline"]["kinds"] if self.iters else []
        if len(truth.by_range) > 1:
            return [kind["p50_ns"] / 1e3 for kind in kinds]
        p50 = self.p50(truth.clock)
        return [] if p50 is None else [p50]

    def without_recording(self, clock):
        """The same less what recording is said to cost; None: nothing is said."""
        cost = self.iters["recording_cost"] if self.iters else {"cost_ns": None}
        p50 = self.p50(clock)
        if not cost["cost_ns"] or p50 is None:
            return None
        return p50 * (1 - cost["cost_ns"] / cost["of_ns"])

    def is_measured(self):
        """Whether the cost of recording was measured, not estimated."""
        return bool(self.iters) and self.iters["recording_cost"]["source"] in (
            "measured_beside", "measured_in_run", "not_recorded")

    def by(self):
        if not self.iters:
            return "-"
        return f"{self.iters['by']} {self.iters['name'] or ''}".strip()[:24]

    def named(self):
        """Percent of the path that is a call, GPU work, or time outside of both with a cause."""
        if not self.deps or not self.deps["window_ns"]:
            return None
        unnamed = self.deps["parts"]["host_code_ns"] + self.deps["parts"]["unknown_ns"]
        return 100 - 100 * unnamed / self.deps["window_ns"]

    def kernels(self):
        """How often kernels ran."""
        groups = self.summary["groups"] if self.summary else []
        return sum(row["calls"] for group in groups if group["name"] == "gpu_activities"
                   for row in group["rows"] if not row["name"].startswith("[CUDA mem"))

    def first_advice(self):
        findings = self.advise["findings"] if self.advise else []
        return f"{findings[0]['rule']} {findings[0]['gain_percent']:.0f} %" if findings else "-"

    def as_graph(self):
        """us of an iteration as a CUDA graph, as is advised; None without that advice."""
        for finding in self.advise["findings"] if self.advise else []:
            if finding["rule"] == "launch_bound" and finding["gain_ns"] is not None:
                return (self.advise["basis_p50_ns"] - finding["gain_ns"]) / 1e3
        return None

    def warns(self):
        """Whether the iterations are said to be a small part of the work."""
        coverage = self.iters.get("coverage_percent")
        return coverage is not None and coverage < MIN_COVERAGE


def statements(truth, said):
    """(what, whether it holds, how it differs) of one process."""
    yield "answers", not said.errors, "; ".join(said.errors)
    quality = (said.summary or {}).get("quality", {})
    yield ("whole", quality.get("whole") is truth.whole and not quality.get("dropped"),
           f"quality {json.dumps(quality)[:120]}")
    blocks = bool(said.iters) and "baseline" in said.iters
    if said.iters:
        count = said.iters["count"]
        yield ("count", blocks or count == truth.count or said.warns() or
               (truth.count < 0 and said.by() == "whole"),
               f"{count} by {said.by()}, not {truth.count} {truth.unit}s, and no warning")
        ranges = said.iters["name"] if said.iters["by"] == "nvtx" else "-"
        yield ("name", ranges == truth.name,
               f"named by {ranges}, not by {truth.name}" if truth.name != "-" else
               f"named by {ranges}, which is not the program's")
    times = said.times(truth) if not blocks and truth.count >= 0 else []
    for p50, own in zip(times, truth.by_range):
        limit = max(GREATEST_P50_ERROR_US, own * GREATEST_P50_ERROR / 100)
        yield ("P50", abs(p50 - own) <= limit and len(times) == len(truth.by_range),
               f"{p50:.1f} us, not {own:.1f} as the program measured in this run")
    without = said.without_recording(truth.clock)
    if truth.alone is not None and without is not None:
        limit = GREATEST_MEASURED_ERROR if said.is_measured() else GREATEST_ESTIMATE_ERROR
        yield ("recording cost", abs(without / truth.alone - 1) <= limit / 100,
               f"{without:.1f} us without recording, {truth.alone:.1f} alone")
    if truth.kernels is not None and not blocks:
        yield ("kernels", said.kernels() == truth.kernels,
               f"{said.kernels()} kernels, not {truth.kernels}")
    if truth.graph_alone is not None:
        advised = said.as_graph()
        yield ("graph", advised is not None and
               abs(advised / truth.graph_alone - 1) <= GREATEST_GRAPH_ERROR / 100,
               "no advice to use a graph" if advised is None else
               f"advised: {advised:.1f} us as a CUDA graph; it takes {truth.graph_alone:.1f}")
    if said.named() is not None:
        yield "path", said.named() >= MIN_NAMED, f"only {said.named():.1f} % of it is named"


class Verdicts:
    """What holds and what does not, in the order of the cases."""

    def __init__(self):
        self.held, self.failed = 0, []

    def judge(self, where, truth, said):
        """Number of statements that hold, and of all."""
        results = list(statements(truth, said))
        for what, holds, why in results:
            self.add(holds, f"{where}: {what}: {why}")
        return sum(holds for _, holds, _ in results), len(results)

    def add(self, holds, why):
        if holds:
            self.held += 1
        else:
            self.failed.append(why)

    def finish(self, more=""):
        for why in self.failed:
            print("does not hold: " + why)
        print(f"{self.held} of {self.held + len(self.failed)} statements hold{more}")
        return 1 if self.failed or not self.held else 0


# ---- What run.sh left ---------------------------------------------------------------------------

class Run:
    """One run of a program: NAME.out, NAME.err, NAME.status, NAME.PID.mpt."""

    def __init__(self, path, miniprof=None):
        with open(path + ".status", encoding="ascii") as file:
            status, seconds = file.read().split()
        self.status, self.seconds = int(status), float(seconds)
        self.skipped = self.status == SKIPPED
        self.wrong, self.truths = "", []
        if not self.status:
            self.read_truths(path + ".out")
        elif not self.skipped:
            self.wrong = f"exit status {status}: {last_line(path + '.err')}"
        traces = [] if self.status else sorted(glob.glob(glob.escape(path) + ".*.mpt"))
        self.said = {said.pid: said for said in (Said(miniprof, trace) for trace in traces)}

    def read_truths(self, path):
        try:
            self.truths = Truth.read(path)
        except (ValueError, KeyError) as error:
            self.wrong = f"a line of truth cannot be read: {error}"
        if not self.truths and not self.wrong:
            self.wrong = "it prints no line of truth"


def last_line(path):
    """What a program said at last; "" if nothing."""
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = [line.strip() for line in file if line.strip()]
    return lines[-1][:160] if lines else ""


def median(values):
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def shown(value, form="{:.1f}"):
    return "-" if value is None else form.format(value)


def ratio(one, other):
    return one / other if one and other else None


class Case:
    """A program's runs: a row of the table for each side that was recorded."""

    def __init__(self, options, name):
        self.name, self.rounds = name, options.rounds
        self.runs = {side: [Run(f"{options.work}/{name}.{i}.{side}", options.miniprof)
                            for i in range(options.rounds)] for side in options.sides}
        every = [run for runs in self.runs.values() for run in runs]
        self.skipped = all(run.skipped for run in every)
        for run in every:
            if run.skipped and not self.skipped:
                run.wrong = "it was skipped, and ran otherwise"
        self.why = last_line(f"{options.work}/{name}.0.alone.out")
        self.broken = [f"{name}: {side}: {run.wrong}" for side, runs in self.runs.items()
                       for run in runs if run.wrong]

    def pairs(self, side):
        """(truth, said) of each process of each round; None for a trace that is missing."""
        found = [(truth, run.said.get(truth.pid)) for run in self.runs[side]
                 for truth in run.truths]
        for truth, _ in found:
            truth.alone = median(own.p50 for run in self.runs["alone"] for own in run.truths)
            if truth.graph_p50:
                truth.graph_alone = median(own.graph_p50 for run in self.runs["alone"]
                                           for own in run.truths)
        return found

    def row(self, side, verdicts):
        """Cells of the table."""
        pairs, held, judged = self.pairs(side), 0, 0
        for truth, said in pairs:
            if said:
                holds, of = verdicts.judge(f"{self.name}: {side}", truth, said)
                held, judged = held + holds, judged + of
            else:
                verdicts.add(False, f"{self.name}: {side}: process {truth.pid} left no trace")
                judged += 1
        known = [(truth, said) for truth, said in pairs if said]
        alone = median(truth.p50 for run in self.runs["alone"] for truth in run.truths)
        recorded = median(truth.p50 for truth, _ in pairs)
        first, said = known[0] if known else (None, None)
        return (self.name, side, f"{first.count} {first.unit}s" if first else "-",
                str(said.iters["count"]) if said and said.iters else "-",
                said.by() if said else "-", shown(alone), shown(recorded),
                shown(median(said.p50(truth.clock) for truth, said in known)),
                shown(median(said.without_recording(truth.clock) for truth, said in known)),
                shown(ratio(recorded, alone), "{:.3f}"),
                shown(median(said.named() for _, said in known)),
                said.first_advice() if said else "-",
                shown(median(run.seconds for run in self.runs[side])), f"{held} of {judged}")

    def keep(self, folder, verdicts):
        """The first round's traces, each with its truth."""
        run = self.runs["recorded"][0]
        for number, truth in enumerate(run.truths, 1):
            said = run.said.get(truth.pid)
            if not said:
                continue
            size = os.path.getsize(said.trace)
            verdicts.add(size <= GREATEST_TRACE, f"{self.name}: keep: the trace has {size} bytes, "
                                                 f"more than {GREATEST_TRACE}: not kept")
            if size <= GREATEST_TRACE:
                stem = self.name if len(run.truths) == 1 else f"{self.name}_{number}"
                shutil.copyfile(said.trace, f"{folder}/{stem}.mpt")
                with open(f"{folder}/{stem}.truth", "w", encoding="utf-8") as file:
                    print(truth.line, file=file)


def judge_runs(options):
    head = ("program", "side", "its own count", "said", "by", "own P50 alone, us",
            "own P50 here", "said P50", "without recording", "here / alone", "path named, %",
            "first advice", "s", "holds")
    verdicts, skipped = Verdicts(), []
    print(f"{options.rounds} rounds; P50: medians\n\n| {' | '.join(head)} |\n|"
          + "---|" * len(head))
    for name in options.cases:
        case = Case(options, name)
        for why in case.broken:
            verdicts.add(False, why)
        if case.skipped:
            skipped.append(f"{name}: {case.why}")
            continue
        for side in options.sides:
            if side != "alone":
                print("| " + " | ".join(case.row(side, verdicts)) + " |")
        if options.keep:
            case.keep(options.keep, verdicts)
    print()
    for why in skipped:
        print("not tried: " + why)
    with open(f"{options.work}/counts", "w", encoding="ascii") as file:
        print(verdicts.held, len(verdicts.failed), file=file)
    return verdicts.finish(f"; {len(options.cases) - len(skipped)} programs, "
                           f"{len(skipped)} not tried")


# ---- Traces of a folder -------------------------------------------------------------------------

def judge_committed(options):
    """Of each trace that its iterations are those that its truth says; none without the other."""
    stems = sorted({os.path.splitext(path)[0] for kind in ("mpt", "truth")
                    for path in glob.glob(f"{glob.escape(options.committed)}/*.{kind}")})
    if not stems:
        print(f"no traces in {options.committed}: `make gpu-zoo KEEP=FOLDER` makes some")
        return SKIPPED
    failed = 0
    for stem in stems:
        why = judge_stem(options.miniprof, stem)
        failed += bool(why)
        print(f"FAILED {os.path.basename(stem)}: {why}" if why else
              f"ok {os.path.basename(stem)}")
    print(f"{len(stems) - failed} passed, {failed} failed")
    return 1 if failed else 0


def judge_stem(miniprof, stem):
    """What is wrong with it; "" if nothing."""
    for kind, other in (("mpt", "truth"), ("truth", "mpt")):
        if not os.path.exists(f"{stem}.{kind}"):
            return f"there is a .{other}, but no .{kind}"
    if os.path.getsize(stem + ".mpt") > GREATEST_TRACE:
        return f"the trace has more than {GREATEST_TRACE} bytes"
    try:
        truths = Truth.read(stem + ".truth")
    except (ValueError, KeyError) as error:
        return f"its truth cannot be read: {error}"
    if len(truths) != 1:
        return f"{len(truths)} lines of truth, not 1"
    said = Said(miniprof, stem + ".mpt")
    if said.info and said.pid != truths[0].pid:
        return f"the trace is of process {said.pid}, its truth of {truths[0].pid}"
    return "; ".join(f"{what}: {why}" for what, holds, why in statements(truths[0], said)
                     if what != "path" and not holds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--miniprof", required=True)
    parser.add_argument("--keep")
    parser.add_argument("--committed")
    parser.add_argument("work", nargs="?")
    parser.add_argument("rounds", nargs="?", type=int)
    parser.add_argument("sides", nargs="?", type=str.split)
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    return judge_committed(options) if options.committed else judge_runs(options)


if __name__ == "__main__":
    sys.exit(main())
