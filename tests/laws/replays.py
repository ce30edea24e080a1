"""Invariants of deps: a change that is none, the order of changes, bounded gains, and windows that
are the iterations of iters."""
import itertools
import re

import transform
from checks import SHORT, ask, deps, in_data, lengths, ways

AWAITED = {1, 3, 4}   # sync_kind: of an event, a stream, a context


def busiest_thread(path):
    """System's id of the thread whose iterations have most work."""
    found = ask("iters", path)
    threads = found and found.get("by_thread")
    return threads and str(max(threads, key=lambda one: one["busy_ns"])["thread"])


def waits_for_its_work(path):
    """Whether each iteration is by itself: it is of the one thread that calls CUDA, its work is in
    one stream, and a wait after all of it is in the iteration."""
    found, rows = ask("iters", "--each", path), transform.read(in_data(path)).rows
    if not found or rows["wait"] or rows["host_function"] or len(
            {row[0] for row in rows["call"]}) > 1:
        return False
    work = [(row[transform.place(table, "start")], row[transform.place(table, "duration")], row[0])
            for table in ("kernel", "copy", "set", "graph") for row in rows[table]]
    waits = [(row[5], row[5] + row[6]) for row in rows["sync"] if row[1] in AWAITED]

    def waits_in(one):
        last = max((start + length for start, length, _ in work
                    if one["begin_ns"] <= start < one["end_ns"]), default=0)
        return any(one["begin_ns"] <= begin and last <= end <= one["host_end_ns"]
                   for begin, end in waits)
    return len({stream for *_, stream in work}) == 1 and all(map(waits_in, found["iterations"]))


def modes(subject):
    """Options of deps by which the windows are different ones."""
    yield ()
    yield ("--iterations", "auto")
    if subject.job:
        return
    thread = busiest_thread(subject.path)
    if thread and deps("--thread", thread, subject.path):
        yield ("--thread", thread)
    if len(ask("info", subject.path)["ranges"]) > 1:
        yield ("--range", "1")


def whose_begin_stays(mode, subject):
    """How many windows, from the first on, are as long as what they hold takes; None: all. Of the
    others the begin moves as well, and what begins earlier may wait longer, as the GPU still has
    work of the window before."""
    if "--iterations" not in mode:
        return 1
    return None if not subject.job and waits_for_its_work(subject.path) else 0


# ---- What-if ----

def nothing_changes(check, subject):
    """A change by the factor 1 leaves every window as it is."""
    changes = ["*=1x", "kernel=1x", "host=1x"] + ["late=1x"] * subject.job
    for mode, change in itertools.product(modes(subject), changes):
        found = deps(*mode, "--what-if", change, subject.path)
        if found:
            what_if, name = found["what_if"], f"deps {' '.join(mode)} --what-if '{change}'"
            check.equal(f"{name} {subject.name}", lengths(what_if["windows"], "now_ns"),
                        lengths(what_if["windows"], "new_ns"))
            check.equal(f"{name} {subject.name}, the sum", what_if["now_ns"], what_if["new_ns"])
            check.equal(f"{name} {subject.name}, the basis", what_if["basis"],
                        "as_recorded" if found["recording_ns"] is None else "without_recording")
            if what_if["basis"] == "as_recorded":
                check.equal(f"{name} {subject.name}, now", lengths(found["windows"]),
                            lengths(what_if["windows"], "now_ns"))


def alone(windows):
    """The numbers of the windows that begin when all before them have ended."""
    ended = 0
    for number, window in enumerate(windows):
        if window["begin_ns"] >= ended:
            yield number
        ended = max(ended, window["end_ns"])


