#!/usr/bin/env python3
"""Compares `miniprof iters --json --each` with what follows from the rows that `miniprof dump`
prints: by each way the iterations, what belongs to them, their times and counts, and statistics.
Nothing is shared with the command, and times are found in another way: an iteration is cut at every
begin and end of anything, and each piece is one thing or another.

usage: compare_iters.py MINIPROF TRACE
"""
import bisect
import collections
import itertools
import math
import re

import recording
import sources

TABLES = ("string", "thread", "stream", "function", "node", "kernel", "copy", "set", "graph",
          "call", "sync", "nvtx", "capture")
PUSH, POP, START, END = 1, 2, 3, 4
HTOD, DTOH = 1, 2
PAGEABLE = 1
AWAITING = (1, 3, 4, 8, 9)  # kinds of sync: event, stream, context; the queries
LEAST_COVERAGE, MARKED = 0.02, 0.8  # of a candidate; of names that win over all that is found
CLOCKS = 2000  # ns that device times may be early by
SYNCHRONISES = re.compile(r"cuda(Device|Thread|Stream|Event)Synchronize|cu(Ctx|Stream|Event)Sync.*")
BLOCKS = re.compile(
    r"cuda(Free(Host|Array|MipmappedArray)?|Malloc(3D(Array)?|Array|Host|Managed|MipmappedArray|"
    r"Pitch)?|Host(Alloc|Register|Unregister)|DeviceReset|LibraryUnload)|"
    r"cuMem(Free|FreeHost|Alloc|AllocHost|AllocManaged|AllocPitch)|"
    r"cuMemHost(Alloc|Register|Unregister)|cu(Array|MipmappedArray|Ctx)Destroy|"
    r"cu(Module|Library)(Load.*|Unload)|cuDevicePrimaryCtxReset")
PARTS = ("kernel_ns", "htod_ns", "dtoh_ns", "other_copy_ns", "set_ns", "others_ns",
         "idle_launch_ns", "idle_queued_ns", "idle_copy_ns", "idle_host_ns", "idle_sync_ns",
         "idle_recording_ns", "idle_unknown_ns")

SEGMENT = r"O*L[LO]*[WA](?:O*[WA])*|(?:O+W|O*A)W*"

Call = collections.namedtuple("Call", "begin end thread correlation waits copies blocks")
Work = collections.namedtuple("Work", "begin end correlation kind row device call")


class Line(list):
    """Things in order of begin."""

    def __init__(self, things):
        super().__init__(things)
        self.begins = [thing.begin for thing in self]


class Window:
    """An iteration; `needs`: the end of what it cannot be without."""

    def __init__(self, begin, end, thread, needs=None):
        self.begin, self.host_end, self.thread = begin, end, thread
        self.end = end
        self.needs = end if needs is None else needs
        self.work, self.launches, self.prolonged = [], 0, True


