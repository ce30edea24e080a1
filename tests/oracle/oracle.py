"""docs/dependency-analysis.md, sections 2 to 6, in the plainest way: what the page says of one
activity is worked out for that activity by looking at everything before it.

Nothing is kept up to date on the way and nothing is shared with src/. `broken` names rules to leave
out: mutation.py shows that each of them matters to the random programs.
"""
import collections
import math

from truth import IN_EFFECT

TOLERANCE = 2000
D8_TOLERANCE = 0
PARTS = ("host_code_ns", "launch_latency_ns", "stream_gap_ns", "dependency_latency_ns",
         "return_ns", "unknown_ns")

# What an activity may depend on. `moment` is when the awaited is taken to have ended (D2: begun).
Dependency = collections.namedtuple("Dependency", "rule awaited moment")


def rank(activity):
    """Order within a lane, and among activities that end at the same time."""
    return activity.correlation, activity.begin, activity.order


def latest(activities):
    """The one with the latest end; of equal ones that with the lowest correlation id."""
    return min(activities, key=lambda a: (-a.end, rank(a)), default=None)


def distinct(activities):
    """Without repetition, in order."""
    return list(dict.fromkeys(activities))


class Fronts:
    """What later work in a stream has to wait for, at any moment of the API order."""

    def __init__(self, truth, broken):
        self.truth, self.broken, self.known = truth, broken, {}

    def last_launch(self, stream, when):
        """The stream's last launch before a moment."""
        for launch in reversed(stream.launches):
            if launch.correlation < when:
                return launch
        return None

    def awaited(self, stream, when):
        """D4: what the stream was told to wait for since its last launch."""
        if "D4" in self.broken:
            return []
        last = self.last_launch(stream, when)
        since = last.correlation if last else 0
        activities = []
        for correlation, event in stream.waits:
            if since < correlation < when:
                activities += self.event(event, correlation)
        return distinct(activities)

    def recorded(self, default, when):
        """D4: an event recorded in the legacy default stream waits for the blocking streams as work
        there does, and what comes later on blocking streams waits for it."""
        if "record-default" in self.broken:
            return []
        last = self.last_launch(default, when)
        since = last.correlation if last else 0
        activities = []
        for correlation in default.records:
            if since < correlation < when:
                activities += self.others(default, correlation)
        return activities

    def own(self, stream, when):
        """A stream's front but for the default stream's rules."""
        if (stream, when) not in self.known:
            last = self.last_launch(stream, when)
            ends = list(last.activities) if last else []
            recorded = self.recorded(stream, when) if stream.kind == "default" else []
            self.known[stream, when] = distinct(ends + self.awaited(stream, when) + recorded)
        return self.known[stream, when]

    def others(self, stream, when):
        """D5: what a stream waits for by the rules of the legacy default stream."""
        activities = []
        if "D5" in self.broken or stream.kind == "nonblocking":
            return activities
        for other in self.truth.of_device[stream.device]:
            if stream.kind == "default" and other.kind == "blocking" \
                    or stream.kind == "blocking" and other.kind == "default" \
                    or "D5-nonblocking" in self.broken and other is not stream:
                activities += self.own(other, when)
        return distinct(activities)

    def front(self, stream, when):
        """The front of a stream."""
        return distinct(self.own(stream, when) + self.others(stream, when))

    def context(self, device, when):
        """The fronts of all streams of a context, or of all contexts."""
        activities = []
        for each, streams in self.truth.of_device.items():
            if device in (None, each):
                for stream in streams:
                    activities += self.own(stream, when)
        return distinct(activities)

    def event(self, event, when):
        """What an event stands for."""
        for each in reversed(self.truth.events[event]):
            if each.correlation < when:
                if "D4-record" in self.broken and each.stream:
                    return self.front(each.stream, when)
                if "D4-clear" in self.broken and not each.stream:
                    continue
                return self.front(each.stream, each.correlation) if each.stream else []
        return []