def recording_gains_at_most_its_row(check, subject):
    """Without recording a window whose begin stays is shorter, by at most the row. None that is
    alone is longer. It is the basis of all other changes."""
    if subject.job:
        return
    for mode in modes(subject):
        found = deps(*mode, "--what-if", "recording=0", subject.path)
        if not found:
            continue
        name, what_if = f"deps {' '.join(mode)} {subject.name}", found["what_if"]
        now, new = (lengths(what_if["windows"], key) for key in ("now_ns", "new_ns"))
        check.equal(f"{name}: now it is as recorded", lengths(found["windows"]), now)
        longer = [at for at in alone(found["windows"]) if new[at] > now[at]]
        check.holds(f"{name}: none is longer", not longer, longer[:3])
        most = whose_begin_stays(mode, subject)
        if most is None or len(now) == most:
            gain = sum(now) - sum(new)
            check.holds(f"{name}: at most the row", gain <= found["recording_ns"],
                        f"{gain} of {found['recording_ns']}")
        half = deps(*mode, "--what-if", "recording=0.5x", subject.path)["what_if"]
        for at in range(len(now) if most is None else most):
            check.holds(f"{name}: half of it, window {at + 1}", new[at] <= lengths(
                half["windows"], "new_ns")[at] <= now[at])
        other = deps(*mode, "--what-if", "kernel=0.5x", subject.path)
        if other:
            check.equal(f"{name}: the basis", new, lengths(other["what_if"]["windows"], "now_ns"))


FACTORS = ("0", "0.5", "1", "2") if SHORT else ("0", "0.25", "0.5", "1", "2", "4")


def top_kernel(subject):
    """The name of the kernel with most time, as --what-if takes it."""
    found = None if subject.job else ask("kernels", subject.path)
    name = found and found["kernels"] and found["kernels"][0]["name"]
    return [] if not name or re.search(r"[=,]", re.sub(r"[(<\[].*[)>\]]", "", name)) else [name]


def factors_are_in_order(check, subject):
    """A greater factor makes no window shorter whose begin stays; so none is below that of the
    factor 0."""
    names = ["kernel", "host", "launch", "*"] + top_kernel(subject)
    for mode, name in itertools.product(modes(subject), names):
        most = whose_begin_stays(mode, subject)
        if most == 0:
            continue
        changes = [f"{name}={factor}x" if factor != "0" else f"{name}=0" for factor in FACTORS]
        found = [deps(*mode, "--what-if", change, subject.path) for change in changes]
        if None in found:
            continue
        windows = [lengths(one["what_if"]["windows"], "new_ns")[:most] for one in found]
        for (less, shorter), (more, longer) in itertools.pairwise(zip(changes, windows)):
            at = [number for number, (a, b) in enumerate(zip(shorter, longer)) if a > b]
            check.holds(f"deps {' '.join(mode)} {subject.name}: '{less}' against '{more}'",
                        len(shorter) == len(longer) and not at,
                        at and f"{len(at)} windows, as number {at[0] + 1}: {shorter[at[0]]} > "
                        f"{longer[at[0]]}")


def gains_are_bounded(check, subject):
    """What an activity can gain is not less than nothing, nor more than it has on the path of the
    run of which that is the gain."""
    for mode in modes(subject):
        if whose_begin_stays(mode, subject) == 0:
            continue
        found = deps(*mode, "--gains", "20", subject.path)
        for row in (found or {}).get("top", []):
            most = row["critical_ns"]
            check.holds(f"deps {' '.join(mode)} --gains 20 {subject.name}: {row['name']}",
                        0 <= row["gain_ns"] <= most, f"gains {row['gain_ns']} of {most}")


# ---- Windows and iterations ----

def windows_are_iterations(check, subject):
    """Window N of deps is iteration N of iters, whatever an iteration is."""
    for way in ["auto"] + ([] if subject.job else ways(subject.path)):
        found = ask("iters", "--each", "--iterations", way, subject.path)
        windows = deps("--iterations", way, subject.path)
        if subject.job:
            found = next(one for one in found if one.get("iterations") and one.get("by"))
        if not windows:
            no_windows = ask("deps", "--iterations", way, subject.path)
            check.holds(f"--iterations={way} {subject.name}", not found or no_windows,
                        "only iters has it")
            continue
        expected = [(one["iteration"], one["begin_ns"], one["end_ns"], one["latency_ns"])
                    for one in found["iterations"]]
        got = [(one["iteration"], one["begin_ns"], one["end_ns"], one["window_ns"])
               for one in windows["windows"]]
        check.equal(f"--iterations={way} {subject.name}: their number", len(expected), len(got))
        odd = [pair for pair in zip(expected, got) if pair[0] != pair[1]]
        check.holds(f"--iterations={way} {subject.name}: iteration, begin, end, length", not odd,
                    odd and f"{len(odd)} differ, as {odd[0][0]} of iters, {odd[0][1]} of deps")
