#!/usr/bin/env python3
"""The aims of recording at a low cost, each with what was measured and whether it was reached.

    aims.py FILE     FILE: what the scripts of this folder measured (results.py)

Sides are compared round by round, so that an hour in which the machine is slow is slow for all:
numbers are medians over the rounds, with the least and the greatest. "Not measured" has the reason.
Exit code 1 if an aim was missed in what may not vary with the machine: lost records, traces that do
not open, times that cannot be.
"""
import math
import statistics
import sys

from results import Results, with_spread

sys.dont_write_bytecode = True

MIB = 2.0 ** 20
NOTHING_PERCENT = 1.0  # less than that between two sides is not told apart by these runs


UNDECIDED = "undecided"


class Part:
    """One statement of a row: a text, and whether it holds: True, False or UNDECIDED; None if there
    is nothing to judge."""

    def __init__(self, text, holds=None, missing=None):
        self.text, self.holds, self.missing = text, holds, missing


def missing(what):
    return Part("", None, what)


def percent(side, other):
    return 100 * (side - other) / other


def difference(side, other):
    return side - other


def verdict(parts, reasons):
    lacking = [part.missing for part in parts if part.missing]
    judged = [part.holds for part in parts if part.holds is not None]
    if not judged:
        # The script's own reason is better than a list of what it did not measure.
        return "not measured: " + ("; ".join(dict.fromkeys(reasons)) or ", ".join(lacking))
    word = "reached"
    if not all(judged):
        word = "not reached"
    elif UNDECIDED in judged:
        word = "not decided: the rounds differ by more"
    return f"{word}; not measured: {', '.join(lacking)}" if lacking else word


def surely_above(values):
    """What the median over all rounds there could be is above, with a chance of 97 %: the value at
    that place in order, by the binomial distribution; with fewer than six rounds the least."""
    values = sorted(values)
    below = total = 0
    for below in range(len(values)):
        total += math.comb(len(values), below)
        if total > 0.03 * 2 ** len(values):
            break
    return values[max(below - 1, 0)]


def nothing_to_measure(percents):
    """No cost that could be told from none: it is small, or there may be none."""
    return statistics.median(percents) <= NOTHING_PERCENT or surely_above(percents) <= 0


def at_most(values, bound):
    if statistics.median(values) <= bound:
        return True
    return UNDECIDED if surely_above(values) <= bound else False


# ---- Rows: functions of the results that give parts -------------------------------------------

def extra(results, group, side, bare, kind):
    return results.paired(group, side, bare, "inside", kind, difference)


def launch_row(results):
    ours = extra(results, "calls", "miniprof", "bare", "launch")
    if not ours:
        return [missing("single calls")]
    median = statistics.median(ours)
    parts = [Part(f"{with_spread(ours)} ns of "
                  f"{with_spread(results.list('calls', 'bare', 'inside', 'launch'))}")]
    cupti = extra(results, "calls", "CUPTI", "bare", "launch")
    if cupti and statistics.median(cupti) > 0:
        ratio = median / statistics.median(cupti)
        whole = results.paired("calls", "miniprof", "CUPTI", "inside", "launch", lambda a, b: a / b)
        parts.append(Part(f"bare CUPTI {with_spread(cupti)}: {ratio:.2f} x (of the whole launch "
                          f"{statistics.median(whole):.3f} x)", ratio <= 1.03))
    else:
        parts.append(missing("CUPTI"))
    parts.append(peer_part(extra(results, "calls", "nsys", "bare", "launch"), median, "nsys"))
    inside = extra(results, "torch", "miniprof", "bare", "launch")
    torch = extra(results, "torch", "torch.profiler", "bare", "launch")
    if inside and torch:
        parts.append(Part(f"inside Python {with_spread(inside)}"))
        parts.append(peer_part(torch, statistics.median(inside), "torch.profiler"))
    else:
        parts.append(missing("torch.profiler"))
    return parts


