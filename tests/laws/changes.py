"""Invariants of traces that were changed (transform.py): other encodings, times and numbers, a
bystander, and a second copy."""
import os
import re
import tempfile

import transform
from checks import (Rounded, ask, chosen_way, compare, deps, in_data, lengths, number_or_none,
                    without)

# ---- Other encodings, times and numbers ----

TIMES = {"begin_ns", "end_ns", "host_end_ns"}
# {transformation: {pattern of a command and a place in its document: why it may differ}}
EXEMPT = {
    "unchanged": {},
    "shifted": {},
    "scaled": {
        r" /recording_cost/": "the cost of a call is that of the recorder, in ns",
        r"/quality/(counters/|warning$)": "no column says that a counter's value is a time",
    },
    "renumbered": {
        r"^iters --each /iterations/\d+/thread$": "the thread's number in the trace",
    },
}
TRANSFORMATIONS = {
    "unchanged": (transform.unchanged, 0, 1),
    "shifted": (lambda trace: transform.shifted(trace, 10 ** 12), 10 ** 12, 1),
    "scaled": (lambda trace: transform.scaled(trace, 2), 0, 2),
    "renumbered": (transform.renumbered, 0, 1),
}
# Whole numbers of a product with a fraction: in scaled traces they are rounded anew.
#   outlier_limit_ns   P50 + 3 * 1.4826 * MAD: by 1 ns
#   parts, rows        the host's time between two calls is divided as a row of host_time is,
#                      rounded down, so by less than 1 ns for each stretch
#   std_ns             the copies of a batch share its time in whole ns, so each is rounded anew
ROUNDED = {r"^summary .*/std_ns$": lambda rows: 1,
           r"^iters .*/outlier_limit_ns$": lambda rows: 1,
           r"^deps .*/(parts|rows)/": lambda rows: rows["host_time"] and len(rows["call"]) or 0}
VIEWS = (("iters", "--each"), ("iters", "--candidates"), ("deps",), ("deps", "--parts"),
         ("deps", "--iterations", "auto"), ("deps", "--iterations", "auto", "--what-if",
                                            "kernel=2x"), ("summary",), ("overlap",))


def moved(name, view, rows):
    """What a value of a document is in that of the transformed trace, which has such rows."""
    _, by, factor = TRANSFORMATIONS[name]

    def expected(path, value):
        place = f"{' '.join(view)} {path}"
        if any(re.search(pattern, place) for pattern in EXEMPT[name]):
            return ...
        if value is None or not number_or_none(value) or "/quality/" in path:
            return value
        keys = path.split("/")
        if keys[-1] in TIMES:
            return value * factor + by if value else value
        if keys[-1].endswith("per_second"):
            return value / factor
        if not any(key.endswith("_ns") for key in keys):
            return value
        off = [most(rows) for pattern, most in ROUNDED.items() if re.search(pattern, place)]
        if factor == 1 or not off:
            return value * factor
        rounded = Rounded(value * factor)
        rounded.by = factor * sum(off)
        return rounded
    return expected


def by_time(path):
    """The activities that waited by time alone (D11): it has limits in us, which do not scale."""
    document = ask("deps", "--trace", path)
    return document and [a["number"] for a in document["activities"] or ()
                         if a["bound_by"].startswith("D11")]


def transformed(name):
    """The law of one transformation."""
    def law(check, subject):
        change, _, factor = TRANSFORMATIONS[name]
        trace, first = transform.read(in_data(subject.path)), subject.path
        with tempfile.TemporaryDirectory() as folder:
            if factor != 1:  # what recording costs stays, in ns
                trace = transform.without_costs(trace)
                first = transform.write(trace, os.path.join(folder, "first.mpt"))
            trace = change(trace)
            path = transform.write(trace, os.path.join(folder, "other.mpt"))
            for view in VIEWS:
                if view[0] == "deps" and factor != 1 and by_time(first) != by_time(path):
                    continue
                before, after = ask(*view, first), ask(*view, path)
                if before is None or after is None:
                    check.holds(f"{name}: {' '.join(view)} {subject.name}", before is after,
                                f"there is none of the {'first' if after else 'second'}")
                    continue
                compare(check, f"{name}: {' '.join(view)} {subject.name} ", before, after,
                        moved(name, view, trace.rows))
    return law


# ---- A bystander ----

# A call of a thread without an iteration belongs to the one that is open (docs/iterations.md,
# section 2). So the time of the queries themselves may be there as that of calls, and time in which
# the GPU is idle have another cause, but no more than that.
OWN_TIME = {"api_ns", "idle_launch_ns", "idle_queued_ns", "idle_copy_ns", "idle_host_ns",
            "idle_sync_ns", "idle_peer_ns", "idle_recording_ns", "idle_unknown_ns"}