class Oracle:
    """All numbers of a file of programs."""

    def __init__(self, truth, broken=()):
        self.truth, self.broken = truth, set(broken)
        self.fronts = Fronts(truth, self.broken)
        self.activities = [a for launch in truth.launches for a in launch.activities]
        self.counts = collections.Counter()
        self.thread_calls = collections.defaultdict(list)
        for call in sorted(truth.calls, key=lambda c: (c.begin, c.correlation)):
            lane = self.thread_calls[call.tid]
            call.previous = lane[-1] if lane else None
            if call.previous and call.previous.end > call.begin:
                raise AssertionError(f"calls overlap: {call.previous.key()} {call.key()}")
            lane.append(call)
        for activity in self.activities:
            activity.dependencies = self.dependencies(activity)
        for call in truth.calls:
            self.bind_call(call)
        self.measure()
        for activity in self.activities:
            self.bind(activity)
        self.critical = collections.Counter()
        self.windows = [Walk(self, window) for window in truth.windows]
        for window in truth.windows:
            self.slack(window)

    # Dependencies (section 2)

    def dependencies(self, a):
        """All of a device activity."""
        launch = a.launch
        nodes = self.nodes_before(a)
        if nodes:
            return self.kept(a, [("D7", node) for node in nodes])
        found = []
        previous = self.fronts.last_launch(launch.stream, launch.correlation)
        if previous and "D3" not in self.broken:
            found += [("D3", x) for x in previous.activities]
        found += [("D4", x) for x in self.fronts.awaited(launch.stream, launch.correlation)]
        found += [("D5", x) for x in self.fronts.others(launch.stream, launch.correlation)]
        return self.of_launching(a) + self.kept(a, found)

    def of_launching(self, a):
        """D2."""
        call = a.launch.call
        if not call or "D2" in self.broken or call.begin > a.begin + TOLERANCE:
            self.counts["contradicted"] += bool(call)
            return []
        self.counts["clamped"] += call.begin > a.begin
        return [Dependency("D2", call, min(call.begin, a.begin))]

    def kept(self, a, found):
        """Those on device activities that the times allow."""
        dependencies = []
        for rule, awaited in found:
            if awaited.begin > a.begin:
                continue
            if awaited.end > a.begin + TOLERANCE:
                self.counts["overlapping" if rule == "D3" else "contradicted"] += 1
                continue
            self.counts["clamped"] += awaited.end > a.begin
            dependencies.append(Dependency(rule, awaited, min(awaited.end, a.begin)))
        return dependencies

    def nodes_before(self, a):
        """D7: the activities of the nodes that this one's node depends on, through those that
        leave none."""
        launch = a.launch
        if not launch.nodes or "D7" in self.broken:
            return []
        found, todo = [], list(launch.nodes[(a.node & 0xffffffff) - 1].deps)
        while todo:
            node = todo.pop()
            if launch.nodes[node].kind:
                found.append(launch.by_node[node])
            elif "D7-empty" not in self.broken:
                todo += launch.nodes[node].deps
        return distinct(found)

    # Binding (section 3)

    def step(self, a):
        """The class of an activity for the latencies after other device activities."""
        inside = any(each.rule == "D7" for each in a.dependencies)
        return a.kind, "node" if inside else "root" if a.graph else None

    def launch_step(self, a):
        """The class for those after the launching call."""
        kind = ("graph", a.graph) if a.graph else (a.kind, a.copy_kind)
        return a.launch.call.name, kind

    def measure(self):
        """The shortest latency of every kind of step: each activity is an example of one."""
        self.shortest = {}
        for a in self.activities:
            launching = [each for each in a.dependencies if each.rule == "D2"]
            device = [each for each in a.dependencies if each.rule != "D2"]
            last = max((each.awaited.end for each in device), default=None)
            if device and not (launching and self.ran_dry(launching[0].awaited, last)):
                self.shorten(self.step(a), a.begin - last)
            elif launching:
                self.shorten(self.launch_step(a), a.begin - launching[0].awaited.begin)

    def ran_dry(self, call, last):
        """Whether a launching call had not returned when the last awaited activity ended; of one
        that waits itself, whether it had not begun."""
        return call.begin >= last if call.rule in ("D6", "D8") else call.end > last

    def shorten(self, step, latency):
        """Keeps the least."""
        if latency >= 0:
            self.shortest[step] = min(latency, self.shortest.get(step, latency))

    def least(self, a, dependency):
        """The shortest latency that a dependency of this activity can have."""
        step = self.launch_step(a) if dependency.rule == "D2" else self.step(a)
        return 0 if "shortest" in self.broken else self.shortest.get(step, 0)

    def arrival(self, a, dependency):
        """When a dependency would have let the activity begin."""
        return min(dependency.moment + self.least(a, dependency), a.begin)

    def bind(self, a):
        """Which dependency held a device activity up, and for how long it waited."""
        launching = [each for each in a.dependencies if each.rule == "D2"]
        device = [each for each in a.dependencies if each.rule != "D2"]
        last = min(device, key=lambda d: (-d.awaited.end, d.rule, rank(d.awaited)), default=None)
        a.bound = last
        if launching and (not last or self.arrival(a, last) <= self.arrival(a, launching[0])):
            a.bound = launching[0]
        a.waiting = 0
        if a.bound and (a.bound.rule in ("D4", "D5") or a.bound.rule == "D7"
                        and a.bound.awaited.launch.stream is not a.launch.stream):
            anyway = [self.arrival(a, each) for each in a.dependencies
                      if each.rule in ("D2", "D3")
                      or each.rule == "D7" and each.awaited.launch.stream is a.launch.stream]
            if anyway:
                a.waiting = max(0, self.arrival(a, a.bound) - max(anyway))
        self.counts[a.bound.rule if a.bound else "unbound"] += 1
        self.counts["graph nodes"] += bool(a.graph)

    def bind_call(self, call):
        """D6, D8, or else D1."""
        rule, front = self.awaited_by(call)
        call.rule, call.awaited = "D1", latest(front)
        limit = call.end + (D8_TOLERANCE if rule == "D8" else TOLERANCE)
        if rule == "D8" and call.awaited and not call.begin < call.awaited.end <= limit:
            front, call.awaited = [], None
        if rule == "D6" and call.awaited and call.awaited.end > limit:
            self.counts["contradicted"] += 1
            front = [a for a in front if a.end <= limit]
            call.awaited = latest(front)
        call.front, call.waiting = front, 0
        if call.awaited:
            self.counts["clamped"] += call.awaited.end > call.end
            call.waiting = max(0, min(call.end, call.awaited.end) - call.begin)
            if call.awaited.end > call.begin:
                call.rule = rule
        self.counts[call.rule] += 1

    def awaited_by(self, call):
        """The rule by which a call may wait, and for what."""
        name, when = call.op.name, call.correlation
        if "D6" in self.broken and name not in IN_EFFECT:
            return "D6", []
        if name in ("eventsync", "eventquery"):
            return "D6", self.fronts.event(call.event_or_stream, when)
        if name in ("streamsync", "streamquery"):
            return "D6", self.fronts.front(call.event_or_stream, when)
        if name == "contextsync":
            return "D6", self.fronts.context(call.context, when)
        copy = call.copy
        if copy and (not copy.asynchronous or copy.pageable) and copy.end <= call.end \
                and "D6-copy" not in self.broken:
            return "D6", [copy]
        if name in IN_EFFECT and "D8" not in self.broken:
            return "D8", self.fronts.context(self.last_context(call), when)
        return "D6", []

    def last_context(self, call):
        """The context in which the call's thread last launched or synchronised."""
        if "D8-context" in self.broken:
            return None
        found = None, 0
        launched = {launch.correlation for launch in self.truth.launches}
        for other in self.thread_calls[call.tid]:
            waits = other.op.name in ("eventsync", "eventquery", "streamsync", "streamquery",
                                      "contextsync")
            if other.correlation < call.correlation and other.correlation > found[1] \
                    and (waits or other.correlation in launched):
                found = other.context, other.correlation
        return found[0]

    # Slack (section 6)

    def slack(self, window):
        """Relaxes the latest times of all that belongs to a window until nothing changes."""
        walk = self.windows[self.truth.windows.index(window)]
        activities = [a for a in self.activities if a.window is window]
        calls = [c for c in self.truth.calls if c.window is window]
        least = Relaxation(walk.end, activities + calls)
        for a in activities:
            least.relate(a, "begin", a, "end", a.duration)
            for each in a.dependencies:
                lag = self.lag(a, each)
                point = "begin" if each.rule == "D2" else "end"
                least.relate(each.awaited, point, a, "begin", lag + self.late(each))
        for call in calls:
            own = call.end - max([call.begin] + [min(a.end, call.end) for a in call.front])
            least.relate(call, "begin", call, "end", own)
            for a in call.front:
                least.relate(a, "end", call, "end", own + min(0, call.end - a.end))
            if call.previous:
                least.relate(call.previous, "end", call, "begin", call.begin - call.previous.end)
        for call in calls:
            if call.end > walk.end:
                least.latest[call, "end"] = call.end
        if walk.last and walk.last.end < window.mark:
            # What follows it on its thread, up to the end of the range, is part of the run.
            least.latest[walk.last, "end"] = walk.last.end + walk.end - window.mark
        least.run()
        for x in activities + calls:
            x.slack = max(0, least.latest[x, "end"] - x.end)

    def lag(self, a, dependency):
        """From the awaited moment to the begin. All device activities that one waits for are
        awaited as a whole: what held it up behind the last of them would have behind any."""
        recorded = a.begin - dependency.moment
        if dependency is a.bound:
            return recorded
        if dependency.rule != "D2" and a.bound and a.bound.rule != "D2" \
                and "whole" not in self.broken:
            return a.begin - a.bound.moment
        return min(recorded, self.least(a, dependency))

    @staticmethod
    def late(dependency):
        """By how much a clamped dependency ended too late: it counts from when it was taken to."""
        if dependency.rule == "D2":
            return dependency.moment - dependency.awaited.begin
        return dependency.moment - dependency.awaited.end