def peer_part(values, ours, name, form="{:,.0f}"):
    if not values:
        return missing(name)
    return Part(f"{name} {with_spread(values, form)}", ours < statistics.median(values))


def model_row(model):
    def row(results):
        def slowdown(side):
            return results.paired("torch", side, "bare", "model", model, lambda a, b: a / b)
        ours = slowdown("miniprof")
        if not ours:
            return [missing(model)]
        bare = with_spread(results.list("torch", "bare", "model", model), "{:.2f}")
        parts = [Part(f"{with_spread(ours, '{:.3f}')} x of {bare} ms")]
        for peer in ("torch.profiler", "nsys"):
            parts.append(peer_part(slowdown(peer), statistics.median(ours), peer, "{:.3f}"))
        return parts
    return row


GRAPH = "graph of 100 kernels"


def graph_level_row(results):
    ours = results.paired("calls", "miniprof, graph level", "bare", "inside", GRAPH, percent)
    if not ours:
        return [missing("single calls")]
    bare = with_spread(results.list("calls", "bare", "inside", GRAPH))
    return [Part(f"{with_spread(ours, '{:+.1f}')} % of {bare} ns", statistics.median(ours) <= 6)]


def graph_node_row(results):
    ours = results.paired("calls", "miniprof", "bare", "inside", GRAPH, percent)
    if not ours:
        return [missing("single calls")]
    nsys = results.paired("calls", "nsys", "bare", "inside", GRAPH, percent)
    parts = [Part(f"{with_spread(ours, '{:+.1f}')} %")]
    if not nsys:
        return parts + [missing("nsys")]
    theirs = statistics.median(nsys)
    return parts + [Part(f"nsys {with_spread(nsys, '{:+.1f}')} %",
                         statistics.median(ours) <= theirs)]


def nvtx_row(results):
    kind = "NVTX push+pop"
    ours = results.list("calls", "miniprof", "inside", kind)
    if not ours:
        return [missing("single calls")]
    median = statistics.median(ours)
    parts = [Part(f"{with_spread(ours)} ns", median <= 60)]
    for name, side, share in (("CUPTI", "CUPTI, NVTX", 3), ("nsys", "nsys", 10)):
        theirs = results.list("calls", side, "inside", kind)
        if theirs:
            parts.append(Part(f"{name} {with_spread(theirs)}",
                              median <= statistics.median(theirs) / share))
        else:
            parts.append(missing(name))
    return parts


def outside_row(results):
    parts = []
    for kind in ("cudaGetDevice", "cudaGetLastError", "3,000 cheap calls"):
        ours = results.paired("calls", "miniprof", "bare", "inside", kind, percent)
        if ours:
            parts.append(Part(f"{kind} {with_spread(ours, '{:+.1f}')} %",
                              nothing_to_measure(ours)))
    return parts or [missing("single calls")]


def range_row(side):
    def row(results):
        parts = []
        for kind in ("launch", GRAPH):
            for phase in ("before", "between", "after"):
                ours = results.paired("calls", side, "bare", phase, kind, percent)
                if ours:
                    parts.append(Part(f"{kind.split()[0]} {phase} {with_spread(ours, '{:+.1f}')} %",
                                      at_most(ours, 0.5)))
        return parts or [missing("single calls" if side != "miniprof run, attach range" else
                                 "miniprof run has no --attach, or single calls")]
    return row


def cheap_row(results):
    kind = "3,000 cheap calls"
    def added(side):
        return [ns / 1e3 for ns in extra(results, "torch", side, "bare", kind)]
    percents = results.paired("torch", "miniprof", "bare", "inside", kind, percent)
    if not percents:
        return [missing("PyTorch")]
    parts = [Part(f"{with_spread(added('miniprof'), '{:+.1f}')} us an iteration"
                  f" ({statistics.median(percents):+.1f} %)", nothing_to_measure(percents))]
    for peer in ("nsys", "torch.profiler"):
        parts.append(Part(f"{peer} {with_spread(added(peer), '{:+.1f}')} us") if added(peer) else
                     missing(peer))
    return parts