class Trace:
    """The rows of a trace, and which call launched what."""

    def __init__(self, program, path):
        self.recording = recording.of(program, path)
        self.rows = {table: sources.dumped(program, path, table, "--raw") for table in TABLES}
        self.texts = {row["id"]: row["text"] for row in self.rows["string"]}
        self.devices = {row["id"]: row["device"] for row in self.rows["stream"]}
        self.graphs = {row["id"]: row["graph"] for row in self.rows["node"]}
        self.calls = sorted(self.calls_of(), key=lambda c: (c.thread, c.begin, -c.end))
        self.by_correlation = {}
        for call in self.calls:
            self.by_correlation.setdefault(call.correlation, call)
        self.by_correlation.pop(0, None)
        self.work = Line(sorted(self.work_of(), key=lambda w: w.begin))
        self.launched = collections.defaultdict(list)
        for work in self.work:
            if work.call:
                self.launched[work.call].append(work)
        threads = collections.defaultdict(list)
        for call in self.calls:
            threads[call.thread].append(call)
        self.threads = {thread: Line(calls) for thread, calls in threads.items()}
        self.longest = max([thing.end - thing.begin for thing in self.work + self.calls] + [0])

        self.captures = captures_of(self.rows["capture"])
        self.total = sum(work.end - work.begin for work in self.work)
        self.independent = {thread for thread in self.threads
                            if len(list(segments(self, thread))) > 1}

    def captured_until(self, time):
        """The end of the capture range that a moment lies in; without one the end of time."""
        return min([end for begin, end in self.captures if begin <= time < end] + [math.inf])

    def within(self, things, begin, end):
        """Those of a line that touch the time."""
        first = bisect.bisect_left(things.begins, begin - self.longest)
        behind = bisect.bisect_left(things.begins, end)
        return [thing for thing in things[first:behind] if thing.end > begin]

    def calls_of(self):
        """The calls, and rows of `sync` that wait and have none."""
        names = {row["id"]: re.sub(r"_v\d+$|_ptsz$", "", self.texts[row["name"]])
                 for row in self.rows["function"]}
        known = set()
        for row in self.rows["call"]:
            name = names[row["function"]]
            known.add(row["correlation"])
            yield Call(row["start"], row["start"] + row["duration"], row["thread"],
                       row["correlation"],
                       bool(SYNCHRONISES.fullmatch(name) or BLOCKS.fullmatch(name)),
                       bool(re.match(r"cu(da)?Memcpy(?!.*Async)", name)),
                       bool(BLOCKS.fullmatch(name)))
        for row in self.rows["sync"]:
            if row["kind"] in AWAITING and row["correlation"] not in known:
                yield Call(row["start"], row["start"] + row["duration"], row["thread"],
                           row["correlation"], True, False, False)

    def work_of(self):
        """Device work."""
        for kind in ("kernel", "copy", "set", "graph"):
            for row in self.rows[kind]:
                call = self.by_correlation.get(row["correlation"])
                if call and row["start"] < call.begin - CLOCKS:
                    call = None
                yield Work(row["start"], row["start"] + row["duration"], row["correlation"], kind,
                           row, self.devices[row["stream"]], call)

    def waits_for_copy(self, call):
        """Whether a call returns when its copy is done."""
        return call.copies or any(
            work.kind == "copy" and not work.row["node"] and
            (not int(work.row["flags"], 16) & 1 or PAGEABLE in (work.row["source"],
                                                                work.row["target"]))
            for work in self.launched.get(call, ()))


def captures_of(rows):
    """[(begin, end)] of the capture ranges; one that was not ended lasts for ever."""
    captures = []
    for row in rows:
        if row["kind"] == 1:
            captures.append((row["time"], math.inf))
        elif captures:
            captures[-1] = captures[-1][0], row["time"]
    return captures


Work.__hash__ = Call.__hash__ = object.__hash__
Work.__eq__ = Call.__eq__ = object.__eq__


@sources.kept
def trace_of(program, path):
    """The trace, which other comparisons start from too."""
    return Trace(program, path)


# ---- The ways ----

def captured(trace, windows):
    """Those that their capture range has all of, none longer than the range; in `trace.left_out`
    how many others there are."""
    whole = [w for w in windows if w.needs <= trace.captured_until(w.begin)]
    trace.left_out = len(windows) - len(whole)
    for window in whole:
        window.host_end = window.end = min(window.host_end, trace.captured_until(window.begin))
    return whole


def nvtx_ranges(trace):
    """[(begin, end, thread, name)] of the ranges that have an end."""
    stacks, started, ranges = collections.defaultdict(list), {}, []
    for row in trace.rows["nvtx"]:
        stack = stacks[row["thread"], row["domain"]]
        if row["kind"] == PUSH:
            stack.append(row)
        elif row["kind"] == POP and stack:
            begin = stack.pop()
            ranges.append((begin["time"], row["time"], row["thread"], trace.texts[begin["name"]]))
        elif row["kind"] == START:
            started[row["range"]] = row
        elif row["kind"] == END and row["range"] in started:
            begin = started.pop(row["range"])
            ranges.append((begin["time"], row["time"], begin["thread"],
                           trace.texts[begin["name"]]))
    return sorted(ranges, key=lambda r: (r[0], -r[1]))


def letters_of(trace, thread, since=0):
    """The calls of a thread that launch or wait, from a moment on, and a letter for each: L
    launches, O copies from the device, A does and waits for it, W waits."""
    calls, letters = [], []
    for call in trace.threads[thread]:
        if call.begin < since:
            continue
        works = trace.launched.get(call, ())
        back = works and all(w.kind == "copy" and w.row["kind"] != HTOD for w in works)
        if works:
            letter = "L" if not back else "A" if trace.waits_for_copy(call) else "O"
        elif call.waits and not call.blocks:
            letter = "W"
        else:
            continue
        calls.append(call)
        letters.append(letter)
    return calls, "".join(letters)


