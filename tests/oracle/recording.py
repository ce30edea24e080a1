"""What recording costs at each activity, by docs/recording-cost.md and src/profile/costs.def: for
traces without costs of their own and without stacks."""
import pathlib
import re

COSTS = pathlib.Path(__file__).resolve().parents[2] / "src" / "profile" / "costs.def"
ON_HOST = ("launch_in", "launch_around", "copy_in", "copy_around", "call_in", "call_around",
           "graph_in", "graph_around", "node_in", "finish")
USUAL_LAUNCH_NS, ENOUGH, SLOWEST, FASTEST = 5000, 50, 1.5, 0.1


def built_in():
    """{cost: ns}"""
    return {name: float(ns)
            for name, ns in re.findall(r"^COST\((\w+), (\d+),", COSTS.read_text(), re.M)}


def speed(launches):
    """How much slower the host is than that of the built-in costs, by the durations of its calls
    that launch a kernel."""
    if len(launches) < ENOUGH:
        return 1
    usual = sorted(launches)[(len(launches) + 1) // 2 - 1]
    return min(max(usual / USUAL_LAUNCH_NS, FASTEST), SLOWEST)


def whole(ns):
    """As it is kept."""
    return int(ns + 0.5)


class Recording:
    """The costs of the oracle's activities. `None` in place of one has no cost."""

    def __init__(self, o):
        self.oracle = o
        self.launched = {}  # by call: its work
        for a in o.activities:
            if a.launch.call:
                self.launched.setdefault(a.launch.call, []).append(a)
        slower = speed([a.launch.call.duration for a in o.activities
                        if a.kind == "kernel" and not a.graph and a.launch.call])
        self.ns = {name: ns * slower if name in ON_HOST else ns
                   for name, ns in built_in().items()}
        self.known = bool(o.activities and o.truth.calls)

    def kind(self, call):
        """launch, copy, graph or call: what a call's costs are called after."""
        works = [a for a in self.launched.get(call, ()) if a.kind != "host_function"]
        if not works:
            return "call"
        if works[0].graph:
            return "graph"
        return "copy" if works[0].kind in ("copy", "set") else "launch"

    def inside(self, call):
        """Inside of a call."""
        kind = self.kind(call)
        nodes = len(self.launched.get(call, ())) if kind == "graph" else 0
        return self.ns[kind + "_in"] + self.ns["node_in"] * nodes

    def before(self, x):
        """The host code before a call; from a launch to its work."""
        if not x or not self.known or x.kind in ("wait", "host_function"):
            return 0
        if x.kind == "call":
            return whole(self.ns[self.kind(x) + "_around"])
        call = x.launch.call
        if not call:
            return 0
        if not x.graph:
            return whole(self.inside(call) + self.ns["start"])
        lag = max(0, x.begin - call.begin)
        share = lag / call.duration if lag < call.duration else 1
        return whole(share * self.inside(call) + self.ns["graph_start"])

    def within(self, x):
        """A call's own time, or its return; the latency after other work."""
        if not x or not self.known or x.kind in ("wait", "host_function"):
            return 0
        if x.kind == "call":
            return whole(self.ns["finish"] if x.rule in ("D6", "D8", "D11") else self.inside(x))
        if any(each.rule == "D7" for each in x.dependencies):
            return whole(self.ns["node_gap"])
        return whole(self.ns["copy_gap" if x.kind in ("copy", "set") else "kernel_gap"])

    def own(self, x):
        """The time of work: what its latency has no room for."""
        _, last = self.oracle.parted(x)
        if not last or last.overlaps or x.bound is not last:
            return 0
        gap = x.begin - last.awaited.end
        return max(0, self.within(x) - gap) if gap >= 0 else 0