def start_row(results):
    ours = [ns / 1e6 for ns in results.paired("start", "miniprof", "bare", "start", "cuInit",
                                              difference)]
    if not ours:
        return [missing("cuInit")]
    parts = [Part(f"{with_spread(ours, '{:+.1f}')} ms", statistics.median(ours) <= 15)]
    cupti = [ns / 1e6 for ns in results.paired("start", "CUPTI initialised", "bare", "start",
                                               "cuInit", difference)]
    if cupti:
        parts.append(Part(f"CUPTI by itself {with_spread(cupti, '{:+.1f}')}"))
    return parts


def memory_row(results):
    def most(side, kind):
        values = results.list("memory", side, "most", kind)
        return statistics.median(values) / MIB if values else None
    private, shared, device = "host, private", "host, shared", "GPU"
    if most("miniprof", private) is None or most("bare", private) is None:
        return [missing("memory")]
    added = most("miniprof", private) - most("bare", private)
    parts = [Part(f"host {added:+.1f} MiB")]
    if most("CUPTI", private) is None:
        return parts + [missing("CUPTI")]
    own = most("CUPTI", private) - most("bare", private)
    # CUPTI's side keeps its buffers in shared memory, which is not counted.
    beyond = added - own + most("miniprof", shared) - most("bare", shared)
    parts.append(Part(f"CUPTI's own {own:+.1f}: {beyond:.1f} beyond", beyond <= 64))
    pool = most("CUPTI", device) - most("bare", device)
    gpu = most("miniprof", device) - most("bare", device)
    parts.append(Part(f"GPU {gpu:+.1f}, CUPTI's {pool:+.1f}", gpu <= pool + 2))
    if most("nsys", private) is not None:
        parts.append(Part(f"nsys {most('nsys', private) - most('bare', private):+.1f} host"))
    return parts


MAX_GROWTH_MIB = 2


def growth_part(results, what):
    """Memory may grow by what it grows by with CUPTI alone, for as many kernels."""
    def number(side, phase):
        values = results.list("soak", side, phase, what)
        return values[0] if values else None
    rise, rate = number("miniprof", "growth"), number("miniprof", "growth a kernel")
    alone = number("CUPTI initialised", "growth a kernel")
    if rise is None:
        return missing(f"growth of {what}: too short")
    text = f"{what} {rise / MIB:+.2f} MiB"
    if rise <= MAX_GROWTH_MIB * MIB or alone is None:
        return Part(text, rise <= MAX_GROWTH_MIB * MIB)
    without = number("without", "growth a kernel")
    text += f" ({rate:.1f} B a kernel; CUPTI initialised, nothing enabled: {alone:.1f}"
    text += ")" if without is None else f", without it {without:.1f})"
    return Part(text, rate <= alone * (1 + NOTHING_PERCENT / 100))


SOAK_SECONDS = 30 * 60


def soak_row(results):
    def number(kind):
        values = results.list("soak", "miniprof", "all", kind)
        return values[0] if values else None
    if number("kernels") is None:
        return [missing("soak")]
    parts = [Part(f"{number('kernels'):,.0f} kernels in {number('seconds'):.0f} s, "
                  f"{number('kernels/s'):,.0f}/s ({number('launch calls/s'):,.0f} calls/s)",
                  number("kernels/s") >= 200000)]
    broken = {kind: number(kind) for kind in ("counts that differ", "dropped", "invalid times")}
    parts.append(Part(", ".join(f"{kind}: {n:,.0f}" for kind, n in broken.items()),
                      not any(broken.values()) and number("whole") == 1))
    if number("clock given again"):
        parts.append(Part(f"clock given again {number('clock given again'):.0f} times, "
                          f"{number('without times for that'):,.0f} kernels without times for it"))
    parts += [growth_part(results, what) for what in ("host, private", "host, shared", "GPU")]
    if number("seconds") < SOAK_SECONDS:
        parts.append(missing(f"{SOAK_SECONDS - number('seconds'):.0f} more seconds"))
    return parts