def segments(trace, thread):
    """(begin, end) of what a thread launches up to its waits, as a regular expression."""
    calls, letters = letters_of(trace, thread)
    for match in re.finditer(SEGMENT, letters):
        yield calls[match.start()].begin, calls[match.end() - 1].end


def score(trace, windows):
    """(score, coverage) without the favour: for all work, when it was launched, and by whom."""
    windows = sorted(windows, key=lambda w: w.begin)
    if not windows:
        return 0, 0
    values, covered, around = collections.Counter(), 0, 0
    ended = max(w.host_end for w in windows)
    longest = max(w.host_end - w.begin for w in windows)
    begins = [w.begin for w in windows]
    for work in trace.work:
        at = work.call.begin if work.call else work.begin
        around += (work.end - work.begin) * (begins[0] <= at < ended)
        first = bisect.bisect_left(begins, at - longest)
        opened = [w for w in windows[first:bisect.bisect_right(begins, at)] if at < w.host_end]
        thread = work.call.thread if work.call else None
        own = [w for w in opened if w.thread not in trace.independent or w.thread == thread]
        if own or (opened and thread not in trace.independent):
            covered += work.end - work.begin
        if own:
            values[own[0]] += work.end - work.begin
    sums = sorted(values[w] for w in windows)
    median = sums[(len(sums) + 1) // 2 - 1]
    regular = 1 - sum(min(1, abs(v - median) / median) for v in sums) / len(sums) if median else 0
    coverage = covered / trace.total if trace.total else 0
    if coverage < LEAST_COVERAGE:
        return 0, coverage
    of_its_time = covered / around if covered < around else 1
    return (math.sqrt(coverage * of_its_time) * (1 + regular) / 2 *
            len(windows) / (len(windows) + 1), coverage)


def by_nvtx(trace):
    """The name of the ranges that count, and their windows."""
    ranges = nvtx_ranges(trace)
    times = collections.Counter(name for *_, name in ranges)
    outermost, stacks = collections.defaultdict(list), collections.defaultdict(list)
    for begin, end, thread, name in ranges:
        stack = stacks[thread]
        while stack and stack[-1][1] <= begin:
            stack.pop()
        if times[name] > 1:
            if not any(times[other] > 1 for _, _, other in stack):
                outermost[name].append((begin, end, thread))
        stack.append((begin, end, name))
    windows = {name: captured(trace, [Window(*item) for item in items])
               for name, items in outermost.items() if len(items) > 1}
    found = [(score(trace, items), name) for name, items in windows.items() if len(items) > 1]
    found = [(scored[1] >= MARKED, scored, name) for scored, name in found if scored[1] > 0]
    if not found:
        return None, []
    name = max(found)[2]
    return name, windows[name]


def by_requests(trace):
    """The segments of all threads."""
    windows = [Window(begin, end, thread) for thread in trace.threads
               for begin, end in segments(trace, thread)]
    for window in windows:
        window.prolonged = False
    return None, captured(trace, windows)


def by_range(trace):
    """Capture ranges, of the thread whose last call in them is the latest."""
    windows = []
    for row in trace.rows["capture"]:
        if row["kind"] == 1:
            windows.append(Window(row["time"], None, None))
        else:
            windows[-1].end = windows[-1].host_end = row["time"]
    for window in windows:
        last = [(min(call.end, window.host_end), -call.thread) for call in trace.calls
                if window.begin <= call.begin < window.host_end]
        window.thread = -max(last)[1] if last else None
    return None, windows


def first_call(trace, call, floor):
    """The begin of the call, or of the copies to the device and sets right before it."""
    begin = call.begin
    calls = trace.threads[call.thread]
    for other in reversed(calls[:calls.index(call)]):
        launched = trace.launched.get(other, ())
        feeds = all(w.kind == "set" or (w.kind == "copy" and w.row["kind"] == HTOD)
                    for w in launched)
        if other.begin < floor or not feeds or other.waits:
            break
        if launched:
            begin = other.begin
    return begin


def by_graph(trace):
    """Launches of the graph with the best score; of equal ones that with most device time."""
    times, launches = collections.Counter(), collections.defaultdict(dict)
    for work in trace.work:
        graph = work.row.get("graph") or trace.graphs.get(work.row.get("node"))
        if graph and work.correlation:
            times[graph] += work.end - work.begin
            launches[graph].setdefault(work.correlation, []).append(work)
    if not times:
        return None, []
    windows = {graph: launches_of(trace, works) for graph, works in launches.items()}
    graph = max(times, key=lambda g: (score(trace, captured(trace, windows[g])), times[g], -g))
    return graph, captured(trace, windows[graph])


def launches_of(trace, launches):
    """The windows of a graph's launches: {correlation: its work}."""
    threads = collections.defaultdict(list)
    for works in launches.values():
        threads[works[0].call.thread].append(works)
    windows = []
    for thread, items in threads.items():
        items.sort(key=lambda works: works[0].call.begin)
        own, floor = [], 0
        for works in items:
            call = works[0].call
            begin = first_call(trace, call, floor)
            if own and begin <= trace.captured_until(own[-1].begin):
                own[-1].host_end = begin
            floor = call.begin + 1
            own.append(Window(begin, 0, thread, call.begin))
            own[-1].host_end = max([work.end for work in works] + [call.end] +
                                   [awaited(trace, own, call)])
        windows += own
    return windows


def awaited(trace, windows, call, limit=math.inf):
    """When a thread has waited for what it launches from this call on, for the last window; 0: it
    does not before the limit, or the window would be half longer than it takes on average from one
    to the next."""
    calls, letters = letters_of(trace, call.thread, call.begin)
    match = re.match(SEGMENT, letters)
    if not match or calls[match.end() - 1].begin >= limit:
        return 0
    begins = [w.begin for w in windows[:-1] if w.needs <= trace.captured_until(w.begin)]
    last, end = windows[-1].begin, calls[match.end() - 1].end
    longest = 1.5 * (last - begins[0]) / len(begins) if begins else math.inf
    return end if end - last <= longest else 0


# ---- What belongs to an iteration, and its measures ----

class Opened:
    """Which windows are open when."""

    def __init__(self, windows, independent):
        self.windows, self.independent = windows, independent
        self.begins = [window.begin for window in windows]
        self.longest = max(window.host_end - window.begin for window in windows)

    def window_of(self, begin, thread):
        """That of the thread that began last and is open, else the only one that is open, unless
        it is of another thread and both are independent."""
        first = bisect.bisect_left(self.begins, begin - self.longest)
        behind = bisect.bisect_right(self.begins, begin)
        opened = [w for w in self.windows[first:behind] if begin < w.host_end]
        own = [w for w in opened if w.thread == thread]
        if own:
            return own[-1]
        if len(opened) != 1 or {thread, opened[0].thread} <= self.independent:
            return None
        return opened[0]


def assign(trace, windows, independent):
    """Gives each its calls and work; returns how many activities are left."""
    windows.sort(key=lambda w: (w.begin, w.host_end))
    outside = 0
    opened = Opened(windows, independent)
    of = {call: opened.window_of(call.begin, call.thread) for call in trace.calls}
    for work in trace.work:
        window = of[work.call] if work.call else opened.window_of(work.begin, None)
        if window:
            window.work.append(work)
        else:
            outside += 1
    launches = collections.Counter(of[call] for call in trace.launched)
    for window in windows:
        window.launches = launches[window]
        window.end = max([window.host_end] +
                         [work.end for work in window.work if window.prolonged])
    return outside


def innermost(trace, thread, time):
    """The call that a thread is in, if any."""
    calls = trace.threads.get(thread)
    if calls:
        at = bisect.bisect_right(calls.begins, time)
        for call in reversed(calls[max(0, at - 8):at]):
            if time < call.end:
                return call
    return None


def cause(trace, window, time, nearest, before):
    """Why the GPU is idle at that time; `nearest` is the work that ends it, `before` what ran."""
    thread = window.thread
    if nearest and nearest.call:
        thread = nearest.call.thread
        if time >= nearest.call.begin:
            since = min(before.end, window.end) if before else window.begin
            if nearest.call.end <= since or (before and before.call is nearest.call):
                return "queued"
            return "copy" if trace.waits_for_copy(nearest.call) else "launch"
    call = innermost(trace, thread, time)
    if not call:
        return "host" if trace.rows["call"] else "unknown"
    if call.waits:
        return "sync"
    return "copy" if trace.waits_for_copy(call) else "launch"


def class_of(work):
    """What a piece of work counts as."""
    if work.kind == "copy":
        return {HTOD: "htod_ns", DTOH: "dtoh_ns"}.get(work.row["kind"], "other_copy_ns")
    return {"set": "set_ns"}.get(work.kind, "kernel_ns")


def pieces(window, work, calls):
    """The window, cut at every begin and end."""
    cuts = {window.begin, window.end, window.host_end}
    for thing in work + calls:
        cuts |= {thing.begin, thing.end}
    cuts = sorted(cut for cut in cuts if window.begin <= cut <= window.end)
    return list(zip(cuts, cuts[1:]))


def add_idle(trace, window, gap, result):
    """The parts of a gap, of each of which recording has the same share: that of the path to the
    end of the gap."""
    since, until = gap[0][0], gap[-1][1]
    work, costs = gap[-1][3], 0
    if trace.recording.known:
        if work:
            work = trace.recording.by_work[work.kind, work.correlation, work.begin, work.end]
        thread = {row["id"]: row["tid"] for row in trace.rows["thread"]}.get(window.thread)
        costs = trace.recording.before(work, thread, since, until)
    for begin, end, why, _ in gap:
        part = (costs * (end - since) // (until - since) -
                costs * (begin - since) // (until - since))
        result["idle_recording_ns"] += part
        result[f"idle_{why}_ns"] += end - begin - part


def measure(trace, window):
    """The quantities of a window."""
    devices = {work.device for work in window.work}
    used = [work for work in trace.within(trace.work, window.begin, window.end)
            if not devices or work.device in devices]
    own = set(window.work)
    begins = [work.begin for work in used]
    near = [call for calls in trace.threads.values()
            for call in trace.within(calls, window.begin, window.end)]
    result = collections.Counter(latency_ns=window.end - window.begin,
                                 host_ns=window.host_end - window.begin)
    running, at, last, idle = [], 0, None, []
    for begin, end in pieces(window, used, near):
        while at < len(used) and used[at].begin <= begin:
            running.append(used[at])
            last = max(last or used[at], used[at], key=lambda work: work.end)
            at += 1
        running = [work for work in running if work.end > begin]
        classes = {class_of(work) for work in running if work in own}
        for name in classes:
            result[name] += end - begin
        result["busy_ns"] += bool(classes) * (end - begin)
        copies = classes & {"htod_ns", "dtoh_ns", "other_copy_ns"}
        result["overlap_ns"] += bool(copies and "kernel_ns" in classes) * (end - begin)
        result["others_ns"] += bool(running and not classes) * (end - begin)
        if begin < window.host_end and innermost(trace, window.thread, begin):
            result["api_ns"] += end - begin
        if not running:
            following = bisect.bisect_right(begins, begin)
            nearest = used[following] if following < len(used) else None
            result["idle_ns"] += end - begin
            if not idle or idle[-1][-1][1] != begin:
                idle.append([])
            idle[-1].append((begin, end, cause(trace, window, begin, nearest, last), nearest))
    for gap in idle:
        add_idle(trace, window, gap, result)
    result["launches"] = window.launches
    result["kernels"] = sum(work.kind in ("kernel", "graph") for work in window.work)
    result["copies"] = sum(max(1, work.row["count"]) for work in window.work
                           if work.kind == "copy")
    result["bytes_copied"] = sum(work.row["bytes"] for work in window.work if work.kind == "copy")
    return result


# ---- Comparing ----

class Comparison:
    """What is not as expected."""

    def __init__(self):
        self.differences, self.compared = [], 0

    def same(self, what, found, expected):
        """Notes a difference."""
        self.compared += 1
        close = isinstance(expected, float) and found is not None and \
            math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-6)
        if found != expected and not close:
            self.differences.append(f"{what}: {found} instead of {expected}")

    def among(self, what, found, expected):
        """Notes what is none of several."""
        self.same(what, found, found if found in expected else expected[0])


def capture_of(trace, time):
    """The number of the capture range that a moment lies in."""
    return [number for number, (begin, end) in enumerate(trace.captures) if begin <= time < end]


def is_unknown(trace, key):
    """Whether a single trace cannot tell it: waiting for peers, and costs that nobody measured."""
    return key == "idle_peer_ns" or key == "idle_recording_ns" and not trace.recording.known


def compare_statistics(comparison, trace, by, report):
    """Statistics, throughput and outliers follow from the iterations."""
    items = report["iterations"]
    count = len(items)
    for key, found in report["statistics"].items():
        values = [item[key] for item in items]
        if is_unknown(trace, key):
            comparison.same(f"{by}: {key}", [found] + values, [None] * (count + 1))
            continue
        values.sort()
        mean = sum(values) / count
        spread = sum((value - mean) ** 2 for value in values)
        expected = {"mean": float(mean), "min": values[0], "max": values[-1],
                    "std": math.sqrt(spread / (count - 1)) if count > 1 else 0.0}
        expected |= {f"p{p}": values[max(0, math.ceil(count * p / 100) - 1)]
                     for p in (50, 90, 95, 99)}
        for name, value in expected.items():
            comparison.same(f"{by}: {name} of {key}", found[name], value)
    latencies = [item["latency_ns"] for item in items]
    usual = sorted(latencies)[(count + 1) // 2 - 1]
    spread = sorted(abs(latency - usual) for latency in latencies)[(count + 1) // 2 - 1]
    limit = max(usual + 3 * 1.4826 * spread, usual * 1.05)
    if report["headline"]["split"] != "none":  # no one median to be far from
        limit = max(latencies)
    median = items[latencies.index(usual)]
    outliers = sorted((item for item in items if item["latency_ns"] > int(limit)),
                      key=lambda item: -item["latency_ns"])
    grown = [max((item[part] or 0) - (median[part] or 0) for part in PARTS) for item in outliers]
    comparison.same(f"{by}: outliers", [o["iteration"] for o in report["outliers"]],
                    [item["iteration"] for item in outliers])
    comparison.same(f"{by}: growth", [o["by_ns"] for o in report["outliers"]],
                    [max(0, growth) for growth in grown])
    length, steps = 0, []
    for _, group in itertools.groupby(
            items, lambda item: capture_of(trace, item["begin_ns"])):
        group = list(group)
        length += max(item["end_ns"] for item in group) - group[0]["begin_ns"]
        steps += [b["begin_ns"] - a["begin_ns"] for a, b in zip(group, group[1:])]
    comparison.same(f"{by}: throughput", report["throughput_per_second"], count * 1e9 / length)
    comparison.same(f"{by}: mean period", report["period_mean_ns"],
                    sum(steps) / len(steps) if any(steps) else None)


def compare_windows(comparison, trace, by, report, windows):
    """Windows, membership and measures."""
    items = report["iterations"]
    comparison.same(f"{by}: count", report["count"], len(windows))
    outside = assign(trace, windows, set() if by == "range" else trace.independent)
    covered = sum(work.end - work.begin for window in windows for work in window.work)
    comparison.same(f"{by}: coverage", report["coverage_percent"],
                    100 * covered / trace.total if trace.total else 0.0)
    known = {row["thread"] for table in ("call", "sync") for row in trace.rows[table]}
    comparison.same(f"{by}: outside", report["outside"], outside)
    for number, (item, window) in enumerate(zip(items, windows)):
        expected = measure(trace, window)
        what = f"{by} {number + 1}"
        comparison.same(f"{what}: sum", item["busy_ns"] + item["others_ns"] + item["idle_ns"],
                        item["latency_ns"])
        following = windows[number + 1].begin if number + 1 < len(windows) else None
        comparison.same(f"{what}: pipelined", item["pipelined"],
                        following is not None and following < window.end)
        for key in ("begin", "host_end", "end"):
            comparison.same(f"{what}: {key}", item[key + "_ns"], getattr(window, key))
        comparison.same(f"{what}: thread", item["thread"],
                        window.thread if window.thread in known else None)
        for key in report["statistics"]:
            comparison.same(f"{what}: {key}", item[key],
                            None if is_unknown(trace, key) else expected[key])


def compare_kernels(comparison, trace, report):
    """Every iteration has the same shapes in order of launch. Its windows are taken as given."""
    windows = [Window(item["begin_ns"], item["host_end_ns"], item["thread"])
               for item in report["iterations"]]
    compare_windows(comparison, trace, "kernels", report, windows)
    sequences = {tuple(work.row.get("shape", "graph") for work in
                       sorted((w for w in window.work if w.kind in ("kernel", "graph")),
                              key=lambda w: (w.correlation, w.begin)))
                 for window in windows}
    comparison.same("kernels: different sequences", len(sequences), 1)
    comparison.same("kernels: period", report["kernel_period"], len(sequences.pop()))
    thread = windows[0].thread
    kernels = sorted((work for work in trace.work if work.kind in ("kernel", "graph") and
                      (work.call.thread if work.call else None) == thread),
                     key=lambda work: (work.correlation, work.begin))
    begins = [work.call.begin if work.call else work.begin for work in kernels]
    for number, window in enumerate(windows):
        at = bisect.bisect_left(begins, window.begin)
        following = windows[number + 1].begin if number + 1 < len(windows) else None
        ends = kernels_end(trace, windows[:number + 1], kernels[at:], report["kernel_period"],
                           following)
        comparison.among(f"kernels {number + 1}: end", window.host_end, ends)


def kernels_end(trace, windows, kernels, period, following):
    """When the last of the windows may end, with which these kernels of its thread begin: where
    the next sequence begins; or when its work has ended and was waited for, but not behind the next
    kernel. If that is of an incomplete sequence, it ends there."""
    window, own, others = windows[-1], kernels[:period], kernels[period:period + 1]
    limit, until = math.inf, trace.captured_until(window.begin)
    for work in others:
        limit = first_call(trace, work.call, window.begin + 1) if work.call else work.begin
    if limit == following and limit <= until:
        return [limit]
    end = max([work.end for work in own] + [work.call.end for work in own if work.call] +
              [awaited(trace, windows, own[-1].call, limit) if own[-1].call else 0])
    incomplete = others and others[0].row.get("shape") == own[0].row.get("shape")
    return [limit] * bool(incomplete and limit <= until) + [min(end, limit, until)]


def compare_syncs(comparison, trace, report):
    """Every iteration has as many segments of one thread. Its windows are taken as given."""
    windows = [Window(item["begin_ns"], item["host_end_ns"], item["thread"])
               for item in report["iterations"]]
    begins, ends = zip(*segments(trace, windows[0].thread))
    first, period = begins.index(windows[0].begin), report["wait_period"]
    whole = []
    for at in range(first, len(begins) - period + 1, period):
        own = ends[at + period - 1]
        following = begins[at + period] if at + period < len(begins) else math.inf
        goes_on = following <= trace.captured_until(begins[at])
        whole.append(Window(begins[at], following if goes_on and following < math.inf else own,
                            windows[0].thread, own))
    whole = captured(trace, whole)
    comparison.same("syncs: begins", [window.begin for window in windows],
                    [window.begin for window in whole[:len(windows)]])
    compare_windows(comparison, trace, "syncs", report, windows)
    for one, other in zip(windows[:-1], whole):
        comparison.same("syncs: end", one.host_end, other.host_end)
    last = whole[len(windows) - 1]  # it ends with its wait, if no part of another one follows
    comparison.among("syncs: last end", windows[-1].host_end, [last.needs, last.host_end])


def compare(program, path):
    """What differs."""
    trace = trace_of(program, path)
    comparison = Comparison()

    def report_by(by):
        try:
            return sources.document(program, "iters", "--json", "--each", "--iterations", by, path)
        except RuntimeError:
            return {"count": 0}

    for by, find in {"nvtx": by_nvtx, "graph": by_graph, "range": by_range,
                     "requests": by_requests}.items():
        trace.left_out = 0
        name, windows = find(trace)
        report = report_by(by)
        comparison.same(f"{by}: any", bool(report["count"]), bool(windows))
        if report["count"] and windows:
            comparison.same(f"{by}: which", report[{"nvtx": "name"}.get(by, "graph")], name)
            if by != "nvtx":  # there also ranges without an end
                comparison.same(f"{by}: left out", report["unfinished"], trace.left_out)
            compare_windows(comparison, trace, by, report, windows)
            compare_statistics(comparison, trace, by, report)
    report = report_by("kernels")
    if report["count"]:
        compare_kernels(comparison, trace, report)
        compare_statistics(comparison, trace, "kernels", report)
    report = report_by("syncs")
    if report["count"]:
        compare_syncs(comparison, trace, report)
        compare_statistics(comparison, trace, "syncs", report)
    return comparison.differences


if __name__ == "__main__":
    sources.main(__doc__, compare)
