"""What recording costs on the critical path, computed from costs.def and the rows of a trace; what
bound each activity is taken from `deps --trace`. For traces without costs of their own.

usage: recording.py MINIPROF TRACE     compares the row <recording> of `deps`
"""
import bisect
import collections
import pathlib
import re

import sources

COSTS = pathlib.Path(__file__).resolve().parents[2] / "src" / "profile" / "costs.def"
OF_THE_HOST = ("launch_in", "launch_around", "copy_in", "copy_around", "call_in", "call_around",
               "graph_in", "graph_around", "node_in", "finish", "stack")
WORK = ("kernel", "copy", "set", "graph")
AWAITS = ("D6", "D8")
USUAL_LAUNCH_NS, ENOUGH = 5000, 50
STACK_NS = {"python": 500, "off": 0}  # others take 1300


class Activity:  # pylint: disable=too-few-public-methods
    """One of `deps --trace`, with its costs."""

    def __init__(self, row):
        self.kind, self.rule, self.to = row["kind"], row["bound_by"], row["bound_to"]
        self.begin = row["start_ns"]
        self.end = self.begin + row["duration_ns"]
        self.thread, self.correlation = row["thread"], row["correlation"]
        self.node = self.call = None
        self.before = self.within = self.own = 0


class Recording:
    """The costs of a trace's activities; `known` is false where there are none to know."""

    def __init__(self, program, path):
        answer = sources.document(program, "deps", "--json", "--trace", path)
        self.known = answer["recording_ns"] is not None
        self.answer = answer
        if not self.known:
            return
        self.all = {row["number"]: Activity(row) for row in answer["activities"]}
        rows = sources.tables(path)
        nodes = {(row["correlation"], row["start"]): row.get("node", 0)
                 for kind in WORK for row in rows[kind]}
        stacked = {row["correlation"] for row in rows.get("call_stack", ()) if row["stack"]}
        calls = [x for x in self.all.values() if x.kind == "call"]
        self.threads = collections.defaultdict(list)
        for x in self.all.values():
            if x.thread is not None and x.kind in ("call", "wait"):
                self.threads[x.thread].append(x)
        self.begins = {thread: [x.begin for x in lane] for thread, lane in self.threads.items()}
        by_correlation = {}
        for x in calls:
            by_correlation.setdefault(x.correlation, x)
        self.work = collections.defaultdict(list)
        for x in self.all.values():
            if x.kind in WORK:
                x.node = nodes.get((x.correlation, x.begin))
                x.call = by_correlation.get(x.correlation)
                if x.call:
                    self.work[x.call].append(x)
        self.by_work = {(x.kind, x.correlation, x.begin, x.end): x for x in self.all.values()
                        if x.kind in WORK}
        self.lay(calls, stacked, sources.trace(path).header)

    # The costs of each

    def lay(self, calls, stacked, header):
        """Costs by costs.def, on this host."""
        ns = {name: float(value) for name, value in
              re.findall(r"^COST\((\w+), (\d+),", COSTS.read_text(), re.M)}
        kind = header.get("MINIPROF_STACKS") or "off"
        ns["stack"] = STACK_NS.get(kind, 1300)
        launches = sorted(work.call.end - work.call.begin - ns["stack"] * (
            work.correlation in stacked) for works in self.work.values() for work in works
            if work.kind == "kernel" and not work.node)
        if len(launches) >= ENOUGH:
            slower = launches[(len(launches) + 1) // 2 - 1] / USUAL_LAUNCH_NS
            for name in OF_THE_HOST:
                ns[name] *= min(max(slower, 0.1), 1.5)
        for call in calls:
            self.lay_call(call, ns, ns["stack"] * (call.correlation in stacked))
        for works in self.work.values():
            for work in works:
                self.lay_latency(work, ns)

    def lay_call(self, call, ns, stack):
        """A call: `inside` is what its work waits for, too."""
        works = self.work[call]
        of_graph = any(work.node or work.kind == "graph" for work in works)
        kind = "graph" if of_graph else "call" if not works else \
            "copy" if works[0].kind in ("copy", "set") else "launch"
        nodes = sum(bool(work.node) for work in works)
        call.inside = stack + ns[kind + "_in"] + ns["node_in"] * nodes
        call.before = int(ns[kind + "_around"] + 0.5)
        call.within = int((ns["finish"] if call.rule in AWAITS else call.inside) + 0.5)
        for work in works:
            lag, length = max(0, work.begin - call.begin), call.end - call.begin
            share = min(1, lag / length) if of_graph and length else 1
            work.before = 0 if work.rule == "D7" else int(share * call.inside + 0.5)

    def lay_latency(self, work, ns):
        """What comes between work and the work before it, or is in its own time."""
        if work.kind == "graph":
            return
        name = "node_gap" if work.rule == "D7" else \
            "copy_gap" if work.kind in ("copy", "set") else "kernel_gap"
        work.within = int(ns[name] + 0.5)
        if work.rule in ("D3", "D4", "D5", "D7") and work.to:
            gap = work.begin - self.all[work.to].end
            work.own = max(0, work.within - gap) if gap >= 0 else 0

    # The path

    def before(self, work, thread, begin, end):
        """Of the path from `begin` to `end`: to the begin of work, or on a thread."""
        found, moment = 0, end

        def take(cost, until, of):
            """Gives the last `cost` ns before `of` to recording, and goes on to `until`."""
            nonlocal found, moment
            until = max(until, begin)
            start = max(until, of - cost)
            if cost and start < moment:
                found += moment - start
            moment = min(moment, until)

        while moment > begin:
            if work:
                other = self.all.get(work.to)
                alone = work.begin
                if other and work.rule in ("D3", "D7") and other.end > alone:
                    alone = min(other.end, work.end)
                take(work.own, alone, moment)
                if not other:
                    break
                if work.rule == "D2":
                    take(work.before, other.begin, moment)
                    work, thread = None, other.thread
                else:
                    take(work.within, other.end, moment)
                    work = other
                continue
            lane = self.threads.get(thread)
            if not lane:
                break
            at = bisect.bisect_left(self.begins[thread], moment)
            call = lane[at - 1] if at else None
            following = lane[at] if at < len(lane) else None
            if following:
                take(following.before, call.end if call else begin, following.begin)
            elif call:
                moment = min(moment, max(begin, call.end))
            if not call or moment <= begin or call.kind == "wait":
                break
            if call.rule in AWAITS:
                take(call.within, self.all[call.to].end, call.end)
                work = self.all[call.to]
            else:
                take(call.within, call.begin, call.end)
        return found

    def of_window(self, begin, end):
        """Of the path of a window of one thread, which the thread ends."""
        last = max((lane[-1] for lane in self.threads.values()), key=lambda x: x.end)
        work = max(self.by_work.values(), key=lambda x: x.end)
        if work.end == end and work.end > last.end:
            return self.before(work, None, begin, end)
        return self.before(None, last.thread, begin, end)

    def has_one_thread(self):
        """Whether of_window can tell: nothing is awaited outside of CUDA, or by other threads."""
        return len(self.threads) == 1 and len(self.answer["windows"]) == 1 and not any(
            x.kind in ("wait", "host function") for x in self.all.values())


@sources.kept
def of(program, path):
    """The costs of a trace, computed once."""
    return Recording(program, path)


def compare(program, path):
    """Yields what differs of the row."""
    costs = of(program, path)
    if not costs.known or not costs.has_one_thread():
        return
    window = costs.answer["windows"][0]
    expected = costs.of_window(window["begin_ns"], window["end_ns"])
    if costs.answer["recording_ns"] != expected:
        yield f"recording_ns: {costs.answer['recording_ns']} instead of {expected}"
    rows = {row["name"]: row["critical_ns"] for row in costs.answer["rows"]}
    if rows.get("<recording>", 0) != expected:
        yield f"row <recording>: {rows.get('<recording>', 0)} instead of {expected}"


if __name__ == "__main__":
    sources.main(__doc__, compare)