def bystander_changes_nothing(check, subject):
    """A thread that only asks for events, at the begin and near the end of each range."""
    trace = transform.read(in_data(subject.path))
    if not any(map(trace.rows.get, transform.WORK)):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = transform.write(transform.with_poller(trace), os.path.join(folder, "polled.mpt"))
        before, after = (ask("iters", "--each", one) for one in (subject.path, path))
        what = f"with a poller {subject.name}: "
        for key in ("by", "name", "count"):
            check.equal(f"{what}iters, {key}", before[key], after[key])
        compare(check, f"{what}iters", *(without(one["statistics"], OWN_TIME)
                                         for one in (before, after)))
        own = 2 * transform.QUERY_TIME * max(before["ranges"], 1)
        for one, other in zip(before["iterations"], after["iterations"]):
            where = f"{what}iters --each, iteration {one['iteration']}: "
            compare(check, where, without(one, OWN_TIME), without(other, OWN_TIME))
            for key in OWN_TIME & one.keys():
                check.holds(where + key, one[key] == other[key] or
                            abs(one[key] - other[key]) <= own,
                            f"{one[key]} expected, {other[key]} found")
        for options in ((), ("--iterations", "auto")):
            before, after = (deps(*options, one) for one in (subject.path, path))
            if not before or not after:
                check.holds(f"{what}deps {' '.join(options)}", before is after,
                            "only one has windows")
                continue
            check.equal(f"{what}deps {' '.join(options)}", lengths(before["windows"]),
                        lengths(after["windows"]))
            for change in ("kernel=0", "kernel=0.5x"):
                before, after = (deps(*options, "--what-if", change, one)
                                 for one in (subject.path, path))
                if before and after:
                    check.equal(f"{what}deps {' '.join(options)} --what-if {change}",
                                lengths(before["what_if"]["windows"], "new_ns"),
                                lengths(after["what_if"]["windows"], "new_ns"))


# ---- A second copy ----

# Percentiles are by nearest rank (docs/iterations.md, section 4): that of rank r among n is that of
# rank 2r, or 2r - 1, among 2n, where each value is there twice. So all of them stay.
SAME_TWICE = ("mean", "min", "p50", "p90", "p95", "p99", "max")


def compare_statistics(check, what, one, two):
    for name, values in one["statistics"].items():
        for key in SAME_TWICE if values else ():
            check.near(f"{what}, {key} of {name}", values[key], two["statistics"][name][key])
    check.near(f"{what}, throughput", one["throughput_per_second"], two["throughput_per_second"])
    check.near(f"{what}, P50 of the headline", one["headline"]["p50_ns"],
               two["headline"]["p50_ns"])


def compare_twice(check, name, single, double, ranges):
    way = chosen_way(single) or "range"
    of = ("--iterations", way)
    one, two = ask("iters", *of, single), ask("iters", *of, double)
    if not one or not two:
        check.holds(f"twice {name}: {way}", one is two, "only one of them has it")
        return
    check.equal(f"twice {name}: iters --iterations={way}, count", 2 * one["count"], two["count"])
    check.equal(f"twice {name}: iters --iterations={way}, outliers", 2 * len(one["outliers"]),
                len(two["outliers"]))
    compare_statistics(check, f"twice {name}: iters --iterations={way}", one, two)
    windows = [deps(*of, path) for path in (single, double)]
    if all(windows):
        check.equal(f"twice {name}: deps --iterations={way}", 2 * lengths(windows[0]["windows"]),
                    lengths(windows[1]["windows"]))
    for number in range(1, ranges + 1):
        first, copy, alone = (
            ask("iters", *of, "--range", str(which), path)
            for which, path in ((number, double), (number + ranges, double), (number, single)))
        for which, found in ((number, first), (number + ranges, copy)):
            what = f"twice {name}: iters --iterations={way} --range {which}"
            if alone is None or found is None:
                check.holds(what, alone is found, "only one of them has it")
                continue
            check.equal(f"{what}, count", alone["count"], found["count"])
            compare_statistics(check, what, alone, found)


def copy_keeps_statistics(check, subject):
    """The trace given twice, as further capture ranges, has the same iterations twice."""
    found = ask("iters", subject.path)  # the first work without a launch awaits nothing, its copy
    costs = transform.without_costs if found and found["unlaunched"] else transform.with_costs
    trace = transform.bracketed(costs(transform.read(in_data(subject.path))))
    double, ranges = transform.twice(trace)
    with tempfile.TemporaryDirectory() as folder:
        one = transform.write(trace, os.path.join(folder, "one.mpt"))
        two = transform.write(double, os.path.join(folder, "two.mpt"))
        windows = [deps(path) for path in (one, two)]
        if all(windows):
            check.equal(f"twice {subject.name}: deps", 2 * lengths(windows[0]["windows"]),
                        lengths(windows[1]["windows"]))
            check.equal(f"twice {subject.name}: deps, the sum", 2 * windows[0]["window_ns"],
                        windows[1]["window_ns"])
        compare_twice(check, subject.name, one, two, ranges)
