"""docs/dependency-analysis.md, sections 2 to 6, in the plainest way: what the page says of one
activity is worked out for that activity by looking at everything before it.

Nothing is kept up to date on the way and nothing is shared with src/. `broken` names rules to leave
out: mutation.py shows that each of them matters to the random programs.
"""
import collections

import slack
from fronts import Fronts
from order import distinct, latest, rank
from recording import Recording
from truth import IN_EFFECT
from walk import Walk

TOLERANCE = 2000
D8_TOLERANCE = 0
# So many examples make a class well known: its shortest latency is then their tenth percentile.
ENOUGH = 20
RULES = ("D3", "D4", "D5", "D7", "D11")  # on device activities
SYNCHRONISING = ("eventsync", "streamsync", "streamsyncwait", "contextsync")
# D11: no latency is as long; what waited goes on that soon after what it waited for. ns
UNEXPLAINED, SOON = 50000, 30000
LOCKS = (2, 12)  # wait_kind
PARTS = ("host_code_ns", "launch_latency_ns", "stream_gap_ns", "dependency_latency_ns",
         "return_ns", "unknown_ns")

# What an activity may depend on. `moment` is when the awaited is taken to have ended (D2: begun).
# What overlaps had not ended when the activity began: the moment is then that from which on the
# activity ran alone.
Dependency = collections.namedtuple("Dependency", "rule awaited moment overlaps",
                                    defaults=(False,))