def sigkill_row(results):
    def number(kind):
        values = results.list("sigkill", "miniprof", "all", kind)
        return values[0] if values else None
    if not number("kills"):
        return [missing("sigkill")]
    parts = [Part(f"{number('kills'):.0f} kills ({number('no trace yet'):.0f} before there was "
                  f"anything to keep), {number('unreadable'):.0f} unreadable",
                  number("unreadable") == 0),
             Part(f"lost {number('median ms lost'):.0f} ms in the median, "
                  f"{number('most ms lost'):.0f} at most", number("late") == 0)]
    if number("kills") < 200:
        parts.append(missing(f"{200 - number('kills'):.0f} more kills"))
    return parts


MODEL_AIM = "less slowdown than torch.profiler(CUDA) and nsys -t cuda,nvtx"
RANGE_AIM = "before, between, after ranges in mode range: at most 0.5 %"
# The aim, the groups whose reasons for not measuring count, the row.
ROWS = (
    ("extra time per kernel launch, full capture to disk: at most 1.03 x of bare CUPTI, less than"
     " nsys and torch.profiler", ("calls", "torch"), launch_row),
    (f"ResNet-50 eager: {MODEL_AIM}", ("torch",), model_row("ResNet-50 eager")),
    (f"transformer of BERT's size, eager: {MODEL_AIM}", ("torch",), model_row("BERT eager")),
    (f"ResNet-50, CUDA graph at node level: {MODEL_AIM}", ("torch",), model_row("ResNet-50 graph")),
    (f"transformer, CUDA graph at node level: {MODEL_AIM}", ("torch",), model_row("BERT graph")),
    ("replay of a CUDA graph of 100 kernels, graph level: at most 6 % slower than without",
     ("calls",), graph_level_row),
    ("the same, node level: no slower than nsys's node level", ("calls",), graph_node_row),
    ("NVTX push + pop: at most 60 ns, a third of CUPTI's, a tenth of nsys's", ("calls",), nvtx_row),
    ("an API call outside the lean set: no measurable cost", ("calls",), outside_row),
    (f"{RANGE_AIM}; variables alone", ("calls",), range_row("miniprof, range")),
    (f"{RANGE_AIM}; `miniprof run`", ("calls",), range_row("miniprof run, range")),
    (f"{RANGE_AIM}; `miniprof run --attach range`", ("calls",),
     range_row("miniprof run, attach range")),
    ("3,000 cheap API calls an iteration inside PyTorch: no measurable cost", ("torch",),
     cheap_row),
    ("library start, cuInit with it less without: at most 15 ms", ("start", "calls"), start_row),
    ("memory added: at most 64 MiB on the host beyond CUPTI's own, on the GPU CUPTI's pool",
     ("memory",), memory_row),
    ("soak of 30 minutes at 200,000 or more kernels/s, graphs among them: no drop, no invalid"
     f" times, no growth (a line through the last two thirds: at most {MAX_GROWTH_MIB} MiB, or as"
     " CUPTI alone)",
     ("soak",), soak_row),
    ("SIGKILL at 200 random moments: every trace opens, at most the last 200 ms are missing",
     ("sigkill",), sigkill_row),
)


def certain_failure(results):
    """Whether something is wrong that no slow machine excuses."""
    soak = [results.list("soak", "miniprof", "all", kind) for kind in
            ("counts that differ", "dropped", "invalid times")]
    kills = [results.list("sigkill", "miniprof", "all", kind) for kind in ("unreadable", "late")]
    return any(value for values in soak + kills for value in values)


def main():
    results = Results.read(sys.argv[1])
    print("| aim | measured | reached |")
    print("|---|---|---|")
    for aim, groups, row in ROWS:
        parts = row(results)
        reasons = [reason for group in groups for reason in results.reasons[group]]
        measured = "; ".join(part.text for part in parts if part.text) or "-"
        print(f"| {aim} | {measured} | {verdict(parts, reasons)} |")
    sys.exit(certain_failure(results))


if __name__ == "__main__":
    main()