class Relaxation:
    """Latest times of begins and ends: latest(first) <= latest(then) - lag for every relation."""

    def __init__(self, end, items):
        self.latest = {(x, "end"): end for x in items}
        self.latest.update({(x, "begin"): math.inf for x in items})
        self.relations = []

    def relate(self, first, point, then, then_point, lag):
        """`then` comes at least `lag` after `first`; what is of another window stands still."""
        if (first, point) in self.latest:
            self.relations.append(((first, point), (then, then_point), lag))

    def run(self):
        """Until nothing changes."""
        changed = True
        while changed:
            changed = False
            for first, then, lag in self.relations:
                bound = self.latest[then] - lag
                if bound < self.latest[first]:
                    self.latest[first], changed = bound, True


class Walk:
    """The critical path of a window (section 5), from its end backwards."""

    def __init__(self, oracle, window):
        self.oracle, self.window, self.begin = oracle, window, window.begin
        self.critical = collections.Counter()
        self.parts = dict.fromkeys(PARTS, 0)
        self.steps, self.last = [], None
        own = [a for a in oracle.activities if a.window is window]
        self.end = max([window.mark] + [a.end for a in own])
        last = [calls[-1] for calls in self.calls_in().values()]
        if last:
            self.last = min(last, key=lambda c: (-min(c.end, window.mark), c.tid))
        at = self.start(own)
        while at:
            at = at[0](*at[1:])
        oracle.critical.update(self.critical)

    def start(self, own):
        """Where the path begins."""
        if self.end > self.window.mark:
            return self.device, latest(own), self.end
        if self.last:
            return self.thread, self.last.tid, self.end
        if own:
            return self.device, latest(own), self.end
        return self.spend("unknown_ns", self.begin, self.end)

    def calls_in(self):
        """The calls that began in the window, by thread."""
        return {tid: inside for tid, calls in self.oracle.thread_calls.items()
                if (inside := [c for c in calls
                               if self.begin <= c.begin < self.window.mark])}

    def spend(self, part, begin, end):
        """Time of the path that is no activity's."""
        self.parts[part] += max(0, end - max(begin, self.begin))

    def own(self, x, begin, end):
        """Time of the path that is an activity's."""
        self.critical[x] += max(0, end - max(begin, self.begin))
        self.steps.append(x)

    def thread(self, tid, until):
        """On a thread before a moment."""
        if until <= self.begin:
            return None
        call = None
        for each in self.oracle.thread_calls[tid]:
            if each.begin < until:
                call = each
        if not call:
            return self.spend("host_code_ns", self.begin, until)
        end = min(call.end, until)
        self.spend("host_code_ns", end, until)
        if end <= self.begin:
            return None
        if call.rule in ("D6", "D8"):
            moment = min(call.awaited.end, end)
            self.steps.append(call)
            self.spend("return_ns", moment, end)
            return self.device, call.awaited, moment
        self.own(call, call.begin, end)
        return self.thread, tid, call.begin

    def device(self, a, until):
        """At a device activity, before a moment. It may begin later than that if a call waited for
        it across the end of the window."""
        if until <= self.begin:
            return None
        begin, bound = min(a.begin, until), a.bound
        self.own(a, begin, until)
        if begin <= self.begin:
            return None
        if not bound:
            return self.spend("unknown_ns", self.begin, begin)
        moment = min(bound.moment, begin)
        part = {"D2": "launch_latency_ns", "D3": "stream_gap_ns"}.get(bound.rule,
                                                                     "dependency_latency_ns")
        self.spend(part, moment, begin)
        if bound.rule == "D2":
            return self.thread, bound.awaited.tid, moment
        return self.device, bound.awaited, moment