class Oracle:
    """All numbers of a file of programs."""

    def __init__(self, truth, broken=()):
        self.truth, self.broken = truth, set(broken)
        self.fronts = Fronts(truth, self.broken)
        self.activities = [a for launch in truth.launches for a in launch.activities]
        self.counts, self.watchers = collections.Counter(), {}
        self.on_host()
        for activity in self.activities:
            activity.dependencies = self.dependencies(activity)
        for call in truth.calls:
            self.bind_call(call)
        for wait in truth.waits:
            self.bind_wait(wait)
        self.measure()
        if self.order_by_time():
            self.measure()
        for activity in self.activities:
            self.bind(activity)
        self.recording = Recording(self)
        self.critical = collections.Counter()
        self.windows = [Walk(self, window, PARTS) for window in truth.windows]
        for walk in self.windows:
            slack.of_window(self, walk)

    def everything(self):
        """All that has numbers."""
        return self.activities + self.truth.calls + self.truth.waits

    # Threads

    def on_host(self):
        """The lanes of threads: calls and waits, one after the other."""
        self.lanes = collections.defaultdict(list)
        waits = [] if "D9" in self.broken else self.truth.waits
        for x in sorted(self.truth.calls + waits, key=lambda x: (x.begin, x.correlation)):
            lane = self.lanes[x.tid]
            x.previous = lane[-1] if lane else None
            if x.previous and x.previous.end > x.begin:
                raise AssertionError(f"calls overlap: {x.previous.key()} {x.key()}")
            lane.append(x)

    def at(self, tid, moment):
        """What a thread was at before a moment: the last that began on it, or None."""
        found = None
        for x in self.lanes[tid]:
            if x.begin < moment:
                found = x
        return found

    def host_function(self, tid, moment):
        """The host function that ran on a thread at a moment, or None."""
        if "D9-function" in self.broken:
            return None
        found = None
        for a in self.activities:
            if a.kind == "host_function" and a.tid == tid and a.begin <= moment <= a.end \
                    and (not found or a.begin > found.begin):
                found = a
        return found

    # Dependencies (section 2)

    def dependencies(self, a):
        """All of a device activity."""
        launch = a.launch
        nodes = self.nodes_before(a)
        if nodes:
            return self.kept(a, [("D7", node) for node in nodes])
        found = []
        if "D3" not in self.broken:
            found += [("D3", x) for x in self.fronts.launched(launch.stream, launch.correlation)]
        found += [("D4", x) for x in self.fronts.awaited(launch.stream, launch.correlation)]
        found += [("D4", x) for x in self.fronts.same_graph(launch)]
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
        """Those on device activities that the times allow. Of what overlaps, only what ends last
        counts."""
        dependencies, over = [], []
        for rule, awaited in found:
            inside = rule in ("D3", "D7")
            if awaited.begin > a.begin:
                self.counts["contradicted"] += inside
            elif inside and awaited.end > a.begin:
                over.append((rule, awaited))
            elif awaited.end <= a.begin + TOLERANCE:
                dependencies.append(Dependency(rule, awaited, min(awaited.end, a.begin)))
        for rule in ("D4", "D5"):
            self.count_late(a, [awaited.end for each, awaited in found if each == rule])
        if over and "overlap" not in self.broken:
            self.counts["overlapping"] += 1
            rule, awaited = max(over, key=lambda each: (each[1].end, rank(each[1])))
            alone = a.begin if "overlap-alone" in self.broken else min(awaited.end, a.end)
            dependencies.append(Dependency(rule, awaited, alone, True))
        return dependencies

    def count_late(self, a, ends):
        """What an event, or the default stream, stands for is one dependency: the last of these
        ends tells whether the times contradict it."""
        late = max(ends, default=0) - a.begin
        self.counts["contradicted"] += late > TOLERANCE
        self.counts["clamped"] += 0 < late <= TOLERANCE

    def nodes_before(self, a):
        """D7: the activities of the nodes that this one's node depends on, through those that
        leave none."""
        launch = a.launch
        if not launch.nodes or "D7" in self.broken:
            return []
        found, todo = [], list(launch.nodes[a.run].deps)
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

    def parted(self, a):
        """D2 if there is one, and what of the device counts: what overlaps, else what ended last.
        """
        launching = [each for each in a.dependencies if each.rule == "D2"]
        device = [each for each in a.dependencies if each.rule != "D2"]
        last = max(device, key=lambda d: (d.overlaps, d.awaited.end, -RULES.index(d.rule),
                                          rank(d.awaited)), default=None)
        return launching[0] if launching else None, last

    def measure(self):
        """The shortest latency of every kind of step: each activity is an example of one, but for
        those that overlap."""
        examples = collections.defaultdict(list)
        for a in self.activities:
            launching, last = self.parted(a)
            if last and last.overlaps:
                if "overlap-latency" in self.broken and launching:
                    examples[self.launch_step(a)].append(a.begin - launching.awaited.begin)
                continue
            if last and not (launching and self.ran_dry(launching.awaited, last.awaited.end)):
                examples[self.step(a)].append(a.begin - last.awaited.end)
            elif launching:
                examples[self.launch_step(a)].append(a.begin - launching.awaited.begin)
        self.shortest = {step: self.percentile(sorted(each for each in distances if each >= 0))
                         for step, distances in examples.items()}

    def percentile(self, distances):
        """The tenth, by nearest rank; of few examples the least."""
        few = len(distances) < ENOUGH or "percentile" in self.broken
        return distances[0 if few else (len(distances) + 9) // 10 - 1] if distances else 0

    def ran_dry(self, call, last):
        """Whether a launching call had not returned when the last awaited activity ended; of one
        that waits itself, whether it had not begun."""
        return call.begin >= last if call.rule in ("D6", "D8", "D11") else call.end > last

    def least(self, a, dependency):
        """The shortest latency that a dependency of this activity can have."""
        step = self.launch_step(a) if dependency.rule == "D2" else self.step(a)
        return 0 if "shortest" in self.broken else self.shortest.get(step, 0)

    def arrival(self, a, dependency):
        """When a dependency would have let the activity begin."""
        return min(dependency.moment + self.least(a, dependency), a.begin)

    # By time (D11)

    def order_by_time(self):
        """Adds what activities seem to have waited for, where no rule says why they are so late.
        Whether there are such."""
        if "D11" in self.broken:
            return False
        lanes = collections.defaultdict(list)
        for a in sorted(self.activities, key=lambda a: (a.begin, rank(a))):
            lanes[a.launch.stream.device, a.lane].append(a)
        late = [(call, (), max(call.begin, call.end - SOON), call.end)
                for call in self.truth.calls if self.is_long(call)]
        late += [(a, (a.launch.stream.device, a.lane), a.begin - SOON, a.begin)
                 for a in self.activities if self.is_late(a)]
        found = [(x, latest(ended(lanes, at, begin, end))) for x, at, begin, end in late]
        for x, awaited in found:
            if not awaited:
                continue
            if x.kind == "call":
                x.rule, x.awaited = "D11", awaited
                x.front = x.front + [awaited]
                x.waiting = awaited.end - x.begin
            else:
                x.dependencies.append(Dependency("D11", awaited, awaited.end))
        return any(awaited for _, awaited in found)

    @staticmethod
    def is_long(call):
        """A call that synchronises, with nothing known that it waits for."""
        return call.op.name in SYNCHRONISING and call.rule == "D1" and call.duration >= UNEXPLAINED

    def is_late(self, a):
        """A device activity that begins long after all that it waits for."""
        launching, last = self.parted(a)
        known = [self.arrival(a, each) for each in (launching, last) if each]
        return known and a.kind != "host_function" and not (last and last.overlaps) and \
            a.begin - max(known) >= UNEXPLAINED

    def by_launch(self, a, launching, last):
        """Whether D2 binds an activity that has it."""
        if last and last.overlaps and "overlap-bound" not in self.broken:
            return False
        return not last or self.arrival(a, last) <= self.arrival(a, launching)

    def bind(self, a):
        """Which dependency held a device activity up, and for how long it waited."""
        launching, last = self.parted(a)
        a.bound = launching if launching and self.by_launch(a, launching, last) else last
        a.waiting = 0
        if a.bound and (a.bound.rule in ("D4", "D5", "D11") or a.bound.rule == "D7"
                        and a.bound.awaited.lane != a.lane):
            anyway = [self.arrival(a, each) for each in a.dependencies
                      if each.rule in ("D2", "D3")
                      or each.rule == "D7" and each.awaited.lane == a.lane]
            if anyway:
                a.waiting = max(0, self.arrival(a, a.bound) - max(anyway))
        self.counts[a.bound.rule if a.bound else "unbound"] += 1
        self.counts["graph nodes"] += bool(a.graph)

    def bind_wait(self, wait):
        """D9, if somebody is known who woke it; else D1."""
        wait.rule, wait.front = "D1", []
        sleeps = wait.op.name == "sleep" and "sleep" not in self.broken
        wait.waiting = 0 if sleeps else wait.duration
        watched = wait.waker and self.watches(wait.waker)
        if wait.waker and not watched and "D9-waker" not in self.broken:
            wait.rule, wait.waiting = "D9", wait.woken - wait.begin
            function = self.host_function(wait.waker, wait.woken)
            wait.awaited = function or self.at(wait.waker, wait.woken)
            self.counts["woken by host functions"] += bool(function)
        self.counts[wait.rule] += 1

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
        if name in ("streamsync", "streamsyncwait", "streamquery"):
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

    def takes_part(self, tid):
        """Whether a thread launches work or waits for it; else it only asks."""
        launched = {launch.correlation for launch in self.truth.launches}
        return any(call.kind == "call" and (call.correlation in launched or
                                            call.op.name in SYNCHRONISING or
                                            call.rule == "D8") for call in self.lanes[tid])

    def watches(self, tid):
        """Whether a thread only asks, and wakes others by nothing but locks."""
        if "watches" in self.broken:
            return False
        if tid not in self.watchers:
            asks = any(call.kind == "call" and call.op.name in ("eventquery", "streamquery")
                       for call in self.lanes[tid])
            self.watchers[tid] = asks and not self.takes_part(tid) and \
                not any(wait.waker == tid and wait.how not in LOCKS for wait in self.truth.waits)
        return self.watchers[tid]

    def last_context(self, call):
        """The context in which the call's thread last launched or synchronised."""
        if "D8-context" in self.broken:
            return None
        found = None, 0
        launched = {launch.correlation for launch in self.truth.launches}
        for other in self.lanes[call.tid]:
            waits = other.kind == "call" and \
                other.op.name in ("eventsync", "eventquery", "streamsync", "streamsyncwait",
                                  "streamquery", "contextsync")
            if other.correlation < call.correlation and other.correlation > found[1] \
                    and (waits or other.correlation in launched):
                found = other.context, other.correlation
        return found[0]

    # Replay (section 6)

    def lag(self, a, dependency):
        """From the awaited moment to the begin. All device activities that one waits for are
        awaited as a whole: what held it up behind the last of them would have behind any."""
        recorded = a.begin - dependency.moment
        if dependency is a.bound:
            return recorded
        if dependency.rule != "D2" and a.bound and a.bound.rule != "D2" \
                and not a.bound.overlaps and "whole" not in self.broken:
            return a.begin - a.bound.moment
        return min(recorded, self.least(a, dependency))

    @staticmethod
    def own_time(a):
        """How long a device activity ran alone."""
        return a.end - a.bound.moment if a.bound and a.bound.overlaps else a.duration

    @staticmethod
    def late(dependency):
        """By how much a clamped dependency ended too late: it counts from when it was taken to."""
        if dependency.rule == "D2":
            return dependency.moment - dependency.awaited.begin
        return dependency.moment - dependency.awaited.end


def ended(lanes, at, begin, end):
    """The last activity before `end` of each other lane of the device that `at` is on, of all lanes
    if it is nowhere, if it ended after `begin` and by `end`."""
    for place, lane in lanes.items():
        others = not at or place != at and place[0] == at[0]
        before = [a for a in lane if a.begin < end] if others else []
        if before and begin < before[-1].end <= end:
            yield before[-1]
